// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.api.MultiDataSet;

/** Of a {@link MultiDataSet}. */
final class MultiDataSetArrays implements BatchArrays<MultiDataSet> {
    @Override
    public void replace(MultiDataSet batch, UnaryOperator<INDArray> change) {
        replace(batch.getFeatures(), change);
        replace(batch.getLabels(), change);
        replace(batch.getFeaturesMaskArrays(), change);
        replace(batch.getLabelsMaskArrays(), change);
    }

    /** In place: a batch gives its own arrays of arrays. */
    private static void replace(INDArray @Nullable [] arrays, UnaryOperator<INDArray> change) {
        for (int i = 0; arrays != null && i < arrays.length; i++) {
            arrays[i] = BatchArrays.changed(arrays[i], change);
        }
    }
}
