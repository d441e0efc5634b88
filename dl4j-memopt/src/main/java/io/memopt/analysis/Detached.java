// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.Owner;
import java.util.EnumSet;
import java.util.Set;

/** Which arrays only {@code close()} or the Java garbage collector frees. */
final class Detached {
    /** What belongs to a network, or to who feeds it, as long as that lives. */
    private static final Set<Category> KEPT = EnumSet.of(
            Category.PARAMETERS, Category.GRADIENTS, Category.UPDATER_STATE, Category.INPUT, Category.CONSTANTS);

    private Detached() {}

    /** True for a detached array that is no part of a network. */
    static boolean isLoose(AllocationKind kind, Owner owner) {
        return kind == AllocationKind.DETACHED && !KEPT.contains(owner.category());
    }

    /** True for a result of a forward pass outside training, unless its origin says otherwise, see {@link Residues}. */
    static boolean isResult(AllocationKind kind, Owner owner) {
        return isLoose(kind, owner) && ThreadBook.isPass(owner.phase());
    }

    /** True for what a layer detached while training; nothing outside the iteration has a use for it. */
    static boolean isTrainingScratch(AllocationKind kind, Owner owner) {
        return isLoose(kind, owner)
                && switch (owner.phase()) {
                    case FORWARD, BACKWARD, SCORE, UPDATE -> true;
                    case NONE, INFERENCE, EVALUATION, OTHER -> false;
                };
    }
}
