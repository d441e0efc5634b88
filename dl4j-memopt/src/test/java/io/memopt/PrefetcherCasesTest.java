// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.report.MemorySummary;
import io.memopt.report.Prefetchers;
import io.memopt.testing.Networks;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.assertj.core.data.Percentage;
import org.deeplearning4j.datasets.iterator.utilty.ListDataSetIterator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.dataset.AsyncDataSetIterator;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** User case P9: prefetching iterators that are left behind, or too deep. */
class PrefetcherCasesTest {
    private MemOpt memopt;
    private MemoryLedger ledger;

    @BeforeEach
    void attach() {
        MemoryHooks.uninstall();
        memopt = MemOpt.attach(Networks.mlp(2, 2, 2));
        ledger = MemoryHooks.recording().ledger();
    }

    @AfterEach
    void uninstall() {
        memopt.close();
        MemoryHooks.uninstall();
    }

    @Test
    void iterators_droppedWithoutShutdown_areAbandoned_shutDownOnesAreNot() {
        List<AsyncDataSetIterator> dropped = open(20);
        List<AsyncDataSetIterator> shutDown = open(3);
        shutDown.forEach(AsyncDataSetIterator::shutdown);

        until(() -> Prefetchers.abandoned(ledger, 0.2).size() == 20);
        assertThat(Prefetchers.abandoned(ledger, 0.2)).hasSize(20);
        assertThat(Prefetchers.abandoned(ledger, 60)).isEmpty();
        assertThat(memopt.summary().workspaces())
                .filteredOn(row -> row.name().startsWith("ADSI"))
                .singleElement()
                .satisfies(row -> assertThat(row.reservedBytes()).isGreaterThan(20 * 10_000_000L));

        dropped.forEach(AsyncDataSetIterator::shutdown);
        until(() -> Prefetchers.abandoned(ledger, 0).isEmpty());
        assertThat(Prefetchers.abandoned(ledger, 0)).isEmpty();
    }

    @Test
    @Tag("soak")
    void iterators_notReadForAMinute_areWarnedOf() throws InterruptedException {
        List<AsyncDataSetIterator> dropped = open(20);
        TimeUnit.SECONDS.sleep(62);

        assertThat(memopt.summary().notes())
                .anyMatch(note -> note.startsWith("20 prefetching iterators have not been read for a minute")
                        && note.contains("Call shutdown()"));

        dropped.forEach(AsyncDataSetIterator::shutdown);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 8, 32})
    void depth_ofQueue_needIsPredictedAndReported(int depth) {
        AsyncDataSetIterator iterator = new AsyncDataSetIterator(batches(depth + 10, 500, 1000), depth, true);

        iterator.next();
        until(() -> !memopt.summary().prefetchers().isEmpty());
        long held = adsi(memopt.summary());

        assertThat(held).isCloseTo(Prefetchers.expectedBytes(depth, 2 * 500 * 1000 * 4), Percentage.withPercentage(10));
        assertThat(memopt.summary().prefetchers()).singleElement().satisfies(row -> {
            assertThat(row.depth()).isEqualTo(depth);
            assertThat(row.reservedBytes()).isEqualTo(held);
            assertThat(held).isCloseTo(row.expectedBytes(), Percentage.withPercentage(10));
        });
        iterator.shutdown();
        until(() -> adsi(memopt.summary()) == 0);
        assertThat(adsi(memopt.summary())).isZero();
    }

    private static long adsi(MemorySummary summary) {
        return summary.workspaces().stream()
                .filter(row -> row.name().startsWith("ADSI"))
                .mapToLong(MemorySummary.WorkspaceRow::reservedBytes)
                .sum();
    }

    /** An iterator that makes each batch when it is asked: of two halves, which it merges. */
    private static ListDataSetIterator<DataSet> batches(int count, int examples, int width) {
        DataSet half = new DataSet(
                Nd4j.rand(DataType.FLOAT, examples / 2, width), Nd4j.rand(DataType.FLOAT, examples / 2, width));
        return new ListDataSetIterator<>(Collections.nCopies(2 * count, half), 2);
    }

    private static List<AsyncDataSetIterator> open(int count) {
        List<AsyncDataSetIterator> iterators = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            AsyncDataSetIterator iterator = new AsyncDataSetIterator(batches(50, 10, 10), 8, true);
            iterator.next();
            iterators.add(iterator);
        }
        return iterators;
    }

    private static void until(BooleanSupplier condition) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!condition.getAsBoolean() && System.nanoTime() < end) {
            System.gc();
            Thread.onSpinWait();
        }
    }
}
