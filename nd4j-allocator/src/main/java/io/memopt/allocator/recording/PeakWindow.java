// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

/**
 * One reader's "largest since I last asked". Any number may be open: each sees every peak exactly once, whatever the
 * others do. Close it when done, for each open window costs memory (8 B for each owner) and time when any is read.
 *
 * <p>Threading: any thread.
 */
public final class PeakWindow implements AutoCloseable {
    private final PeakWindows hub;
    private WindowPeaks pending = new WindowPeaks();

    PeakWindow(PeakWindows hub) {
        this.hub = hub;
    }

    /** The peaks since the last call or since opening; what is held now counts, so a peak is never below the level. */
    public WindowPeaks take() {
        return hub.take(this);
    }

    /** No more peaks are kept for this reader; {@link #take} then gives levels only. */
    @Override
    public void close() {
        hub.close(this);
    }

    WindowPeaks pending() {
        return pending;
    }

    WindowPeaks replacePending() {
        WindowPeaks taken = pending;
        pending = new WindowPeaks();
        return taken;
    }
}
