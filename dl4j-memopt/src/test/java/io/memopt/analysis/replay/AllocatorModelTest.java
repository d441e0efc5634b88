// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AllocatorModelTest {
    private static final long MIB = 1 << 20;

    @ParameterizedTest
    @ValueSource(strings = {"bump", "caching", "bfc", "stream-ordered", "buddy"})
    void model_underRandomLoad_keepsItsBooks(String name) {
        AllocatorModel model = Allocators.create(name);
        Random random = new Random(7);
        List<Object> live = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            if (live.isEmpty() || random.nextInt(100) < 52) {
                long bytes = 1 + (long) Math.exp(random.nextDouble() * 18);
                live.add(model.allocate(bytes, true));
            } else {
                model.free(live.remove(random.nextInt(live.size())));
            }
            assertThat(model.reservedBytes()).isGreaterThanOrEqualTo(model.roundedBytes());
            assertThat(model.largestHoleBytes()).isBetween(0L, model.reservedBytes() - model.roundedBytes());
        }
        live.forEach(model::free);

        assertThat(model.roundedBytes()).isZero();
        if (name.equals("caching") || name.equals("bfc")) {
            assertThat(model.largestHoleBytes()).isPositive();
        }
        model.iterationEnded();
        if (name.equals("stream-ordered")) {
            assertThat(model.reservedBytes()).isZero();
        }
    }

    @Test
    void caching_followsPyTorchsSizes() {
        AllocatorModel model = Allocators.create("caching");

        model.allocate(1, true);
        assertThat(model.roundedBytes()).isEqualTo(512);
        assertThat(model.reservedBytes()).isEqualTo(2 * MIB);
        model.allocate(MIB + 1, true);
        assertThat(model.reservedBytes()).isEqualTo(22 * MIB);
        model.allocate(10 * MIB, true);
        assertThat(model.reservedBytes()).isEqualTo(22 * MIB);
        model.allocate(11 * MIB + 5, true);
        assertThat(model.reservedBytes()).isEqualTo(34 * MIB);
        assertThat(model.driverCalls()).isEqualTo(3);
    }

    @Test
    void caching_joinsNeighboursAndUsesThemAgain() {
        AllocatorModel model = Allocators.create("caching");
        Object a = model.allocate(6 * MIB, true);
        Object b = model.allocate(6 * MIB, true);
        Object c = model.allocate(6 * MIB, true);
        model.free(a);
        model.free(c);
        assertThat(model.largestHoleBytes()).isEqualTo(8 * MIB);
        model.free(b);
        assertThat(model.largestHoleBytes()).isEqualTo(20 * MIB);

        model.allocate(19 * MIB, true);

        assertThat(model.reservedBytes()).isEqualTo(20 * MIB);
        // A rest of 1 MiB is not cut off the large pool.
        assertThat(model.roundedBytes()).isEqualTo(20 * MIB);
    }

    @Test
    void buddy_joinsBuddiesOnly() {
        AllocatorModel model = Allocators.create("buddy");
        List<Object> quarters = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            quarters.add(model.allocate(8 * MIB, true));
        }
        model.free(quarters.get(1));
        model.free(quarters.get(2));
        assertThat(model.largestHoleBytes()).isEqualTo(8 * MIB);
        model.free(quarters.get(3));
        assertThat(model.largestHoleBytes()).isEqualTo(16 * MIB);
        model.free(quarters.get(0));
        assertThat(model.largestHoleBytes()).isEqualTo(32 * MIB);
        assertThat(model.reservedBytes()).isEqualTo(32 * MIB);
    }

    @Test
    void bfc_doublesItsRegions() {
        AllocatorModel model = Allocators.create("bfc");
        model.allocate(2 * MIB, true);
        model.allocate(4 * MIB, true);
        model.allocate(3 * MIB, true);

        assertThat(model.reservedBytes()).isEqualTo((2 + 4 + 8) * MIB);
    }

    @Test
    void bump_setsTheArenaBack() {
        AllocatorModel model = Allocators.create("bump");
        for (int i = 0; i < 3; i++) {
            Object a = model.allocate(100, false);
            Object b = model.allocate(100, false);
            model.free(a);
            model.free(b);
            model.iterationEnded();
        }
        model.allocate(64, true);

        assertThat(model.reservedBytes()).isEqualTo(2 * 128 + 64);
    }

    @Test
    void create_ofUnknownName_saysWhichThereAre() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Allocators.create("best"))
                .withMessageContaining("allocator=best")
                .withMessageContaining("caching");
    }
}
