// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.LiveAllocation;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.listeners.training.MemoryListener;
import io.memopt.listeners.training.Trackers;
import io.memopt.listeners.training.TrainingTracker;
import io.memopt.strategy.NetworkAccess;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.TrainingListener;

/** A network that is observed until this is closed; whoever observes it already is left alone. */
final class ObservedNetwork implements AutoCloseable {
    private static final Set<Category> FLAT =
            EnumSet.of(Category.PARAMETERS, Category.GRADIENTS, Category.UPDATER_STATE);

    private final boolean hooksWereIn = MemoryHooks.installed();
    private final Model model;
    private final TrainingTracker tracker;
    private final boolean ours;
    private final String name;

    /** Throws {@code HookException} when ND4J cannot be observed. */
    ObservedNetwork(Model model) {
        this.model = model;
        this.tracker = Trackers.current();
        this.name = tracker.track(model);
        this.ours = NetworkAccess.listeners(model).stream().noneMatch(MemoryListener.class::isInstance);
        if (ours) {
            List<TrainingListener> more = new ArrayList<>(NetworkAccess.listeners(model));
            more.add(new MemoryListener(tracker));
            model.setListeners(more.toArray(TrainingListener[]::new));
        }
    }

    String name() {
        return name;
    }

    MemoryLedger ledger() {
        return tracker.recording().ledger();
    }

    /** Bytes of parameters, gradients and updater state that exist now. */
    long flatBytes(MemorySpace space) {
        long bytes = 0;
        for (LiveAllocation allocation : ledger().liveAllocations()) {
            Owner owner = ledger().owners().ownerOf(allocation.owner());
            boolean flat = owner.network().equals(name) && FLAT.contains(owner.category());
            bytes += flat && allocation.space() == space ? allocation.roundedBytes() : 0;
        }
        return bytes;
    }

    @Override
    public void close() {
        if (ours) {
            List<TrainingListener> others = new ArrayList<>(NetworkAccess.listeners(model));
            others.removeIf(MemoryListener.class::isInstance);
            model.setListeners(others.toArray(TrainingListener[]::new));
            tracker.untrack(model);
        }
        if (!hooksWereIn && tracker.networks().isEmpty()) {
            tracker.close();
            MemoryHooks.uninstall();
        }
    }
}
