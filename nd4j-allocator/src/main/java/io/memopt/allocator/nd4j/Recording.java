// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.use.UseBook;
import org.jspecify.annotations.Nullable;

/**
 * What one installation of the hooks records: the ledger and those who hear of scopes. A later installation starts a new
 * one, because frees were not seen in between.
 */
public final class Recording {
    private final MemoryLedger ledger =
            new MemoryLedger(new OwnerTable(), new WorkspaceTable(), CategoryRules::categoryOf);
    private final ScopeObservers observers = new ScopeObservers();
    private final ReversedInputs reversedInputs = new ReversedInputs();
    private volatile @Nullable UseBook uses;
    private volatile @Nullable WorkspaceReuse reuse;

    Recording() {}

    public MemoryLedger ledger() {
        return ledger;
    }

    /** {@code observer} hears of scopes from now on; adding it again changes nothing. */
    public void addObserver(ScopeObserver observer) {
        observers.add(observer);
    }

    public void removeObserver(ScopeObserver observer) {
        observers.remove(observer);
    }

    /** Where uses of arrays are booked; null while they are not recorded. */
    public @Nullable UseBook uses() {
        return uses;
    }

    /** Who serves workspace arrays from arenas; null while ND4J serves them all. */
    public @Nullable WorkspaceReuse reuse() {
        return reuse;
    }

    /** Where bidirectional layers put their reversed inputs. */
    public ReversedInputs reversedInputs() {
        return reversedInputs;
    }

    /** Has the arena of the calling thread give its memory back, if there is one. */
    public void releaseArena() {
        WorkspaceReuse serving = reuse;
        if (serving != null) {
            serving.releaseArena();
        }
    }

    /** Bytes of the arena of the calling thread; 0 without one. */
    public long arenaBytes() {
        WorkspaceReuse serving = reuse;
        return serving == null ? 0 : serving.arenaBytes();
    }

    void reuse(@Nullable WorkspaceReuse serving) {
        reuse = serving;
    }

    void uses(@Nullable UseBook book) {
        uses = book;
    }

    ScopeObservers observers() {
        return observers;
    }
}
