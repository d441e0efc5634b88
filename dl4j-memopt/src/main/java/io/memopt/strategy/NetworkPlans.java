// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.allocator.nd4j.WorkspaceReuse;
import io.memopt.allocator.plan.PlanOptions;
import io.memopt.allocator.reuse.ArenaPlan;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;

/** The plans of each network on one thread. Networks are held weakly; of each the {@link LatestPasses}. */
final class NetworkPlans {
    /** A batch of one takes other ways through some layers. */
    static final int MIN_BATCH = 2;

    private final List<Plans> all = new ArrayList<>();
    private final Function<Model, Map<RegionKey, ArenaPlan>> memory;
    private final boolean provesAll;

    /** Plans of one network. */
    static final class Plans {
        private final WeakReference<Model> model;
        private final boolean provesAll;
        private final LatestPasses<PlannedRegion> regions = new LatestPasses<>(PlannedRegion::arrays);

        private Plans(Model model, boolean provesAll) {
            this.model = new WeakReference<>(model);
            this.provesAll = provesAll;
        }

        synchronized void remember(Map<RegionKey, ArenaPlan> plans) {
            plans.forEach((key, plan) -> {
                PlannedRegion region = new PlannedRegion(key, provesAll && key.isTraining());
                region.remembered(plan);
                regions.put(key, region);
            });
        }

        synchronized PlannedRegion region(RegionKey key) {
            return regions.computeIfAbsent(key, fresh -> new PlannedRegion(fresh, provesAll && fresh.isTraining()));
        }

        /** The plan for {@code key} that follows from those of two other batches; null when there are no such. */
        synchronized @Nullable ArenaPlan derive(RegionKey key, PlanOptions options) {
            List<PlannedRegion> kin = regions.values().stream()
                    .filter(region -> region.stage() == PlannedRegion.Stage.TRUSTED
                            && region.key().batch() >= MIN_BATCH
                            && region.key().isKin(key))
                    .limit(2)
                    .toList();
            ArenaPlan one = kin.size() < 2 ? null : kin.get(0).plan();
            ArenaPlan other = kin.size() < 2 ? null : kin.get(1).plan();
            if (one == null || other == null || key.batch() < MIN_BATCH) {
                return null;
            }
            return one.extrapolate(
                            kin.get(0).key().batch(),
                            other,
                            kin.get(1).key().batch(),
                            key.batch(),
                            WorkspaceReuse::roundedBytes,
                            options)
                    .orElse(null);
        }

        /** Whether there is a plan for passes alike {@code awaited}, or follows from those of two other batches. */
        synchronized boolean tell(RegionKey awaited) {
            List<PlannedRegion> alike = regions.values().stream()
                    .filter(region -> region.key().isAlike(awaited))
                    .toList();
            boolean itself =
                    alike.stream().anyMatch(region -> region.key().batch() == awaited.batch() && region.plan() != null);
            long kin = alike.stream()
                    .filter(region -> region.stage() == PlannedRegion.Stage.TRUSTED
                            && region.key().batch() >= MIN_BATCH)
                    .count();
            return itself || (kin >= 2 && awaited.batch() >= MIN_BATCH);
        }

        /** Bytes of the arena that training with {@code batch} examples takes; empty when no two plans tell. */
        synchronized OptionalLong arenaBytes(int batch, PlanOptions options) {
            List<PlannedRegion> trusted = regions.values().stream()
                    .filter(region -> region.stage() == PlannedRegion.Stage.TRUSTED
                            && region.key().isTraining()
                            && region.key().batch() >= MIN_BATCH)
                    .toList();
            for (PlannedRegion one : trusted) {
                for (PlannedRegion other : trusted) {
                    ArenaPlan first = one.plan();
                    ArenaPlan second = other.plan();
                    boolean differ = one.key().batch() != other.key().batch()
                            && one.key().isKin(other.key());
                    if (differ && first != null && second != null) {
                        return first.extrapolate(
                                        one.key().batch(),
                                        second,
                                        other.key().batch(),
                                        batch,
                                        WorkspaceReuse::roundedBytes,
                                        options)
                                .map(plan -> OptionalLong.of(plan.height()))
                                .orElseGet(OptionalLong::empty);
                    }
                }
            }
            return OptionalLong.empty();
        }

        synchronized Collection<PlannedRegion> regions() {
            return List.copyOf(regions.values());
        }
    }

    /**
     * As {@code memory}, which is asked once for each network.
     *
     * @param provesAll whether plans of training that are remembered, or follow from others, are proved before they serve
     */
    NetworkPlans(Function<Model, Map<RegionKey, ArenaPlan>> memory, boolean provesAll) {
        this.memory = memory;
        this.provesAll = provesAll;
    }

    /** The plans of {@code model}; of those remembered when it is new here. */
    synchronized Plans of(Model model) {
        for (Iterator<Plans> each = all.iterator(); each.hasNext(); ) {
            Plans plans = each.next();
            if (plans.model.refersTo(model)) {
                return plans;
            }
            if (plans.model.refersTo(null)) {
                each.remove();
            }
        }
        Plans fresh = new Plans(model, provesAll);
        fresh.remember(memory.apply(model));
        all.add(fresh);
        return fresh;
    }

    /** Hands each network that still exists and its plans to {@code action}. */
    synchronized void forEach(BiConsumer<Model, List<PlannedRegion>> action) {
        for (Plans plans : all) {
            Model model = plans.model.get();
            if (model != null) {
                action.accept(model, List.copyOf(plans.regions()));
            }
        }
    }

    /** All plans, of all networks that still exist. */
    synchronized List<PlannedRegion> regions() {
        all.removeIf(plans -> plans.model.refersTo(null));
        List<PlannedRegion> regions = new ArrayList<>();
        all.forEach(plans -> regions.addAll(plans.regions()));
        return regions;
    }
}
