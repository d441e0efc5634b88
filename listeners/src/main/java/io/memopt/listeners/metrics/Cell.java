// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.metrics;

/**
 * The value behind one meter. A peak that was never read is not overwritten by a smaller one.
 *
 * <p>Threading: safe. Its own monitor only, held for two assignments.
 */
final class Cell {
    private final Binding binding;
    private final boolean peak;
    private double value;
    private boolean read = true;

    Cell(Binding binding, boolean peak) {
        this.binding = binding;
        this.peak = peak;
    }

    /** What the registry calls. */
    double read() {
        binding.beforeRead(this);
        return take();
    }

    synchronized boolean wasRead() {
        return read;
    }

    synchronized void offer(double next) {
        value = peak && !read ? Math.max(value, next) : next;
        read = false;
    }

    private synchronized double take() {
        read = true;
        return value;
    }
}
