// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import java.util.ArrayList;
import java.util.List;

/**
 * Writes the steps of a training iteration as Deeplearning4j would take them. Not thread-safe.
 *
 * <p>Scopes: one for all activations is open from the first layer to the score; each layer has one for its working memory; going
 * backward each has one for the gradients that it hands on, closed when those that want them have had them.
 */
final class StepWriter {
    static final String ALL = "WS_ALL_LAYERS_ACT";
    static final String WORKING = "WS_LAYER_WORKING_MEM";
    static final String LOOP = "WS_RNN_LOOP_WORKING_MEM";
    static final String GRADIENTS = "WS_LAYER_ACT_";

    private final LayerRules rules;
    private final int width;
    private final boolean scoped;
    private final List<Step> steps = new ArrayList<>();

    /**
     * An empty pass.
     *
     * @param width bytes of an element
     * @param scoped false when the network uses no workspaces
     */
    StepWriter(LayerRules rules, int width, boolean scoped) {
        this.rules = rules;
        this.width = width;
        this.scoped = scoped;
    }

    List<Step> steps() {
        return steps;
    }

    void enter(String workspace) {
        scope(Step.Op.ENTER, workspace);
    }

    void close(String workspace) {
        scope(Step.Op.CLOSE, workspace);
    }

    void forward(Place place) {
        enter(WORKING);
        write(place, Phase.FORWARD, rules.forward(place), ALL, Category.ACTIVATIONS);
        close(WORKING);
    }

    /** The part of a backward pass inside a layer's scope of gradients, without closing its working memory. */
    void backward(Place place, String gradients) {
        enter(WORKING);
        write(place, Phase.BACKWARD, rules.backward(place), gradients, Category.ACTIVATION_GRADIENTS);
    }

    void score(Place place) {
        enter(WORKING);
        write(place, Phase.SCORE, rules.score(place), ALL, Category.ACTIVATIONS);
        close(WORKING);
    }

    private void write(Place place, Phase phase, Needs needs, String home, Category category) {
        for (long elements : needs.working()) {
            array(place, phase, Category.WORKING_MEMORY, WORKING, 0, elements);
        }
        if (needs.fixed() > 0) {
            array(place, phase, Category.WORKING_MEMORY, WORKING, needs.fixed(), 0);
        }
        if (!needs.loop().isEmpty()) {
            enter(LOOP);
            for (long elements : needs.loop()) {
                array(place, phase, Category.WORKING_MEMORY, LOOP, 0, elements);
            }
            close(LOOP);
        }
        for (long elements : needs.made()) {
            array(place, phase, category, home, 0, elements);
        }
        for (long elements : needs.detached()) {
            Owner owner = new Owner("", place.name(), phase, Category.WORKING_MEMORY, "");
            steps.add(new Step(Step.Op.DETACHED, "", owner, 0, elements * width));
        }
    }

    private void array(Place place, Phase phase, Category category, String workspace, long fixed, long elements) {
        String where = scoped ? workspace : "";
        Step.Op op = scoped ? Step.Op.ARRAY : Step.Op.DETACHED;
        Owner owner = new Owner("", place.name(), phase, category, where);
        steps.add(new Step(op, where, owner, fixed * width, elements * width));
    }

    private void scope(Step.Op op, String workspace) {
        if (scoped) {
            steps.add(Step.scope(op, workspace));
        }
    }
}
