// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class PrefetchStatisticsTest {
    private final Counts all = new Counts(null);
    private final Counts counts = new Counts(all);

    @Test
    void shares_withoutAnything_areWhole() {
        assertThat(counts.now(2).hiddenShare()).isEqualTo(1);
        assertThat(counts.now(2).hiddenUploadShare()).isEqualTo(1);
    }

    @Test
    void hiddenUploadShare_takesOfEachWaitAtMostItsOwnCopies() {
        counts.read(600);
        counts.prepared(200);
        counts.uploaded(4096, 100);
        counts.uploaded(4096, 100);
        counts.waited(150, 100);
        counts.waited(10, 100);

        PrefetchStatistics now = counts.now(3);
        assertThat(now.hiddenUploadShare()).isEqualTo(1 - 110 / 200.0, within(1e-12));
        assertThat(now.hiddenShare()).isEqualTo(1 - 160 / 1000.0, within(1e-12));
        assertThat(now.waits()).isEqualTo(2);
        assertThat(all.now(3)).isEqualTo(now);
    }

    @Test
    void since_givesWhatWasAdded() {
        counts.handedOut(100);
        counts.waited(7, 5);
        PrefetchStatistics earlier = counts.now(2);
        counts.handedOut(50);
        counts.read(11);

        PrefetchStatistics added = counts.now(4).since(earlier);

        assertThat(added.batches()).isEqualTo(1);
        assertThat(added.bytes()).isEqualTo(50);
        assertThat(added.readNanos()).isEqualTo(11);
        assertThat(added.waitNanos()).isZero();
        assertThat(added.exposedUploadNanos()).isZero();
        assertThat(added.depth()).isEqualTo(4);
    }

    @Test
    void ahead_fallsAgain_andKeepsItsPeak() {
        counts.ahead(70);
        counts.ahead(-30);

        assertThat(counts.now(2).aheadBytes()).isEqualTo(40);
        assertThat(counts.now(2).peakAheadBytes()).isEqualTo(70);
    }
}
