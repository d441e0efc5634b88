// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import java.util.Arrays;
import java.util.function.Function;

/**
 * Remembers, for one workspace (or for detached memory), which owner results from a thread's context, so that the hot
 * path is one array read.
 *
 * <p>Threading: safe; a race at worst computes an entry twice.
 */
final class OwnerCache {
    private final OwnerTable table;
    private final String workspace;
    private final Function<Owner, Category> rule;
    private volatile int[] resolved = new int[64];

    OwnerCache(OwnerTable table, String workspace, Function<Owner, Category> rule) {
        this.table = table;
        this.workspace = workspace;
        this.rule = rule;
        Arrays.fill(resolved, -1);
    }

    /** The owner of bytes that a thread with context {@code context} takes here. */
    int ownerFor(int context) {
        int[] known = resolved;
        int owner = context < known.length ? known[context] : -1;
        return owner >= 0 ? owner : resolve(context);
    }

    /** A number that the table never gave out is left over from another recording: nobody known, and not remembered. */
    private synchronized int resolve(int context) {
        if (context >= table.size()) {
            return ownerFor(OwnerTable.UNKNOWN);
        }
        Owner base = table.ownerOf(context).withWorkspace(workspace);
        int owner = table.idOf(base.withCategory(rule.apply(base)));
        int[] grown = resolved;
        if (context >= grown.length) {
            grown = Arrays.copyOf(grown, Math.max(context + 1, grown.length * 2));
            Arrays.fill(grown, resolved.length, grown.length, -1);
        }
        grown[context] = owner;
        resolved = grown;
        return owner;
    }
}
