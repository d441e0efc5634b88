// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.step;

import java.lang.reflect.Field;
import java.util.List;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.UpdaterBlock;

/**
 * Lets a network's updater use the views of parameters and gradients that it made when it was created. Deeplearning4j 1.0.0-M2.1
 * makes them anew in each step, some six for each layer: it asks whether the gradient comes from another network by comparing
 * objects, of which one is a view made for the question. Same memory, same operations, same bits.
 *
 * <p>An updater that the network gets later ({@code setUpdater}, {@code init}) has none of this until {@link #use} is called again.
 * Threading: not while another thread trains the network.
 */
public final class OwnViews {
    private static final Field GRADIENT_UPDATER = field();

    private OwnViews() {}

    /**
     * Begins; does nothing where it has begun.
     *
     * @param model an initialised network; its updater is created if it has none
     * @return blocks of the updater, each of adjacent parameters that are updated alike
     */
    public static int use(Model model) {
        List<UpdaterBlock> blocks = updater(model).getUpdaterBlocks();
        blocks.replaceAll(block -> block instanceof OwnViewsBlock ? block : take(block, new OwnViewsBlock(block)));
        return blocks.size();
    }

    /** Ends what {@link #use} began; does nothing where nothing was begun. */
    public static void end(Model model) {
        updater(model)
                .getUpdaterBlocks()
                .replaceAll(block -> block instanceof OwnViewsBlock ? take(block, plain(block)) : block);
    }

    /** Whether the updater of {@code model} uses the views that it made. */
    public static boolean areUsed(Model model) {
        return blocks(model).anyMatch(OwnViewsBlock.class::isInstance);
    }

    /** Whether {@code model} has an updater of Deeplearning4j's that makes its views anew. */
    static boolean isWanting(Model model) {
        return blocks(model).anyMatch(block -> block.getClass() == UpdaterBlock.class);
    }

    private static Stream<UpdaterBlock> blocks(Model model) {
        Object updater = model instanceof MultiLayerNetwork network
                ? network.getUpdater(false)
                : model instanceof ComputationGraph graph ? graph.getUpdater(false) : null;
        return updater instanceof BaseMultiLayerUpdater<?> its ? its.getUpdaterBlocks().stream() : Stream.empty();
    }

    private static BaseMultiLayerUpdater<?> updater(Model model) {
        return model instanceof MultiLayerNetwork network
                ? (BaseMultiLayerUpdater<?>) network.getUpdater(true)
                : ((ComputationGraph) model).getUpdater(true);
    }

    private static UpdaterBlock plain(UpdaterBlock block) {
        return new UpdaterBlock(
                block.getParamOffsetStart(),
                block.getParamOffsetEnd(),
                block.getUpdaterViewOffsetStart(),
                block.getUpdaterViewOffsetEnd(),
                block.getLayersAndVariablesInBlock());
    }

    /** {@code to} with the state of {@code from}. */
    private static UpdaterBlock take(UpdaterBlock from, UpdaterBlock to) {
        to.setGradientView(from.getGradientView());
        to.setUpdaterView(from.getUpdaterView());
        to.setUpdaterViewRequiresInitialization(from.isUpdaterViewRequiresInitialization());
        try {
            GRADIENT_UPDATER.set(to, GRADIENT_UPDATER.get(from));
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(GRADIENT_UPDATER + " cannot be taken over", e);
        }
        return to;
    }

    private static Field field() {
        try {
            Field field = UpdaterBlock.class.getDeclaredField("gradientUpdater");
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException("UpdaterBlock has no field gradientUpdater", e);
        }
    }
}
