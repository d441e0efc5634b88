// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.allocator.event.Count;
import io.memopt.allocator.event.ExtraPass;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.nd4j.ArenaFigures;
import io.memopt.allocator.nd4j.ArenaOptions;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.nd4j.RegionPolicy;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.allocator.recording.ThreadContext;
import io.memopt.allocator.reuse.ArenaPlan;
import io.memopt.allocator.reuse.PlanCursor;
import io.memopt.listeners.training.TrainingTracker;
import java.nio.file.Path;
import java.util.function.IntConsumer;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.dataset.api.MultiDataSet;

/**
 * Has the workspaces of networks share one arena for each thread, as large as the passes of its networks were seen to need. Makes
 * no plan and proves none: every array keeps its bytes until its scope ends, as ND4J promises; only where it lies is different.
 * Nothing spills and nothing is allocated anew once sizes are known, from earlier passes, a rehearsal or another run.
 *
 * <p>Exactness {@code BITWISE}. Threading: safe. Memory: the arenas.
 */
public final class SizedReuse implements RegionPolicy, AutoCloseable {
    private final TrainingTracker tracker;
    private final ProfileFile file;
    private final SizeBook sizes;
    private final ArenaFigures figures;
    private final ThreadLocal<PassRoom> rooms = ThreadLocal.withInitial(PassRoom::new);

    private SizedReuse(TrainingTracker tracker, @Nullable Path path, ArenaOptions options) {
        this.tracker = tracker;
        this.file = ProfileFile.open(path);
        this.sizes = new SizeBook(options.trimAfter());
        file.profile().sizesTo(sizes);
        this.figures = MemoryHooks.reuse(this, options).figures();
    }

    /**
     * Begins for all networks of the process, with sizes kept for those that {@code tracker} observes.
     *
     * @param file remembers sizes across runs; read now if it exists, written by {@link #close}; null for none
     * @throws io.memopt.allocator.nd4j.HookException if workspaces cannot be served
     */
    public static SizedReuse begin(TrainingTracker tracker, @Nullable Path file, ArenaOptions options) {
        return new SizedReuse(tracker, file, options);
    }

    /** ND4J serves everything again. */
    @Override
    public void close() {
        MemoryHooks.stopReuse();
        file.save(profile -> profile.putSizes(sizes));
    }

    /**
     * Computes gradients of a few examples on the calling thread, so that sizes for all batches follow. The network is afterwards
     * what it was, bit for bit.
     *
     * @param sample minibatch of at least three examples, as training will have it
     * @throws IllegalArgumentException if there are fewer, or the network is trained by truncated backpropagation through time
     */
    public void rehearse(Model model, MultiDataSet sample) {
        Rehearsal.of(model, sample, this::rehearsed);
    }

    /** As {@link #rehearse} with the minibatch that {@code model} holds; {@code give} hands so many of its examples to it. */
    public void rehearseHeld(Model model, IntConsumer give) {
        Rehearsal.held(model, give, this::rehearsed);
    }

    private void rehearsed(Model model) {
        tracker.extraPass(model, ExtraPass.REHEARSED);
    }

    /** What arenas did so far. */
    public ArenaFigures figures() {
        return figures;
    }

    /** One sentence on what arenas have done. */
    public String note() {
        return "Sized workspaces: " + Count.of(figures.sizedRegions(), "pass") + " in arenas. " + text(figures);
    }

    /** Resizes, trims and bytes left outside. */
    static String text(ArenaFigures figures) {
        return "Without a plan " + ByteSize.format(figures.outsideBytes())
                + " of arrays found no room, arenas were resized "
                + Count.times(figures.resizes()) + ", " + ByteSize.format(figures.trimmedBytes())
                + " were given back after passes that did not need them, " + ByteSize.format(figures.idleBytes())
                + " of idle threads.";
    }

    @Override
    public @Nullable ArenaPlan planFor(String outermost, String workspace, long roundedBytes) {
        Model model = tracker.currentModel();
        rooms.get().begin(sizes.of(model), RegionKey.of(model, outermost, asker(tracker), workspace, roundedBytes));
        return null;
    }

    /** Phase and layer of the calling thread: a pass that keeps no activations is one for each layer. */
    static String asker(TrainingTracker tracker) {
        OwnerTable owners = tracker.recording().ledger().owners();
        Owner owner = owners.ownerOf(ThreadContext.current().owner(owners));
        return owner.phase() + ":" + owner.layer();
    }

    @Override
    public long roomBytes() {
        return rooms.get().bytes();
    }

    @Override
    public void regionSized(long neededBytes) {
        rooms.get().needed(neededBytes);
    }

    @Override
    public void regionClosed(@Nullable PlanCursor cursor) {}

    @Override
    public void arenaRefused(long bytes) {}
}
