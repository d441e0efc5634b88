// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.memopt.MemOpt;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.testing.Networks;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.AsyncDataSetIterator;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

@Timeout(120)
class PrefetchIteratorTest {
    /** Features {@code [4, 3]} and labels {@code [4, 2]}, FLOAT. */
    private static final long BATCH_BYTES = 4 * (4 * 3 + 4 * 2);

    private static final PrefetchOptions OPTIONS = PrefetchOptions.DEFAULTS;

    @Test
    void batches_whosePreparationEndsInReverse_keepTheirOrder() {
        CountDownLatch[] prepared = new CountDownLatch[21];
        for (int i = 0; i < prepared.length; i++) {
            prepared[i] = new CountDownLatch(1);
        }
        // Each even batch waits for the odd one after it, so two threads always end in reverse.
        try (PrefetchDataSetIterator data = new PrefetchDataSetIterator(batches(20), OPTIONS, batch -> {
            int number = numberOf(batch);
            if (number % 2 == 0 && number > 0 && number < 19) {
                await(prepared[number + 1]);
            }
            prepared[number].countDown();
            return batch;
        })) {
            List<Integer> numbers = new ArrayList<>();
            data.forEachRemaining(batch -> numbers.add(numberOf(batch)));

            assertThat(numbers).hasSize(20).isSorted();
            assertThat(data.hasNext()).isFalse();
            assertThatThrownBy(data::next).isInstanceOf(NoSuchElementException.class);
        }
    }

    @Test
    void ahead_isBoundedByCountAndBytes() {
        AtomicInteger handedOut = new AtomicInteger();
        AtomicInteger mostAhead = new AtomicInteger();
        Batches base = new Batches(60, i -> {
            mostAhead.accumulateAndGet(i + 1 - handedOut.get(), Math::max);
            return batch(i);
        });
        PrefetchOptions options = OPTIONS.withMaxBatches(5).withMaxBytes(3 * BATCH_BYTES);
        try (PrefetchDataSetIterator data = new PrefetchDataSetIterator(base, options)) {
            data.forEachRemaining(batch -> handedOut.incrementAndGet());

            assertThat(data.statistics().peakAheadBytes()).isBetween(BATCH_BYTES, 3 * BATCH_BYTES);
            // One more than may be ahead: a batch leaves just before it is counted here as handed out.
            assertThat(mostAhead.get()).isBetween(1, 4);
            assertThat(data.statistics().aheadBytes()).isZero();
        }
    }

    @Test
    void statistics_ofASlowPreparationAndNoWorkBetween_showWaits() {
        try (PrefetchDataSetIterator data =
                new PrefetchDataSetIterator(batches(5), OPTIONS.withThreads(1), PrefetchIteratorTest::slowly)) {
            data.forEachRemaining(batch -> {});

            PrefetchStatistics statistics = data.statistics();
            assertThat(statistics.waits()).isBetween(1L, 5L);
            assertThat(statistics.hiddenShare()).isBetween(0.0, 0.6);
            assertThat(statistics.bytes()).isEqualTo(5 * BATCH_BYTES);
            assertThat(statistics.depth()).isBetween(2, OPTIONS.maxBatches());
            assertThat(statistics.toString()).startsWith("prefetch: ").contains("5 batches of 80 B");
        }
    }

    @Test
    void failure_ofTheBaseIterator_reachesNextAfterTheBatchesBefore_andResetBeginsAnew() {
        AtomicInteger failures = new AtomicInteger(1);
        Batches base = new Batches(6, i -> {
            if (i == 3 && failures.getAndDecrement() > 0) {
                throw new UncheckedIOException(new IOException("disk gone"));
            }
            return batch(i);
        });
        try (PrefetchDataSetIterator data = new PrefetchDataSetIterator(base)) {
            for (int i = 0; i < 3; i++) {
                assertThat(numberOf(data.next())).isEqualTo(i);
            }
            assertThat(data.hasNext()).isTrue();
            assertThatThrownBy(data::next)
                    .isInstanceOf(PrefetchException.class)
                    .hasMessageContaining("Batch 3")
                    .hasMessageContaining("the base iterator")
                    .hasRootCauseMessage("disk gone");
            assertThat(data.hasNext()).isFalse();

            data.reset();
            assertThat(numbers(data)).containsExactly(0, 1, 2, 3, 4, 5);
        }
    }

    @Test
    void failure_ofAPreProcessor_reachesNextWithItsCause() {
        try (PrefetchDataSetIterator data = new PrefetchDataSetIterator(batches(4))) {
            data.setPreProcessor(batch -> {
                throw new IllegalStateException("no scale");
            });

            assertThatThrownBy(data::next)
                    .isInstanceOf(PrefetchException.class)
                    .hasMessageContaining("Batch 0")
                    .hasCauseInstanceOf(IllegalStateException.class);
            assertThat(data.hasNext()).isFalse();
            data.reset();
            assertThat(data.statistics().aheadBytes()).isZero();
        }
    }

    @Test
    void reset_inTheMiddle_givesTheFirstBatchAgain_andDropsWhatWasAhead() {
        try (PrefetchDataSetIterator data = new PrefetchDataSetIterator(batches(30))) {
            data.next();
            assertThat(data.hasNext()).isTrue();

            data.reset();
            assertThat(data.statistics().aheadBytes()).isZero();
            assertThat(numbers(data)).hasSize(30).startsWith(0, 1);
        }
    }

    @Test
    void close_endsTheThreads_andBatches() {
        PrefetchDataSetIterator data = new PrefetchDataSetIterator(batches(30));
        List<Thread> before = threads();
        data.next();
        List<Thread> own = threads();
        own.removeAll(before);
        assertThat(own).isNotEmpty().allMatch(Thread::isDaemon);

        data.close();

        until(() -> own.stream().noneMatch(Thread::isAlive));
        assertThat(data.hasNext()).isFalse();
        assertThatThrownBy(data::next).isInstanceOf(NoSuchElementException.class);
        assertThatThrownBy(data::reset)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
        assertThat(data.statistics().aheadBytes()).isZero();
    }

    @Test
    void dropped_withoutClose_endsTheThreads() {
        List<Thread> before = threads();
        new PrefetchDataSetIterator(batches(30)).next();
        List<Thread> own = threads();
        own.removeAll(before);
        assertThat(own).isNotEmpty();

        until(() -> {
            System.gc();
            return own.stream().noneMatch(Thread::isAlive);
        });
    }

    @Test
    void closeUsed_closesABatchWhenTheNextIsAskedFor_andOtherwiseNone() {
        try (PrefetchDataSetIterator closing = new PrefetchDataSetIterator(batches(2), OPTIONS.withCloseUsed(true));
                PrefetchDataSetIterator keeping = new PrefetchDataSetIterator(batches(2))) {
            DataSet closed = closing.next();
            DataSet kept = keeping.next();
            assertThat(closed.getFeatures().wasClosed()).isFalse();
            DataSet last = closing.next();
            keeping.next();

            assertThat(closed.getFeatures().wasClosed()).isTrue();
            assertThat(closed.getLabels().wasClosed()).isTrue();
            assertThat(kept.getFeatures().wasClosed()).isFalse();
            closing.close();
            assertThat(last.getFeatures().wasClosed()).isTrue();
        }
    }

    @Test
    void arrays_madeAndTakenInsideWorkspaces_areDetached() {
        WorkspaceConfiguration configuration =
                WorkspaceConfiguration.builder().initialSize(1 << 16).build();
        AtomicInteger attached = new AtomicInteger();
        // The thread that reads has a workspace open all the time.
        Batches base = new Batches(10, i -> {
            if (i == 0) {
                Nd4j.getWorkspaceManager().getAndActivateWorkspace(configuration, "WS_OF_READER");
            }
            DataSet batch = batch(i);
            attached.addAndGet(batch.getFeatures().isAttached() ? 1 : 0);
            return batch;
        });
        try (PrefetchDataSetIterator data = new PrefetchDataSetIterator(base);
                MemoryWorkspace ignored =
                        Nd4j.getWorkspaceManager().getAndActivateWorkspace(configuration, "WS_OF_TRAINING")) {
            for (int i = 0; i < 10; i++) {
                DataSet batch = data.next();
                assertThat(batch.getFeatures().isAttached()).isFalse();
                assertThat(batch.getLabels().isAttached()).isFalse();
                assertThat(batch.getFeatures()).isEqualTo(batch(i).getFeatures());
            }
            assertThat(attached).hasValue(10);
        }
    }

    @Test
    void constructor_withABaseThatMustNotBeReadAhead_isRefusedUnlessInsisted() {
        Batches base = batches(3);
        base.async = false;

        assertThatThrownBy(() -> new PrefetchDataSetIterator(base))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("withReadAheadAnyway");
        try (PrefetchDataSetIterator data = new PrefetchDataSetIterator(base, OPTIONS.withReadAheadAnyway(true))) {
            assertThat(numbers(data)).containsExactly(0, 1, 2);
        }
    }

    @Test
    void preProcessor_setWhileBatchesAreInWork_isRefused_andAfterResetTaken() {
        try (PrefetchDataSetIterator data = new PrefetchDataSetIterator(batches(3))) {
            assertThat(data.hasNext()).isTrue();
            assertThatThrownBy(() -> data.setPreProcessor(batch -> {})).isInstanceOf(IllegalStateException.class);

            data.reset();
            data.setPreProcessor(batch -> batch.getFeatures().addi(100));
            assertThat(numbers(data)).containsExactly(100, 101, 102);
        }
    }

    @Test
    void asyncSupported_isFalse_andTheRestIsTheBaseIterators() {
        Batches base = batches(3);
        try (PrefetchDataSetIterator data = new PrefetchDataSetIterator(base)) {
            assertThat(data.asyncSupported()).isFalse();
            assertThat(data.resetSupported()).isTrue();
            assertThat(data.batch()).isEqualTo(4);
            assertThat(data.inputColumns()).isEqualTo(3);
            assertThat(data.totalOutcomes()).isEqualTo(2);
            assertThat(data.getLabels()).containsExactly("a", "b");
            assertThatThrownBy(() -> data.next(2)).isInstanceOf(UnsupportedOperationException.class);
            assertThat(base.made).hasValue(0);
        }
    }

    @Test
    void figures_areInMetersAndSummary() {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        try (MemOpt memopt = MemOpt.attach(Networks.mlp(3, 2, 2)).bindTo(registry);
                PrefetchDataSetIterator data = new PrefetchDataSetIterator(batches(3))) {
            long before = PrefetchTotals.now().batches();
            numbers(data);

            assertThat(PrefetchTotals.now().batches()).isEqualTo(before + 3);
            assertThat(registry.get("memopt.prefetch.batches").functionCounter().count())
                    .isEqualTo(before + 3.0);
            assertThat(memopt.summary().toString()).contains("prefetch: ");
        } finally {
            MemoryHooks.uninstall();
        }
    }

    @Test
    void options_outOfRange_areRefusedWithTheRange() {
        assertThatThrownBy(() -> OPTIONS.withThreads(0)).hasMessage("threads=0, expected 1..256");
        assertThatThrownBy(() -> OPTIONS.withMaxBatches(1)).hasMessage("maxBatches=1, expected 2..65536");
        assertThatThrownBy(() -> OPTIONS.withMaxBytes(0)).hasMessage("maxBytes=0, expected at least 1");
        assertThatThrownBy(() -> new PrefetchDataSetIterator(new AsyncDataSetIterator(batches(1))))
                .isInstanceOf(IllegalArgumentException.class);
    }

    private static Batches batches(int count) {
        return new Batches(count, PrefetchIteratorTest::batch);
    }

    private static DataSet batch(int number) {
        return new DataSet(
                Nd4j.valueArrayOf(new long[] {4, 3}, (float) number), Nd4j.valueArrayOf(new long[] {4, 2}, 1f));
    }

    private static int numberOf(DataSet batch) {
        INDArray features = batch.getFeatures();
        return (int) features.getFloat(0);
    }

    private static List<Integer> numbers(PrefetchDataSetIterator data) {
        List<Integer> numbers = new ArrayList<>();
        data.forEachRemaining(batch -> numbers.add(numberOf(batch)));
        return numbers;
    }

    private static DataSet slowly(DataSet batch) {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(20);
        while (System.nanoTime() < end) {
            Thread.onSpinWait();
        }
        return batch;
    }

    private static void await(CountDownLatch latch) {
        try {
            if (!latch.await(60, TimeUnit.SECONDS)) {
                throw new IllegalStateException("never prepared");
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static List<Thread> threads() {
        return new ArrayList<>(Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("memopt-prefetch-"))
                .toList());
    }

    private static void until(BooleanSupplier condition) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).isLessThan(end);
            Thread.onSpinWait();
        }
    }
}
