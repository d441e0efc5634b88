// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class ConstantFieldTest {
    /** Not a compile-time constant: the compiler would put its value everywhere. */
    private static final Object FIELD = new AtomicInteger(1);

    @Test
    void set_ofStaticFinalField_isRead() throws ReflectiveOperationException {
        Object after = new AtomicInteger(2);

        ConstantField.set(ConstantFieldTest.class.getDeclaredField("FIELD"), after);

        assertThat(FIELD).isSameAs(after);
    }
}
