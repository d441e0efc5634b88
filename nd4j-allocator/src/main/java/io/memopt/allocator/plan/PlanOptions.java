// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import java.time.Duration;
import java.util.OptionalLong;

/**
 * How much a plan may cost and what it must reach.
 *
 * @param capacity bytes that are enough: planning stops as soon as the height is not above it; absent to make the height as
 *     small as the time allows
 * @param timeout wall time after which the best plan so far is returned; a plan comes back in any case, also for zero
 * @param search whether the exact search may run for all buffers of a part after the other methods, for as long as there is time
 */
public record PlanOptions(OptionalLong capacity, Duration timeout, boolean search) {

    /** Refuses negative capacities and timeouts. */
    public PlanOptions {
        if (capacity.isPresent() && capacity.getAsLong() < 0) {
            throw new IllegalArgumentException("capacity=" + capacity.getAsLong() + ", expected 0 bytes or more");
        }
        if (timeout.isNegative()) {
            throw new IllegalArgumentException("timeout=" + timeout + ", expected zero or more");
        }
    }

    /** The smallest height that can be found within the time. */
    public static PlanOptions within(Duration timeout) {
        return new PlanOptions(OptionalLong.empty(), timeout, true);
    }

    /** Quick methods only, for plans made beside other work: no new method begins after 5 ms. */
    public static PlanOptions greedy() {
        return new PlanOptions(OptionalLong.empty(), Duration.ofMillis(5), false);
    }

    /** The same, content with a height of that many bytes. */
    public PlanOptions withCapacity(long bytes) {
        return new PlanOptions(OptionalLong.of(bytes), timeout, search);
    }
}
