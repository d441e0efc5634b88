// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import java.util.ArrayList;
import java.util.List;

/** Text in columns; a column whose cells all look like numbers is set flush right. */
final class Table {
    private final String[] head;
    private final List<String[]> rows = new ArrayList<>();
    private int hidden = -1;

    Table(String... head) {
        this.head = head;
    }

    void row(String... cells) {
        if (cells.length != head.length) {
            throw new IllegalArgumentException("cells=" + cells.length + ", expected " + head.length);
        }
        rows.add(cells);
    }

    /** The column with this head is not shown when {@code hide} is true. */
    Table hide(String column, boolean hide) {
        hidden = hide ? List.of(head).indexOf(column) : -1;
        return this;
    }

    boolean isEmpty() {
        return rows.isEmpty();
    }

    /** Title, head, rows, and an empty line. */
    String render(String title) {
        StringBuilder out = new StringBuilder();
        out.append(title).append('\n');
        int[] widths = new int[head.length];
        boolean[] right = new boolean[head.length];
        for (int i = 0; i < head.length; i++) {
            widths[i] = head[i].length();
            right[i] = true;
            for (String[] row : rows) {
                widths[i] = Math.max(widths[i], row[i].length());
                right[i] &= row[i].isEmpty() || "+-0123456789".indexOf(row[i].charAt(0)) >= 0;
            }
        }
        line(out, head, widths, right);
        rows.forEach(row -> line(out, row, widths, right));
        return out.append('\n').toString();
    }

    private void line(StringBuilder out, String[] cells, int[] widths, boolean[] right) {
        StringBuilder line = new StringBuilder("  ");
        for (int i = 0; i < cells.length; i++) {
            if (i == hidden) {
                continue;
            }
            String pad = " ".repeat(widths[i] - cells[i].length());
            line.append(right[i] ? pad + cells[i] : cells[i] + pad).append("  ");
        }
        out.append(line.toString().stripTrailing()).append('\n');
    }
}
