// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis.replay;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** The models there are, by name. */
public final class Allocators {
    /** The recording itself; see {@link TraceReplay}. */
    public static final String RECORDED = "nd4j";

    /** Most bytes of arrays live at once: no allocator that moves nothing can hold less. */
    public static final String LOWER_BOUND = "lower-bound";

    /** Arrays of workspaces at planned offsets; see {@link PlannedArena}. */
    public static final String PLANNED = "planned";

    private static final Map<String, Supplier<AllocatorModel>> MODELS = new LinkedHashMap<>();
    private static final Map<String, String> REMARKS = new LinkedHashMap<>();

    static {
        REMARKS.put(PLANNED, "a planned arena for each thread's workspaces, the rest apart");
        add("bump", BumpModel::new, "an arena set back after each iteration; what outlives it apart");
        add("caching", CachingModel::new, "as PyTorch: best fit, 512 B, segments of 2 and 20 MiB");
        add("bfc", BfcModel::new, "as TensorFlow: best fit, 256 B, regions that double");
        add("stream-ordered", StreamOrderedModel::new, "as cudaMallocAsync; segments of 32 MiB assumed");
        add("buddy", BuddyModel::new, "powers of two from 256 B, segments of 32 MiB");
    }

    private Allocators() {}

    /** All names, those that are no models included. */
    public static List<String> names() {
        List<String> names = new java.util.ArrayList<>(List.of(LOWER_BOUND, RECORDED, PLANNED));
        names.addAll(MODELS.keySet());
        return names;
    }

    /**
     * A fresh model.
     *
     * @throws IllegalArgumentException if there is none of that name
     */
    static AllocatorModel create(String name) {
        Supplier<AllocatorModel> model = MODELS.get(name);
        if (model == null) {
            throw new IllegalArgumentException("allocator=" + name + ", expected one of " + names());
        }
        return model.get();
    }

    static String remark(String name) {
        return REMARKS.getOrDefault(name, "");
    }

    private static void add(String name, Supplier<AllocatorModel> model, String remark) {
        MODELS.put(name, model);
        REMARKS.put(name, remark);
    }
}
