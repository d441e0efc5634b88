// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ProgressTest {
    private final StringWriter out = new StringWriter();
    private long now;

    @Test
    void line_always_saysHowFarAndHowLong() {
        assertThat(Progress.line(false, 48, 192, TimeUnit.SECONDS.toNanos(12), 1.23456))
                .isEqualTo("iteration  48/192  25 %  loss 1.2346  0:12 elapsed, 0:36 left");
    }

    @Test
    void line_asBar_growsWithTheWork() {
        assertThat(Progress.line(true, 48, 192, TimeUnit.SECONDS.toNanos(12), 1.23456))
                .isEqualTo("[######------------------]  48/192  25 %  loss 1.2346  0:12 elapsed, 0:36 left");
        assertThat(Progress.line(true, 192, 192, 0, 0)).startsWith("[########################] 192/192 100 %");
    }

    @Test
    void duration_always_hasTwoDigitSeconds() {
        assertThat(Progress.duration(TimeUnit.SECONDS.toNanos(5))).isEqualTo("0:05");
        assertThat(Progress.duration(TimeUnit.SECONDS.toNanos(3599))).isEqualTo("59:59");
        assertThat(Progress.duration(TimeUnit.SECONDS.toNanos(3600))).isEqualTo("1:00:00");
    }

    @Test
    void step_withoutTerminal_printsALineEveryFewSecondsAndTheLast() {
        Progress progress = progress(false, 12);

        for (int i = 0; i < 12; i++) {
            now += TimeUnit.SECONDS.toNanos(1);
            progress.step(i);
        }

        assertThat(out.toString().lines()).hasSize(3);
        assertThat(out.toString()).contains(" 5/12", "10/12", "12/12").doesNotContain("\r");
    }

    @Test
    void step_onTerminal_drawsOverItselfAndMakesRoomForLines() {
        Progress progress = progress(true, 10);

        now += TimeUnit.SECONDS.toNanos(1);
        progress.step(1);
        progress.println("epoch 1");

        String bar = "\r" + Progress.line(true, 1, 10, TimeUnit.SECONDS.toNanos(1), 1);
        assertThat(out.toString())
                .isEqualTo(bar + "\r" + " ".repeat(bar.length() - 1) + "\repoch 1" + System.lineSeparator());
    }

    private Progress progress(boolean inPlace, int total) {
        return new Progress(new PrintWriter(out), inPlace, () -> now, total);
    }
}
