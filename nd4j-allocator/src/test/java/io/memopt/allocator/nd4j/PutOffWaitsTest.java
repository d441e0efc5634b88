// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;
import org.nd4j.nativeblas.NativeOps;

/** Which waits reach the driver. */
class PutOffWaitsTest {
    private static final Pointer OPERATIONS = new PagedPointer(17);
    private static final Pointer COPIES = new PagedPointer(23);

    private final List<Long> driver = new ArrayList<>();
    private final NativeOps ops = (NativeOps) Proxy.newProxyInstance(
            PutOffWaitsTest.class.getClassLoader(), new Class<?>[] {NativeOps.class}, (self, method, arguments) -> {
                assertThat(method.getName()).isEqualTo("streamSynchronize");
                driver.add(((Pointer) arguments[0]).address());
                return 1;
            });
    private final PutOffWaits waits = new PutOffWaits(() -> OPERATIONS);

    /** As ND4J's executioner does when a workspace is left. */
    private void commit() {
        waitFor(new PagedPointer(OPERATIONS.address()));
        waitFor(COPIES);
    }

    private void waitFor(Pointer stream) {
        if (!waits.takes(stream)) {
            ops.streamSynchronize(stream);
        }
    }

    @Test
    void waitForOperations_whileAnInnerWorkspaceIsLeft_isPutOff() {
        waits.during(this::commit);

        assertThat(driver).containsExactly(COPIES.address());
    }

    @Test
    void waitForOperations_atAnyOtherTime_isMade() {
        waits.during(this::commit);
        driver.clear();

        commit();
        waits.pay(ops, COPIES);

        assertThat(driver).as("nothing is owed any more").containsExactly(OPERATIONS.address(), COPIES.address());
    }

    @Test
    void pay_beforeSomethingOnAnotherStream_waitsOnce() {
        waits.during(this::commit);
        driver.clear();

        waits.pay(ops, COPIES);
        waits.pay(ops, null);

        assertThat(driver).containsExactly(OPERATIONS.address());
    }

    @Test
    void pay_beforeSomethingOnTheSameStream_doesNotWait() {
        waits.during(this::commit);
        driver.clear();

        waits.pay(ops, new PagedPointer(OPERATIONS.address()));

        assertThat(driver).isEmpty();
        waits.pay(ops, null);
        assertThat(driver).as("still owed").containsExactly(OPERATIONS.address());
    }

    @Test
    void during_whatFails_putsOffNothingLater() {
        assertThatThrownBy(() -> waits.during(() -> {
                    throw new IllegalStateException("larger block refused");
                }))
                .isInstanceOf(IllegalStateException.class);

        commit();

        assertThat(driver).containsExactly(OPERATIONS.address(), COPIES.address());
    }

    @Test
    void takes_noStream_isTheDriversToAnswer() {
        waits.during(() -> assertThat(waits.takes(null)).isFalse());
    }
}
