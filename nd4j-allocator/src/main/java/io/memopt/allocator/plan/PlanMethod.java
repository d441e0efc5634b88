// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

/** What can find a plan. */
public enum PlanMethod {
    /** In order of time, each buffer into the smallest hole that it fits. */
    BEST_FIT_IN_TIME,
    /** In some order of importance, each buffer at the lowest offset that is free for its whole life. */
    FIRST_FIT,
    /** From the bottom up, the most important of the buffers that can come next. */
    BOTTOM_UP,
    /** The same with steps taken back where they waste memory, small buffers into the holes afterwards. */
    STACK_SEARCH,
    /** Exact search for the buffers of the busiest times, all others around them. */
    CORE_SEARCH,
    /** Search that can also prove that there is no plan. */
    EXACT_SEARCH
}
