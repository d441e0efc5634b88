// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AddressMapTest {
    @Test
    void placeOf_twoFarRegions_foldsTheGap() {
        AddressMap map = new AddressMap();
        map.use(0x7f00_0000_0000L, 1 << 20);
        map.use(0x5500_0000_0000L, 1 << 20);
        map.complete();

        assertThat(map.placeOf(0x5500_0000_0000L)).isZero();
        assertThat(map.placeOf(0x7f00_0000_0000L)).isBetween(1L << 20, 2L << 20);
        assertThat(map.placeOf(0x6000_0000_0000L)).isNegative();
        assertThat(map.height()).isLessThan(3L << 20);
        assertThat(map.regions()).hasSize(2);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void placeOf_manyAddresses_keepsTheirOrderAndDistance(long seed) {
        Random random = new Random(seed);
        long[] addresses = random.longs(30_000, 0x1000_0000L, 0x1000_0000L + (1L << 44))
                .sorted()
                .toArray();
        AddressMap map = new AddressMap();
        for (int i = 0; i < addresses.length; i++) {
            map.use(addresses[(int) (i * 7_919L % addresses.length)], 64);
        }
        map.complete();

        assertThat(map.regions()).hasSizeLessThanOrEqualTo(4096);
        for (int i = 1; i < addresses.length; i++) {
            long before = map.placeOf(addresses[i - 1]);
            long place = map.placeOf(addresses[i]);
            assertThat(before).isNotNegative();
            assertThat(place).isGreaterThan(before);
            assertThat(place - before).isLessThanOrEqualTo(addresses[i] - addresses[i - 1]);
        }
    }
}
