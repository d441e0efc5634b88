// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.use.ScopeCheck;
import io.memopt.allocator.use.ScopeFinding;
import io.memopt.allocator.use.UseBook;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Listens for arrays that are used after their scope until it is closed; a check that someone else runs is put back then.
 * Threading: opened and closed by one thread, hears all.
 */
final class StaleReads implements AutoCloseable {
    private final boolean usesWereRecorded = MemoryHooks.recording().uses() != null;
    private final UseBook book = MemoryHooks.recordUses();
    private final @Nullable ScopeCheck before = book.check();
    private final ScopeCheck check =
            new ScopeCheck(MemoryHooks.recording().ledger().owners());

    /** Begins; throws {@code HookException} when uses cannot be recorded. */
    StaleReads() {
        book.check(check);
    }

    /** What was found so far, most frequent first. */
    List<ScopeFinding> findings() {
        return check.findings();
    }

    @Override
    public void close() {
        book.check(before);
        if (!usesWereRecorded) {
            MemoryHooks.stopRecordingUses();
        }
    }
}
