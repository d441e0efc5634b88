// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.event;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Numbers owners from 0. Bounded: the owner that would exceed {@link #capacity()} shares number 0 with
 * {@link Owner#UNKNOWN}, so totals stay exact and only the attribution of the excess is lost.
 *
 * <p>Threading: all methods may be called from any thread; look-ups of known owners do not lock.
 */
public final class OwnerTable {
    /** Number of {@link Owner#UNKNOWN}. */
    public static final int UNKNOWN = 0;

    /** Twenty times what zoo ResNet50 (175 vertices) needs; 64 Ki references are 256 KiB. */
    public static final int DEFAULT_CAPACITY = 1 << 16;

    private final ConcurrentHashMap<Owner, Integer> numbers = new ConcurrentHashMap<>();
    private final AtomicReferenceArray<Owner> owners;
    private int size;

    public OwnerTable() {
        this(DEFAULT_CAPACITY);
    }

    /**
     * A table for at most {@code capacity} owners.
     *
     * @param capacity at least 1
     */
    public OwnerTable(int capacity) {
        if (capacity < 1) {
            throw new IllegalArgumentException("capacity=" + capacity + ", expected at least 1");
        }
        owners = new AtomicReferenceArray<>(capacity);
        idOf(Owner.UNKNOWN);
    }

    /** The number of {@code owner}, given out on first sight. */
    public int idOf(Owner owner) {
        Integer known = numbers.get(owner);
        return known != null ? known : register(owner);
    }

    /**
     * The owner with this number.
     *
     * @throws IndexOutOfBoundsException if no owner has it
     */
    public Owner ownerOf(int id) {
        Owner owner = id < 0 || id >= owners.length() ? null : owners.get(id);
        if (owner == null) {
            throw new IndexOutOfBoundsException("owner id=" + id + ", expected 0.." + (size() - 1));
        }
        return owner;
    }

    public synchronized int size() {
        return size;
    }

    public int capacity() {
        return owners.length();
    }

    private synchronized int register(Owner owner) {
        Integer known = numbers.get(owner);
        if (known != null) {
            return known;
        }
        if (size == owners.length()) {
            return UNKNOWN;
        }
        int id = size++;
        owners.set(id, owner);
        numbers.put(owner, id);
        return id;
    }
}
