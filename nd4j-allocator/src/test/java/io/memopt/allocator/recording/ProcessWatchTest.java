// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

@EnabledOnOs(OS.LINUX)
class ProcessWatchTest {
    private final MemoryLedger ledger =
            new MemoryLedger(new OwnerTable(), new WorkspaceTable(), owner -> Category.OTHER);

    @Test
    void watch_whileOpen_tellsResidentSize_andOnceMoreAtItsEnd() throws Exception {
        List<long[]> samples = new CopyOnWriteArrayList<>();
        CountDownLatch three = new CountDownLatch(3);
        ledger.addSink((code, time, thread, owner, workspace, address, bytes, extra) -> {
            if (EventCode.kind(code) == EventKind.PROCESS) {
                samples.add(new long[] {bytes, extra});
                three.countDown();
            }
        });
        ProcessWatch watch = ProcessWatch.start(ledger, Duration.ofMillis(1));

        assertThat(three.await(20, TimeUnit.SECONDS)).isTrue();
        watch.close();
        int before = samples.size();
        watch.close();

        assertThat(samples).hasSizeGreaterThanOrEqualTo(3).hasSizeLessThanOrEqualTo(before + 1);
        assertThat(samples).allSatisfy(sample -> {
            assertThat(sample[0]).isGreaterThan(10 << 20);
            assertThat(sample[1]).isPositive();
        });
    }

    @Test
    void interval_tooShort_isRefused() {
        assertThatThrownBy(() -> ProcessWatch.start(ledger, Duration.ofNanos(1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("interval=PT0.000000001S, expected at least PT0.001S");
    }
}
