// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.MemorySpace;

/** What an entry of a {@link Journal} tells, and how its small figures share two words. */
enum Entry {
    /** Memory of its own became live; extra is the number of its site and one more, 0 for none. */
    ALLOCATED,
    /** What has the key is about to be given back. */
    FREED,
    /** What has the key is of the category, and for the network, of the owner. */
    CLASSIFIED,
    /** A view, the key, of what has the address as its key. */
    VIEWED,
    /** An array lies in a block. */
    ARRAY,
    /** An array of the cycle that is the key ended before its scope; extra is its age. */
    ARRAY_RELEASED,
    /** All arrays of a block ended, of the cycle that is the key. */
    ARRAYS_RELEASED,
    /** A scope was opened anew; the key is its generation. */
    SCOPE_ENTERED,
    /** Bytes went to the address, from the key; extra is the time it took. */
    TRANSFERRED,
    /** Nothing changes; the code of the event stands where rounded bytes would. */
    EVENT;

    private static final int KIND = 8;
    private static final int SPACE = 16;
    private static final int ELEMENT = 24;
    private static final int HIGH = 32;
    private static final int BYTE = 0xff;

    /** The details of an entry; owner is the thread's context where a workspace makes it one, else a number of the owner table. */
    long details(int owner) {
        return (long) owner << HIGH | ordinal();
    }

    long details(int owner, MemorySpace space) {
        return details(owner) | (long) space.ordinal() << SPACE;
    }

    /** {@code elementBytes} is at most 255. */
    long details(int owner, AllocationKind kind, MemorySpace space, int elementBytes) {
        return details(owner, space) | (long) kind.ordinal() << KIND | (long) elementBytes << ELEMENT;
    }

    /** {@code kind} is the ordinal of any enum. */
    long details(int owner, int kind) {
        return details(owner) | (long) kind << KIND;
    }

    /** Where an entry was made; iterations are Java ints in Deeplearning4j. */
    static long where(int workspace, long iteration) {
        return iteration << HIGH | (workspace & 0xffff_ffffL);
    }

    static int ordinal(long details) {
        return (int) details & BYTE;
    }

    static int kind(long details) {
        return (int) (details >>> KIND) & BYTE;
    }

    static int space(long details) {
        return (int) (details >>> SPACE) & BYTE;
    }

    static int elementBytes(long details) {
        return (int) (details >>> ELEMENT) & BYTE;
    }

    static int owner(long details) {
        return (int) (details >>> HIGH);
    }

    static int workspace(long where) {
        return (int) where;
    }

    static long iteration(long where) {
        return where >> HIGH;
    }
}
