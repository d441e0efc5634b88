// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.OwnerTable;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Shares the one window that each total has among any number of readers: whoever asks drains the totals and notes what
 * they held for every reader. So writers pay for one window, however many readers there are. O(owners x readers) a call.
 */
final class PeakWindows {
    private final PeakTotal[] inUse;
    private final PeakTotal[] reserved;
    private final OwnerTable owners;
    private final AtomicReferenceArray<@Nullable OwnerAccount> byOwner;
    private final ConcurrentHashMap<Integer, WorkspaceAccount> accounts;
    private final int spaces;
    private final List<PeakWindow> open = new ArrayList<>();

    PeakWindows(
            PeakTotal[] inUse,
            PeakTotal[] reserved,
            OwnerTable owners,
            AtomicReferenceArray<@Nullable OwnerAccount> byOwner,
            ConcurrentHashMap<Integer, WorkspaceAccount> accounts) {
        this.inUse = inUse;
        this.reserved = reserved;
        this.owners = owners;
        this.byOwner = byOwner;
        this.accounts = accounts;
        this.spaces = inUse.length;
    }

    /** A window that starts now: what peaked before is none of its business. */
    synchronized PeakWindow open() {
        drain();
        PeakWindow window = new PeakWindow(this);
        open.add(window);
        return window;
    }

    synchronized void close(PeakWindow window) {
        open.remove(window);
    }

    synchronized WindowPeaks take(PeakWindow window) {
        boolean closed = !open.contains(window);
        if (closed) {
            open.add(window);
        }
        drain();
        if (closed) {
            open.remove(window);
        }
        return window.replacePending();
    }

    private void drain() {
        for (int space = 0; space < spaces; space++) {
            long used = Math.max(inUse[space].takeWindow(), inUse[space].get());
            long held = Math.max(reserved[space].takeWindow(), reserved[space].get());
            for (PeakWindow window : open) {
                window.pending().inUse(space, used);
                window.pending().reserved(space, held);
            }
        }
        int slots = owners.size() * spaces;
        for (int i = 0; i < slots; i++) {
            OwnerAccount account = byOwner.get(i);
            if (account != null) {
                long bytes = Math.max(account.takeWindow(), account.get());
                for (PeakWindow window : open) {
                    window.pending().owner(i, bytes);
                }
            }
        }
        for (PeakWindow window : open) {
            window.pending().retainWorkspaces(accounts.keySet());
        }
        for (WorkspaceAccount account : accounts.values()) {
            long bytes = account.takeWindowUsedBytes();
            for (PeakWindow window : open) {
                window.pending().workspace(account.id(), bytes);
            }
        }
    }
}
