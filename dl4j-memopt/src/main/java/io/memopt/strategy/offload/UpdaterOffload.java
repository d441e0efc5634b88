// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import io.memopt.allocator.nd4j.MappedBuffers;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.strategy.UpdaterState;
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.MultiLayerUpdater;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.deeplearning4j.nn.updater.graph.ComputationGraphUpdater;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * Keeps the state of one network's updater in a mapped file. It is used once for each update; in between its pages need no memory
 * when that is short. Exactness {@code BITWISE}: the same operations work on the same values elsewhere.
 *
 * <p>{@code getStateViewArray()} hands out the array in the file, which stays valid as long as someone holds it. Networks and
 * updaters are held weakly. Threading: the training thread.
 */
public final class UpdaterOffload implements AutoCloseable {
    private static final Field STATE = stateField();

    private final Path folder;
    private WeakReference<BaseMultiLayerUpdater<?>> updater = new WeakReference<>(null);
    private @Nullable INDArray mapped;

    /** Into files in {@code folder}, a directory that exists. */
    public UpdaterOffload(Path folder) {
        this.folder = folder;
    }

    /**
     * Moves the state of {@code its} into a file unless it is there; does nothing without state. The array that it was in is the Java
     * garbage collector's.
     *
     * @throws java.io.UncheckedIOException if no file could be made; the state stays where it is
     */
    public void place(BaseMultiLayerUpdater<?> its) {
        INDArray state = its.getStateViewArray();
        if (state != null && state != mapped) {
            INDArray copy = MappedArrays.copyOf(state, folder);
            move(its, copy);
            updater = new WeakReference<>(its);
            mapped = copy;
        }
    }

    /**
     * The updater that {@code model}, which has none yet, would make for its first update, with its state in a file from the start: at no
     * time is it in memory. Initial values are those of the updater that Deeplearning4j makes.
     *
     * @throws java.io.UncheckedIOException if no file could be made
     */
    public BaseMultiLayerUpdater<?> make(Model model) {
        long elements = UpdaterState.elements(model);
        if (elements == 0) {
            return updater(model, null);
        }
        DataBuffer file = MappedBuffers.create(model.params().dataType(), elements, folder);
        INDArray state = Nd4j.create(file, new long[] {elements});
        BaseMultiLayerUpdater<?> made = updater(model, state);
        parts(made, state, true).forEach(Runnable::run);
        updater = new WeakReference<>(made);
        mapped = state;
        return made;
    }

    private static BaseMultiLayerUpdater<?> updater(Model model, @Nullable INDArray state) {
        return model instanceof ComputationGraph graph
                ? new ComputationGraphUpdater(graph, state)
                : new MultiLayerUpdater((MultiLayerNetwork) model, state);
    }

    /**
     * A copy of {@code array}, which is dense, in a file in the same folder.
     *
     * @throws java.io.UncheckedIOException if no file could be made
     */
    public INDArray copyOf(INDArray array) {
        return MappedArrays.copyOf(array, folder);
    }

    /** Moves the state back into ordinary memory. */
    @Override
    public void close() {
        BaseMultiLayerUpdater<?> its = updater.get();
        INDArray state = mapped;
        mapped = null;
        if (its != null && state != null && its.getStateViewArray() == state) {
            try (MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                move(its, state.dup());
            }
        }
    }

    /** One sentence on what lies where. */
    public String note() {
        INDArray state = mapped;
        return "Offload: "
                + (state == null
                        ? "no updater state was moved yet."
                        : ByteSize.format(state.length() * state.dataType().width())
                                + " of updater state are in a mapped file in " + folder + ".");
    }

    private static void move(BaseMultiLayerUpdater<?> updater, INDArray state) {
        List<Runnable> handings = parts(updater, state, false);
        try {
            STATE.set(updater, state);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(STATE + " cannot be set", e);
        }
        handings.forEach(Runnable::run);
    }

    /** All parts of {@code state} are made before the first is handed out, so that a failure leaves the old state whole. */
    private static List<Runnable> parts(BaseMultiLayerUpdater<?> updater, INDArray state, boolean initialises) {
        INDArray flat = state.reshape(state.length());
        List<Runnable> handings = new ArrayList<>();
        for (UpdaterBlock block : updater.getUpdaterBlocks()) {
            long from = block.getUpdaterViewOffsetStart();
            long to = block.getUpdaterViewOffsetEnd();
            if (to > from) {
                INDArray part = flat.get(NDArrayIndex.interval(from, to));
                handings.add(() -> hand(block, part, initialises));
            }
        }
        return handings;
    }

    private static void hand(UpdaterBlock block, INDArray part, boolean initialises) {
        block.setUpdaterView(part);
        block.setUpdaterViewRequiresInitialization(initialises);
        block.setGradientUpdater(null);
        block.init();
    }

    private static Field stateField() {
        try {
            Field field = BaseMultiLayerUpdater.class.getDeclaredField("updaterStateViewArray");
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException("BaseMultiLayerUpdater has no field updaterStateViewArray", e);
        }
    }
}
