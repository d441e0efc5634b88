// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.oom;

import io.memopt.allocator.recording.FailureMoment;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What is known of a failure. Bytes; absent is not known or not in force.
 *
 * @param kind what its texts say
 * @param moment the books when memory was refused
 * @param limitBytes a limit that this library was asked to hold
 * @param totalBytes memory of the machine, or of the container if that has less; of the device where arrays lie on one
 * @param availableBytes of that, what the system could still hand out
 * @param residentBytes what this process occupies of it
 * @param growth how what is held at the ends of iterations went
 */
public record Evidence(
        Exhaustion kind,
        Optional<FailureMoment> moment,
        OptionalLong limitBytes,
        OptionalLong totalBytes,
        OptionalLong availableBytes,
        OptionalLong residentBytes,
        Trend growth) {

    /**
     * How what is held at the ends of iterations went.
     *
     * @param iterations looked at
     * @param bytesPerIteration slope, robust against single iterations
     * @param grownBytes what the last has more than the first
     */
    public record Trend(int iterations, double bytesPerIteration, long grownBytes) {
        /** Nothing known. */
        public static final Trend NONE = new Trend(0, 0, 0);
    }
}
