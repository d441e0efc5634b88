// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

import java.util.List;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.nd4j.linalg.api.buffer.DataType;

/** The places of a configuration and the order in which training visits them. */
interface Layout {

    /** Writes one training iteration. */
    List<Step> steps(StepWriter writer);

    List<InputType> outputs();

    List<Layer> layers();

    NetworkBytes bytes();

    DataType type();

    boolean usesWorkspaces();

    /** Scopes after which the workspace of working memory is made. */
    int workingScopes();

    /** Scopes after which a workspace of gradients is made. */
    int gradientScopes();
}
