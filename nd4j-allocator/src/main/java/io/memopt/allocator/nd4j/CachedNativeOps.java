// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOps;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * ND4J asks its holder for the native calls wherever it allocates, but its executioner, BLAS levels, random generator and
 * (on CUDA) transfer code keep a copy of the reference. This exchanges those copies, found by value, so that a late
 * installation also sees transfers and operations, and a removal leaves no trace. The copy that CUDA contexts wait for their
 * streams with is a constant: code that was compiled before a late installation goes on without being seen.
 */
final class CachedNativeOps {
    private static final Logger log = LoggerFactory.getLogger(CachedNativeOps.class);
    private static final String CUDA_ALLOCATOR = "org.nd4j.jita.allocator.impl.AtomicAllocator";

    private CachedNativeOps() {}

    /** Replaces {@code from} by {@code to} in all known holders; returns how many fields were changed. */
    static int exchange(NativeOps from, NativeOps to) {
        int changed = 0;
        for (Object holder : holders()) {
            for (Class<?> type = holder.getClass(); type != null && type != Object.class; type = type.getSuperclass()) {
                for (Field field : type.getDeclaredFields()) {
                    changed += exchange(field, holder, from, to) ? 1 : 0;
                }
            }
        }
        return changed;
    }

    private static boolean exchange(Field field, Object holder, NativeOps from, NativeOps to) {
        if (!field.getType().isAssignableFrom(NativeOps.class) && !NativeOps.class.isAssignableFrom(field.getType())) {
            return false;
        }
        boolean constant = Modifier.isStatic(field.getModifiers()) && Modifier.isFinal(field.getModifiers());
        try {
            field.setAccessible(true);
            Object owner = Modifier.isStatic(field.getModifiers()) ? null : holder;
            if (field.get(owner) != from || !field.getType().isInstance(to)) {
                return false;
            }
            if (constant) {
                ConstantField.set(field, to);
            } else {
                field.set(owner, to);
            }
            return true;
        } catch (ReflectiveOperationException | RuntimeException e) {
            log.debug("Native calls through {}.{} are not seen: {}", holder.getClass(), field.getName(), e.toString());
            return false;
        }
    }

    private static List<Object> holders() {
        List<Object> holders = new ArrayList<>();
        add(holders, Nd4j.getExecutioner());
        add(holders, Nd4j.getExecutioner().getTADManager());
        add(holders, Nd4j.factory());
        add(holders, Nd4j.getRandom());
        add(holders, Nd4j.getBlasWrapper().level1());
        add(holders, Nd4j.getBlasWrapper().level2());
        add(holders, Nd4j.getBlasWrapper().level3());
        add(holders, Nd4j.getBlasWrapper().lapack());
        addCudaHolders(holders);
        return holders;
    }

    private static void addCudaHolders(List<Object> holders) {
        if (!Nd4jFacts.isCuda()) {
            return;
        }
        try {
            Class<?> type = Class.forName(CUDA_ALLOCATOR, false, Nd4j.class.getClassLoader());
            Object allocator = type.getMethod("getInstance").invoke(null);
            add(holders, type.getMethod("getMemoryHandler").invoke(allocator));
            add(holders, type.getMethod("getFlowController").invoke(allocator));
            add(holders, type.getMethod("getDeviceContext").invoke(allocator));
        } catch (ReflectiveOperationException e) {
            log.debug("CUDA transfers are not seen: {}", e.toString());
        }
    }

    private static void add(List<Object> holders, @Nullable Object holder) {
        if (holder != null) {
            holders.add(holder);
        }
    }
}
