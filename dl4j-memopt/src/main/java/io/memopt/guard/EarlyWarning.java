// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.guard;

import io.memopt.allocator.recording.ByteSize;
import java.util.Locale;

/**
 * Memory will run out soon if things go on as they do.
 *
 * @param headroomBytes to the nearest limit
 * @param limit which that is
 * @param bytesPerIteration slope of what is held at the ends of iterations
 * @param iterationsLeft until the limit is met
 */
public record EarlyWarning(long headroomBytes, String limit, double bytesPerIteration, double iterationsLeft) {
    @Override
    public String toString() {
        return String.format(
                Locale.ROOT,
                "What is held grows by %s with each iteration; %s, %s away, will be met after about %.0f more. See who holds it:"
                        + " MemOpt.summary(), rows of detached arrays.",
                ByteSize.scaled(Math.round(bytesPerIteration)),
                limit,
                ByteSize.format(headroomBytes),
                iterationsLeft);
    }
}
