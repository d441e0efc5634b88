// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import java.util.ArrayList;
import java.util.List;

/**
 * Shares the one window that each total has among any number of readers: whoever asks drains the totals and notes what
 * they held for every reader. So writers pay for one window, however many readers there are. O(owners x readers) a call.
 *
 * <p>Threading: any thread; all happens under the lock of the journals.
 */
final class PeakWindows {
    private final Books books;
    private final Journals journals;
    private final List<PeakWindow> open = new ArrayList<>();

    PeakWindows(Books books, Journals journals) {
        this.books = books;
        this.journals = journals;
    }

    /** A window that starts now: what peaked before is none of its business. */
    PeakWindow open() {
        return journals.posted(() -> {
            drain();
            PeakWindow window = new PeakWindow(this);
            open.add(window);
            return window;
        });
    }

    void close(PeakWindow window) {
        journals.posted(() -> {
            open.remove(window);
        });
    }

    WindowPeaks take(PeakWindow window) {
        return journals.posted(() -> {
            boolean closed = !open.contains(window);
            if (closed) {
                open.add(window);
            }
            drain();
            if (closed) {
                open.remove(window);
            }
            return window.replacePending();
        });
    }

    private void drain() {
        for (int space = 0; space < Books.SPACES; space++) {
            long used = books.inUse[space].takeWindow();
            long held = books.reserved[space].takeWindow();
            for (PeakWindow window : open) {
                window.pending().inUse(space, used);
                window.pending().reserved(space, held);
            }
        }
        int slots = books.owners.size() * Books.SPACES;
        for (int i = 0; i < slots; i++) {
            OwnerAccount account = books.byOwner.get(i);
            if (account != null) {
                long bytes = account.takeWindow();
                for (PeakWindow window : open) {
                    window.pending().owner(i, bytes);
                }
            }
        }
        for (PeakWindow window : open) {
            window.pending().retainWorkspaces(books.accounts.keySet());
        }
        for (WorkspaceAccount account : books.accounts.values()) {
            long bytes = account.takeWindowUsedBytes();
            for (PeakWindow window : open) {
                window.pending().workspace(account.id(), bytes);
            }
        }
    }
}
