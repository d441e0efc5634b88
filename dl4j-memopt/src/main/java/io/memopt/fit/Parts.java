// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Sums arrays by workspace and owner. */
final class Parts {
    private final List<Part> all = new ArrayList<>();

    /** The block of a workspace, told by the scope that made it as large as it is, and what spilled. */
    void workspace(String name, SimulatedWorkspace workspace) {
        if (workspace.blockBytes() > 0) {
            long arrays = arrays(name, workspace.fullestScope());
            long rest = workspace.blockBytes() - arrays;
            all.add(new Part(name, Category.OTHER, "", Phase.NONE, rest, List.of()));
        }
        arrays(name, workspace.spilledArrays());
    }

    /** Returns the sum. */
    long arrays(String workspace, List<SimulatedWorkspace.Held> arrays) {
        Map<Owner, List<Long>> byOwner = new LinkedHashMap<>();
        for (SimulatedWorkspace.Held array : arrays) {
            byOwner.computeIfAbsent(array.owner(), owner -> new ArrayList<>()).add(array.bytes());
        }
        byOwner.forEach((owner, sizes) -> {
            sizes.sort(Comparator.reverseOrder());
            long sum = sizes.stream().mapToLong(Long::longValue).sum();
            all.add(new Part(workspace, owner.category(), owner.layer(), owner.phase(), sum, sizes));
        });
        return arrays.stream().mapToLong(SimulatedWorkspace.Held::bytes).sum();
    }

    List<Part> all() {
        return List.copyOf(all);
    }
}
