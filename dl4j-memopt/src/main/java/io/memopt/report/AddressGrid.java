// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.event.Category;

/**
 * The picture of all lifetimes for zoom levels at which single ones are less than a pixel: time in columns, addresses in
 * rows, and for each cell which category filled most of it and what share of it was filled at all.
 */
final class AddressGrid {
    static final int ROWS = 160;
    private static final int MOST_COLUMNS = 8192;
    private static final int FEWEST_COLUMNS = 64;
    private static final int EVENTS_PER_COLUMN = 512;
    private static final int CATEGORIES = Category.values().length;
    private static final int FULL = 255;

    private final int columns;
    private final float[] filled;
    private final double nanosPerColumn;
    private final double bytesPerRow;

    /** An empty grid with as many columns as {@code events} events are worth: at most 50 MiB. */
    AddressGrid(long events, long rangeNanos, long height) {
        columns = (int) Math.max(FEWEST_COLUMNS, Math.min(MOST_COLUMNS, events / EVENTS_PER_COLUMN));
        filled = new float[columns * ROWS * CATEGORIES];
        nanosPerColumn = Math.max(1, rangeNanos) / (double) columns;
        bytesPerRow = Math.max(1, height) / (double) ROWS;
    }

    int columns() {
        return columns;
    }

    void add(int category, long birth, long death, long place, long bytes) {
        double left = birth / nanosPerColumn;
        double right = death / nanosPerColumn;
        double bottom = place / bytesPerRow;
        double top = (place + bytes) / bytesPerRow;
        int lastColumn = Math.min(columns - 1, (int) right);
        int lastRow = Math.min(ROWS - 1, (int) top);
        for (int row = (int) bottom; row <= lastRow; row++) {
            double height = Math.min(top, row + 1) - Math.max(bottom, row);
            for (int column = (int) left; column <= lastColumn; column++) {
                double width = Math.min(right, column + 1) - Math.max(left, column);
                filled[(row * columns + column) * CATEGORIES + category] += (float) (width * height);
            }
        }
    }

    /** All categories by cell, row by row (0 is none), then all shares in 1/255. */
    String pack() {
        Columns packed = new Columns();
        int cells = columns * ROWS;
        byte[] shares = new byte[cells];
        for (int cell = 0; cell < cells; cell++) {
            int most = 0;
            float sum = 0;
            for (int category = 0; category < CATEGORIES; category++) {
                float part = filled[cell * CATEGORIES + category];
                sum += part;
                most = part > filled[cell * CATEGORIES + most] ? category : most;
            }
            shares[cell] = (byte) Math.min(FULL, Math.ceil(sum * FULL));
            packed.addByte(sum > 0 ? most + 1 : 0);
        }
        for (byte share : shares) {
            packed.addByte(share);
        }
        return packed.pack();
    }
}
