// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

import java.util.function.UnaryOperator;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/** Of a {@link DataSet}. */
final class DataSetArrays implements BatchArrays<DataSet> {
    @Override
    public void replace(DataSet batch, UnaryOperator<INDArray> change) {
        batch.setFeatures(BatchArrays.changed(batch.getFeatures(), change));
        batch.setLabels(BatchArrays.changed(batch.getLabels(), change));
        batch.setFeaturesMaskArray(BatchArrays.changed(batch.getFeaturesMaskArray(), change));
        batch.setLabelsMaskArray(BatchArrays.changed(batch.getLabelsMaskArray(), change));
    }
}
