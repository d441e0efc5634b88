// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import com.google.gson.Gson;
import com.google.gson.JsonParseException;
import io.memopt.allocator.plan.PlanOptions;
import io.memopt.allocator.reuse.ArenaPlan;
import io.memopt.allocator.reuse.PlannedArray;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Proved plans, and the sizes that passes need, kept across runs, as JSON. Only what was recorded is kept (sizes and lifetimes); offsets are planned anew, so a
 * file cannot make two arrays overlap.
 *
 * <pre>
 *   {"format": "memopt-plans", "version": 1, "networks": {IDENTITY: [{"key": .., "workspaces": [..], "arrays": [[..], ..]}, ..]},
 *    "sizes": {IDENTITY: [{"key": .., "bytes": ..}, ..]}}
 *   an array: index of its workspace, requested, rounded, birth, last use, scope end; see {@link PlannedArray}
 * </pre>
 *
 * <p>Bounded: {@value #MAX_NETWORKS} networks with the {@link LatestPasses} of each, the oldest give way.
 */
final class PlanProfile {
    static final int MAX_NETWORKS = 32;
    private static final String FORMAT = "memopt-plans";
    private static final int VERSION = 1;
    private static final int FIELDS = 6;
    private static final Gson GSON = new Gson();

    private final Map<String, List<Pass>> networks;
    private final Map<String, List<Size>> sizes;

    /** What Gson reads and writes. */
    private static final class Document {
        @Nullable
        String format;

        int version;

        @Nullable
        LinkedHashMap<String, List<Pass>> networks;

        @Nullable
        LinkedHashMap<String, List<Size>> sizes;
    }

    /** What a pass needs without a plan. */
    private static final class Size {
        @Nullable
        RegionKey key;

        long bytes;
    }

    private static final class Pass {
        @Nullable
        RegionKey key;

        @Nullable
        List<String> workspaces;

        @Nullable
        List<List<Long>> arrays;
    }

    private PlanProfile(Map<String, List<Pass>> networks, @Nullable Map<String, List<Size>> sizes) {
        this.networks = networks;
        this.sizes = sizes == null ? new LinkedHashMap<>() : sizes;
    }

    static PlanProfile empty() {
        return new PlanProfile(new LinkedHashMap<>(), null);
    }

    /** Whether it has no plan of any network. */
    boolean isEmpty() {
        return networks.isEmpty();
    }

    /**
     * Reads {@code file}.
     *
     * @throws IOException if it cannot be read or is no such file; the message says which
     */
    static PlanProfile read(Path file) throws IOException {
        Document document;
        try {
            document = GSON.fromJson(Files.readString(file), Document.class);
        } catch (JsonParseException e) {
            throw new IOException(file + " is no profile of plans: " + e.getMessage(), e);
        }
        if (document == null || !FORMAT.equals(document.format) || document.networks == null) {
            throw new IOException(file + " is no profile of plans: its format is "
                    + (document == null ? null : document.format) + ", expected " + FORMAT);
        }
        if (document.version != VERSION) {
            throw new IOException(file + " has version " + document.version + ", expected " + VERSION);
        }
        return new PlanProfile(document.networks, document.sizes);
    }

    /** Writes to {@code file}, in one step: a reader sees the old or the new content. */
    void write(Path file) throws IOException {
        Document document = new Document();
        document.format = FORMAT;
        document.version = VERSION;
        document.networks = new LinkedHashMap<>(networks);
        document.sizes = new LinkedHashMap<>(sizes);
        WholeFile.write(file, GSON.toJson(document));
    }

    /** Remembers the proved plans of a network; those remembered of it before are forgotten. */
    void put(String identity, List<PlannedRegion> regions) {
        List<Pass> passes = new ArrayList<>();
        for (PlannedRegion region : regions) {
            ArenaPlan plan = region.plan();
            if (plan != null && region.stage() == PlannedRegion.Stage.TRUSTED && !region.isDerived()) {
                passes.add(pass(region.key(), plan));
            }
        }
        if (!passes.isEmpty()) {
            put(networks, identity, passes);
        }
    }

    private static <T> void put(Map<String, T> newest, String identity, T value) {
        newest.remove(identity);
        newest.put(identity, value);
        while (newest.size() > MAX_NETWORKS) {
            newest.remove(newest.keySet().iterator().next());
        }
    }

    /** Remembers what passes needed lately; what was remembered of the same networks before is forgotten. */
    void putSizes(SizeBook book) {
        book.forEach((identity, needs) -> {
            List<Size> recent = new ArrayList<>();
            needs.forEach((key, bytes) -> {
                Size size = new Size();
                size.key = key;
                size.bytes = bytes;
                recent.add(size);
            });
            if (!recent.isEmpty()) {
                put(sizes, identity, recent);
            }
        });
    }

    /** Enters what is remembered into {@code book}; what makes no sense is left out. */
    void sizesTo(SizeBook book) {
        sizes.forEach((identity, remembered) -> {
            for (Size size : remembered) {
                RegionKey key = size.key;
                if (key != null && key.isWhole() && size.bytes >= 0) {
                    book.of(identity).needed(key, size.bytes);
                }
            }
        });
    }

    /**
     * The plans remembered of a network, each planned anew; what makes no sense is left out.
     *
     * @param options for each plan
     */
    Map<RegionKey, ArenaPlan> plans(String identity, PlanOptions options) {
        LatestPasses<ArenaPlan> plans = new LatestPasses<>(ArenaPlan::size);
        for (Pass pass : networks.getOrDefault(identity, List.of())) {
            RegionKey key = pass.key;
            if (key != null) {
                plan(pass, options).ifPresent(plan -> plans.put(key, plan));
            }
        }
        return plans.copy();
    }

    private static Optional<ArenaPlan> plan(Pass pass, PlanOptions options) {
        List<String> workspaces = pass.workspaces;
        List<List<Long>> rows = pass.arrays;
        if (workspaces == null || rows == null) {
            return Optional.empty();
        }
        try {
            List<PlannedArray> arrays = new ArrayList<>(rows.size());
            for (List<Long> row : rows) {
                arrays.add(array(workspaces, row));
            }
            return Optional.of(ArenaPlan.of(arrays, options));
        } catch (IllegalArgumentException | IndexOutOfBoundsException | ArithmeticException e) {
            return Optional.empty();
        }
    }

    private static PlannedArray array(List<String> workspaces, List<Long> row) {
        if (row.size() != FIELDS) {
            throw new IllegalArgumentException(row.size() + " fields, expected " + FIELDS);
        }
        return new PlannedArray(
                workspaces.get(Math.toIntExact(row.get(0))),
                row.get(1),
                row.get(2),
                Math.toIntExact(row.get(3)),
                Math.toIntExact(row.get(4)),
                Math.toIntExact(row.get(5)));
    }

    private static Pass pass(RegionKey key, ArenaPlan plan) {
        List<String> workspaces =
                plan.arrays().stream().map(PlannedArray::workspace).distinct().toList();
        Pass pass = new Pass();
        pass.key = key;
        pass.workspaces = workspaces;
        pass.arrays = plan.arrays().stream()
                .map(array -> List.of(
                        (long) workspaces.indexOf(array.workspace()),
                        array.requestedBytes(),
                        array.roundedBytes(),
                        (long) array.birth(),
                        (long) array.lastUse(),
                        (long) array.scopeEnd()))
                .toList();
        return pass;
    }
}
