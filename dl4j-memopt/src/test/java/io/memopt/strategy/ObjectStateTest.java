// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class ObjectStateTest {

    /** Stands for a user's layer. */
    private static final class Holder {
        int count = 1;
        final List<String> names = new ArrayList<>(List.of("a"));
        final Map<String, int[]> numbers = new HashMap<>(Map.of("n", new int[] {1, 2}));
        final AtomicInteger atomic = new AtomicInteger(5);

        @Nullable
        Holder other;

        @Nullable
        INDArray state = Nd4j.ones(DataType.FLOAT, 3);
    }

    @Test
    void restore_givesBackFieldsOfAllThatIsReached() {
        Holder inner = new Holder();
        Holder holder = new Holder();
        holder.other = inner;
        inner.other = holder; // a circle
        INDArray array = inner.state;
        ObjectState state = ObjectState.of(new Object[] {holder});

        holder.count = 2;
        holder.other = null;
        inner.count = 3;
        inner.names.add("b");
        inner.numbers.get("n")[1] = 9;
        inner.numbers.put("m", new int[0]);
        inner.atomic.incrementAndGet();
        array.addi(1);
        inner.state = Nd4j.zeros(DataType.FLOAT, 1);
        state.restore();

        assertThat(holder.count).isEqualTo(1);
        assertThat(holder.other).isSameAs(inner);
        assertThat(inner.count).isEqualTo(1);
        assertThat(inner.names).containsExactly("a");
        assertThat(inner.numbers).containsOnlyKeys("n");
        assertThat(inner.numbers.get("n")).containsExactly(1, 2);
        assertThat(inner.atomic).hasValue(5);
        assertThat(inner.state).isSameAs(array);
        assertThat(array.sumNumber().intValue()).isEqualTo(3);
    }

    @Test
    void fieldThatWasNull_isNullAgain() {
        Holder holder = new Holder();
        holder.state = null;
        ObjectState state = ObjectState.of(new Object[] {holder});
        holder.state = Nd4j.ones(DataType.FLOAT, 3);
        state.restore();
        assertThat(holder.state).isNull();
    }

    @Test
    void tooManyObjects_areRefused() {
        List<Object> many = new ArrayList<>();
        for (int i = 0; i <= ObjectState.MAX_OBJECTS; i++) {
            many.add(new Object[0]);
        }
        assertThatThrownBy(() -> ObjectState.of(many.toArray()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(String.valueOf(ObjectState.MAX_OBJECTS));
    }
}
