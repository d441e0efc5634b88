// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.use.ArrayUse;
import io.memopt.allocator.use.UseBook;

/** Tells of each element of one workspace array that Java code reads or writes. Threading: as the array. */
public final class ElementGuard {
    private final UseBook book;
    private final ArrayUse array;

    ElementGuard(UseBook book, ArrayUse array) {
        this.book = book;
        this.array = array;
    }

    /** Generated indexers call this before each access. Never throws. */
    public void touched() {
        try {
            book.elementUsed(array);
        } catch (RuntimeException e) {
            HookFailures.report(e);
        }
    }
}
