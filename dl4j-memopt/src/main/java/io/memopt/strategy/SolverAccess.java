// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import java.lang.reflect.Field;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.Solver;
import org.deeplearning4j.optimize.api.ConvexOptimizer;
import org.jspecify.annotations.Nullable;

/** The solver of a network and the optimizer in it, which Deeplearning4j makes when training begins and drops in {@code clear()}. */
public final class SolverAccess {
    private static final Field OPTIMIZER = field(Solver.class, "optimizer");
    private static final Field OF_NETWORK = field(MultiLayerNetwork.class, "solver");
    private static final Field OF_GRAPH = field(ComputationGraph.class, "solver");

    private SolverAccess() {}

    /** The optimizer that the next iteration will use, as far as there is one. */
    public static @Nullable ConvexOptimizer current(Model model) {
        try {
            Object solver = solverField(model).get(model);
            return solver == null ? null : (ConvexOptimizer) OPTIMIZER.get(solver);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException("the solver of " + model.getClass() + " cannot be read", e);
        }
    }

    /** The optimizer that the next iteration will use, made as Deeplearning4j does when there is none. */
    public static ConvexOptimizer currentOrNew(Model model) {
        try {
            Field field = solverField(model);
            Solver solver = (Solver) field.get(model);
            if (solver == null) {
                solver = new Solver.Builder()
                        .configure(model.conf())
                        .listeners(NetworkAccess.listeners(model))
                        .model(model)
                        .build();
                field.set(model, solver);
            }
            solver.initOptimizer();
            return solver.getOptimizer();
        } catch (IllegalAccessException e) {
            throw new IllegalStateException("the solver of " + model.getClass() + " cannot be made", e);
        }
    }

    /** Puts {@code optimizer} into the network's solver, which must exist. */
    public static void replace(Model model, ConvexOptimizer optimizer) {
        try {
            OPTIMIZER.set(solverField(model).get(model), optimizer);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException("the solver of " + model.getClass() + " cannot be changed", e);
        }
    }

    private static Field solverField(Model model) {
        return model instanceof MultiLayerNetwork ? OF_NETWORK : OF_GRAPH;
    }

    private static Field field(Class<?> type, String name) {
        try {
            Field field = type.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException(type + " has no field " + name, e);
        }
    }
}
