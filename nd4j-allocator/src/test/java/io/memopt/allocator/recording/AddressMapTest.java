// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AddressMapTest {
    private final AddressMap<Integer> map = new AddressMap<>();

    /** Strides of small objects, of aligned blocks, of pages, of 2 MiB; 1 is no address, but allowed. */
    @ParameterizedTest
    @ValueSource(longs = {1, 16, 48, 112, 512, 4096, 1 << 21, 1L << 37})
    void randomCalls_answerAsAHashMapDoes(long stride) {
        Random random = new Random(stride);
        Map<Long, Integer> expected = new HashMap<>();
        for (int i = 0; i < 50_000; i++) {
            long key = 0x7f00_0000_0000L + stride * random.nextInt(3000);
            switch (random.nextInt(i / 10_000 % 2 == 0 ? 3 : 5)) {
                case 0, 1 -> assertThat(map.put(key, i)).isEqualTo(expected.put(key, i));
                case 2 -> assertThat(map.get(key)).isEqualTo(expected.get(key));
                default -> assertThat(map.remove(key)).isEqualTo(expected.remove(key));
            }
        }
        assertThat(map.size()).isEqualTo(expected.size()).isPositive();
        assertThat(map.values()).containsExactlyInAnyOrderElementsOf(expected.values());
    }

    @Test
    void zero_isAKey() {
        map.put(0, 7);

        assertThat(map.get(0)).isEqualTo(7);
        assertThat(map.remove(0)).isEqualTo(7);
        assertThat(map.values()).isEmpty();
    }
}
