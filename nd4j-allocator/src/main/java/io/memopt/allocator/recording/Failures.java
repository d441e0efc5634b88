// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.MemorySpace;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.List;

/** What the operating system or driver refused, and how the books stood then. Threading: as the {@link Books}. */
final class Failures {
    private final Books books;
    private final ArrayDeque<FailureMoment> latest = new ArrayDeque<>();

    Failures(Books books) {
        this.books = books;
    }

    /** Oldest first; the latest {@value FailureMoment#MOST_FAILURES}. */
    List<FailureMoment> all() {
        return List.copyOf(latest);
    }

    /** Notes that the thread of {@code context} was refused {@code requested} bytes. */
    void add(MemorySpace space, long requested, ThreadContext context) {
        books.flows.failed(space);
        WorkspaceAccount account = context.account();
        int owner = books.ownerFor(account, context.owner(books.owners));
        long now = System.nanoTime();
        if (latest.size() == FailureMoment.MOST_FAILURES) {
            latest.removeFirst();
        }
        latest.addLast(new FailureMoment(
                now,
                context.threadId(),
                context.iteration(books.owners),
                space,
                context.intent(),
                books.owners.ownerOf(owner),
                requested,
                books.reserved[space.ordinal()].get(),
                MemoryLedger.byCategory(books.categoryBytes()),
                largestOwners(),
                blocks()));
        int code = EventCode.of(EventKind.ALLOCATION_FAILURE, AllocationKind.WORKSPACE_BLOCK, space);
        books.emit(code, now, context.threadId(), owner, Books.idOf(account), 0, requested, 0);
    }

    private List<OwnerUsage> largestOwners() {
        return books.usage().stream()
                .filter(row -> row.liveBytes() > 0)
                .sorted(Comparator.comparingLong(OwnerUsage::liveBytes).reversed())
                .limit(FailureMoment.MOST_OWNERS)
                .toList();
    }

    private List<FailureMoment.Block> blocks() {
        return books.live.values().stream()
                .filter(Books::isBlock)
                .sorted(Comparator.comparingLong(LiveAllocation::roundedBytes).reversed())
                .limit(FailureMoment.MOST_BLOCKS)
                .map(Failures::blockOf)
                .toList();
    }

    private static FailureMoment.Block blockOf(LiveAllocation allocation) {
        WorkspaceAccount account = allocation.account();
        return account == null
                ? new FailureMoment.Block("", "", allocation.address(), allocation.roundedBytes(), 0)
                : new FailureMoment.Block(
                        account.name(),
                        account.threadName(),
                        allocation.address(),
                        allocation.roundedBytes(),
                        Math.min(account.arrayBytes(), allocation.roundedBytes()));
    }
}
