// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class LargeKeysTest {
    private static final long FIRST = 0x7f12_3450_0000L;
    private static final int STEP = 48;

    private final LargeKeys keys = new LargeKeys();

    @Test
    void mayContain_whatWasAdded_alwaysAndOthersSeldom() {
        List<Long> added = addresses(0, 200);
        added.forEach(keys::add);

        assertThat(added).allMatch(keys::mayContain);
        assertThat(addresses(1000, 1000).stream().filter(keys::mayContain).count())
                .isLessThan(150);
    }

    @Test
    void renew_withFewBits_keepsEverything() {
        List<Long> added = addresses(0, 100);
        added.forEach(keys::add);

        keys.renew(() -> new long[0]);
        keys.renew(() -> new long[0]);

        assertThat(added).allMatch(keys::mayContain);
    }

    @Test
    void renew_withManyBits_forgetsWhatIsGoneTheTimeAfter() {
        List<Long> gone = addresses(0, 5000);
        gone.forEach(keys::add);
        List<Long> known = addresses(50_000, 20);

        keys.renew(() -> array(known));
        long onTheirWay = gone.stream().filter(keys::mayContain).count();
        keys.forgetSoon();
        keys.renew(() -> array(known));

        assertThat(onTheirWay).isEqualTo(gone.size());
        assertThat(known).allMatch(keys::mayContain);
        assertThat(gone.stream().filter(keys::mayContain).count()).isLessThan(100);
    }

    @Test
    void renew_withMoreThanFits_isNotRepeatedWithEachCall() {
        List<Long> known = addresses(0, 5000);
        known.forEach(keys::add);
        keys.renew(() -> array(known));

        keys.renew(() -> {
            throw new AssertionError("asked again though nothing was added");
        });

        assertThat(known).allMatch(keys::mayContain);
    }

    private static long[] array(List<Long> keys) {
        return keys.stream().mapToLong(Long::longValue).toArray();
    }

    private static List<Long> addresses(int from, int count) {
        return LongStream.range(from, from + count)
                .mapToObj(i -> FIRST + i * STEP)
                .toList();
    }
}
