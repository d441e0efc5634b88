// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import io.memopt.allocator.nd4j.MappedBuffers;
import io.memopt.allocator.nd4j.PinnedBuffers;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.strategy.UpdaterState;
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
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
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * Keeps the state of one network's updater where {@link Offload} says. It is used once for each update. In a mapped file its pages need
 * no memory in between when that is short; on the host of a device it comes for the update part by part, see {@link StagedState}.
 * Exactness {@code BITWISE}: the same operations work on the same values elsewhere. On the host, what a listener writes into the state
 * while gradients are computed is lost for the parts that are on their way already.
 *
 * <p>{@code getStateViewArray()} hands out the array there, which stays valid as long as someone holds it. Networks and
 * updaters are held weakly. Threading: the training thread.
 */
public final class UpdaterOffload implements AutoCloseable {
    private static final Field STATE = stateField();

    private final Offload where;
    private WeakReference<BaseMultiLayerUpdater<?>> updater = new WeakReference<>(null);
    private @Nullable INDArray placed;
    private @Nullable StagedState staged;

    public UpdaterOffload(Offload where) {
        this.where = where;
    }

    /**
     * Bytes of the device that updates need for parts of a state of {@code stateBytes}; 0 for a state in a file, which operations work
     * on where it is.
     */
    public static long stagingBytes(Offload where, long stateBytes) {
        return where.folder().isPresent() ? 0 : StagedState.stagingBytes(stateBytes);
    }

    /**
     * Moves the state of {@code its} unless it is there; does nothing without state. The array that it was in is the Java garbage
     * collector's.
     *
     * @throws java.io.UncheckedIOException if no file could be made; the state stays where it is
     * @throws IllegalStateException if there is no page-locked memory; likewise
     */
    public void place(BaseMultiLayerUpdater<?> its) {
        INDArray state = its.getStateViewArray();
        if (state != null && state != placed) {
            INDArray copy = copyOf(state);
            move(its, copy);
            keep(its, copy);
        }
    }

    /**
     * The updater that {@code model}, which has none yet, would make for its first update, with its state where it is to be from the
     * start. Initial values are those of the updater that Deeplearning4j makes.
     *
     * @throws java.io.UncheckedIOException if no file could be made
     * @throws IllegalStateException if there is no page-locked memory
     */
    public BaseMultiLayerUpdater<?> make(Model model) {
        long elements = UpdaterState.elements(model);
        if (elements == 0) {
            return updater(model, null);
        }
        INDArray state = Nd4j.create(room(model.params().dataType(), elements), new long[] {elements});
        BaseMultiLayerUpdater<?> made = updater(model, state);
        parts(made, state, true).forEach(Runnable::run);
        keep(made, state);
        return made;
    }

    /** An iteration begins: what its update needs first comes while its passes are computed. */
    public void begin() {
        if (staged != null) {
            staged.begin();
        }
    }

    /** An update is over, or has failed: whoever reads the state now reads what it was left as. */
    public void end() {
        if (staged != null) {
            staged.end();
        }
    }

    private DataBuffer room(DataType type, long elements) {
        return where.folder()
                .map(folder -> MappedBuffers.create(type, elements, folder))
                .orElseGet(() -> PinnedBuffers.create(type, elements));
    }

    private void keep(BaseMultiLayerUpdater<?> its, INDArray state) {
        closeStaged();
        updater = new WeakReference<>(its);
        placed = state;
        if (where.folder().isEmpty()) {
            stage(its, state.reshape(state.length()));
        }
    }

    private void stage(BaseMultiLayerUpdater<?> its, INDArray state) {
        StagedState made = new StagedState(DeviceCopies.lanes(), state);
        for (UpdaterBlock block : its.getUpdaterBlocks()) {
            long from = block.getUpdaterViewOffsetStart();
            long elements = block.getUpdaterViewOffsetEnd() - from;
            long parameters = (long) block.getParamOffsetEnd() - block.getParamOffsetStart();
            if (elements > 0
                    && elements % parameters == 0
                    && StagedState.isByElement(block.getGradientUpdater().getConfig())) {
                block.setGradientUpdater(made.staged(block.getGradientUpdater(), from, elements, parameters));
            }
        }
        staged = made;
    }

    private void closeStaged() {
        StagedState old = staged;
        staged = null;
        if (old != null) {
            old.close();
        }
    }

    private static BaseMultiLayerUpdater<?> updater(Model model, @Nullable INDArray state) {
        return model instanceof ComputationGraph graph
                ? new ComputationGraphUpdater(graph, state)
                : new MultiLayerUpdater((MultiLayerNetwork) model, state);
    }

    /**
     * A copy of {@code array}, which is dense, where the state lies too.
     *
     * @throws java.io.UncheckedIOException if no file could be made
     * @throws IllegalStateException if there is no page-locked memory
     */
    public INDArray copyOf(INDArray array) {
        return DenseCopies.copyInto(room(array.dataType(), array.length()), array);
    }

    /** Moves the state back into ordinary memory. */
    @Override
    public void close() {
        closeStaged();
        BaseMultiLayerUpdater<?> its = updater.get();
        INDArray state = placed;
        placed = null;
        if (its != null && state != null && its.getStateViewArray() == state) {
            try (MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                move(its, state.dup());
            }
        }
    }

    /** One sentence on what lies where. */
    public String note() {
        INDArray state = placed;
        if (state == null) {
            return "Offload: no updater state was moved yet.";
        }
        String bytes = ByteSize.format(state.length() * state.dataType().width());
        return where.folder()
                .map(folder -> "Offload: " + bytes + " of updater state are in a mapped file in " + folder + ".")
                .orElseGet(() -> "Offload: " + bytes + " of updater state lie on the host, and are updated in "
                        + ByteSize.format(stagingBytes(
                                where, state.length() * state.dataType().width()))
                        + " of the device.");
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
