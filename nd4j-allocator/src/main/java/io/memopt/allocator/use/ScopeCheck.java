// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.use;

import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.recording.AllocationSites;
import io.memopt.allocator.recording.WorkspaceAccount;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Collects arrays that are used after the end of their scope. ND4J itself refuses operations on such arrays; it does not see
 * rows that are pulled, single elements, and what is read through {@code data()}.
 *
 * <p>Each pair of places, made here and used there, is one finding: warned of once, counted further on. At most
 * {@value #MAX_FINDINGS}; what exceeds that is only counted. Threading: any thread.
 */
public final class ScopeCheck {
    private static final Logger log = LoggerFactory.getLogger(ScopeCheck.class);
    static final int MAX_FINDINGS = 256;

    private final OwnerTable owners;
    private final ConcurrentHashMap<Key, Found> found = new ConcurrentHashMap<>();
    private final LongAdder uses = new LongAdder();
    private final ThreadLocal<boolean[]> reporting = ThreadLocal.withInitial(() -> new boolean[1]);

    private record Key(int workspace, String madeAt, String usedAt) {}

    private record Found(ScopeFinding first, LongAdder count) {}

    /** A check without findings; {@code owners} resolves who made an array. */
    public ScopeCheck(OwnerTable owners) {
        this.owners = owners;
    }

    /** What was found, most frequent first. */
    public List<ScopeFinding> findings() {
        return found.values().stream()
                .map(each -> each.first.withCount(each.count.sum()))
                .sorted(Comparator.comparingLong(ScopeFinding::count).reversed())
                .toList();
    }

    /** Uses after the end altogether, those beyond {@value #MAX_FINDINGS} findings included. */
    public long uses() {
        return uses.sum();
    }

    /** The calling thread uses {@code array}, whose scope was left. */
    void usedAfterEnd(ArrayUse array) {
        WorkspaceAccount account = array.account();
        boolean[] busy = reporting.get();
        if (account == null || busy[0]) {
            return;
        }
        busy[0] = true;
        try {
            uses.increment();
            take(array, account, AllocationSites.here());
        } finally {
            busy[0] = false;
        }
    }

    private void take(ArrayUse array, WorkspaceAccount account, String usedAt) {
        String madeAt = array.site() == null ? "" : array.site();
        Key key = new Key(account.id(), madeAt, usedAt);
        Found known = found.get(key);
        if (known == null) {
            if (found.size() >= MAX_FINDINGS) {
                return;
            }
            ScopeFinding finding = new ScopeFinding(
                    account.name(),
                    account.threadName(),
                    owners.ownerOf(array.owner()),
                    array.requestedBytes(),
                    array.generation(),
                    account.generation(),
                    madeAt,
                    usedAt,
                    1);
            Found fresh = new Found(finding, new LongAdder());
            known = found.putIfAbsent(key, fresh);
            if (known == null) {
                known = fresh;
                log.warn(finding.message());
            }
        }
        known.count.increment();
    }
}
