// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import java.util.List;
import java.util.stream.Stream;

/**
 * Arrays that a layer makes in one direction, in elements for each item of the batch.
 *
 * @param working forgotten when the layer is left
 * @param made outputs going forward, gradients of the inputs going backward
 * @param detached left to the garbage collector
 * @param loop made again in every step of a sequence
 * @param fixed elements of working memory whatever the batch
 */
record Needs(List<Long> working, List<Long> made, List<Long> detached, List<Long> loop, long fixed) {

    Needs {
        working = List.copyOf(working);
        made = List.copyOf(made);
        detached = List.copyOf(detached);
        loop = List.copyOf(loop);
    }

    static Needs of(List<Long> working, List<Long> made) {
        return new Needs(working, made, List.of(), List.of(), 0);
    }

    /** {@code count} arrays of the same size. */
    static List<Long> times(int count, long elements) {
        return Stream.generate(() -> elements).limit(count).toList();
    }

    /** One list after the other. */
    static List<Long> all(List<Long> first, List<Long> second) {
        return Stream.concat(first.stream(), second.stream()).toList();
    }
}
