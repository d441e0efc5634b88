// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import org.nd4j.linalg.api.buffer.DataType;

/** Bytes of one element by the numbers that native calls use for types. */
final class ElementWidths {
    private static final int MAX_TYPE = 32;
    private static final int[] WIDTHS = widths();

    private ElementWidths() {}

    /** 0 for types without a fixed width, which ND4J counts in bytes. */
    static int exact(int type) {
        return type >= 0 && type < MAX_TYPE ? WIDTHS[type] : 0;
    }

    /** 1 for types without a fixed width. */
    static int counted(int type) {
        return Math.max(1, exact(type));
    }

    private static int[] widths() {
        int[] widths = new int[MAX_TYPE];
        for (DataType type : DataType.values()) {
            if (type != DataType.COMPRESSED && type != DataType.UNKNOWN && type != DataType.UTF8) {
                widths[type.toInt()] = type.width();
            }
        }
        return widths;
    }
}
