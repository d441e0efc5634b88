// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.testing.Networks;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.dataset.adapter.MultiDataSetIteratorAdapter;
import org.nd4j.linalg.dataset.adapter.SingletonMultiDataSetIterator;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.dataset.api.iterator.MultiDataSetIterator;

/** Training from a prefetching iterator is training from its base iterator, bit for bit. */
@Timeout(300)
class PrefetchBitwiseTest {
    private static final int BATCHES = 7;
    private static final int EPOCHS = 2;

    @ParameterizedTest
    @CsvSource({"LENET,ENABLED", "LENET,NONE", "RESIDUAL_GRAPH,ENABLED", "LSTM_TEXT,ENABLED"})
    void fit_withPreProcessors_equalsTheBaseIterator(Networks family, WorkspaceMode mode) {
        Batches plain = batches(family);
        plain.setPreProcessor(batch -> batch.getFeatures().subi(0.5f).muli(1.7f));
        Batches base = batches(family);
        base.setPreProcessor(batch -> batch.getFeatures().subi(0.5f));
        try (PrefetchDataSetIterator prefetched = new PrefetchDataSetIterator(
                base, PrefetchOptions.DEFAULTS.withThreads(3).withCloseUsed(true))) {
            prefetched.setPreProcessor(batch -> batch.getFeatures().muli(1.7f));

            assertThat(state(train(family, mode, prefetched))).isEqualTo(state(train(family, mode, plain)));
            assertThat(prefetched.statistics().batches()).isEqualTo(BATCHES * EPOCHS);
        }
    }

    @Test
    void fit_ofMultiDataSets_equalsTheBaseIterator() {
        ComputationGraph plain = (ComputationGraph) Networks.RESIDUAL_GRAPH.create(WorkspaceMode.ENABLED);
        ComputationGraph ahead = (ComputationGraph) Networks.RESIDUAL_GRAPH.create(WorkspaceMode.ENABLED);
        MultiDataSetIterator base = new MultiDataSetIteratorAdapter(batches(Networks.RESIDUAL_GRAPH));
        try (PrefetchMultiDataSetIterator prefetched = new PrefetchMultiDataSetIterator(base)) {
            plain.fit(new MultiDataSetIteratorAdapter(batches(Networks.RESIDUAL_GRAPH)), EPOCHS);
            ahead.fit(prefetched, EPOCHS);

            assertThat(state(ahead)).isEqualTo(state(plain));
            assertThat(prefetched.statistics().batches()).isEqualTo(BATCHES * EPOCHS);
        }
    }

    @Test
    void multiDataSets_keepEveryArray_andThePreProcessorSeesThem() {
        DataSet batch = Networks.LSTM_TEXT.data(4, 1);
        MultiDataSet multi = new MultiDataSet(
                new INDArray[] {batch.getFeatures()}, new INDArray[] {batch.getLabels()}, null, new INDArray[] {
                    batch.getLabels().max(1)
                });
        MultiDataSetIterator base = new SingletonMultiDataSetIterator(multi);
        PrefetchOptions options = PrefetchOptions.DEFAULTS.withReadAheadAnyway(true);
        try (PrefetchMultiDataSetIterator prefetched = new PrefetchMultiDataSetIterator(base, options)) {
            INDArray twice = batch.getFeatures().mul(2);
            prefetched.setPreProcessor(
                    data -> data.setFeatures(0, data.getFeatures(0).mul(2)));

            org.nd4j.linalg.dataset.api.MultiDataSet out = prefetched.next();

            assertThat(out.getFeatures(0)).isEqualTo(twice);
            assertThat(out.getLabels(0)).isEqualTo(batch.getLabels());
            assertThat(out.getLabelsMaskArray(0)).isEqualTo(batch.getLabels().max(1));
            assertThat(prefetched.hasNext()).isFalse();
        }
    }

    /** The last batch is smaller. */
    private static Batches batches(Networks family) {
        return new Batches(BATCHES, i -> family.data(i == BATCHES - 1 ? 3 : 8, 100 + i));
    }

    private static Model train(Networks family, WorkspaceMode mode, DataSetIterator data) {
        Model model = family.create(mode);
        if (model instanceof MultiLayerNetwork network) {
            network.fit(data, EPOCHS);
        } else {
            ((ComputationGraph) model).fit(data, EPOCHS);
        }
        return model;
    }

    /** Bits of parameters and updater state. */
    private static int[][] state(Model model) {
        INDArray updater = model instanceof MultiLayerNetwork network
                ? network.getUpdater().getStateViewArray()
                : ((ComputationGraph) model).getUpdater().getStateViewArray();
        return new int[][] {bits(model.params()), bits(updater)};
    }

    private static int[] bits(INDArray array) {
        float[] values = array.dup().data().asFloat();
        int[] bits = new int[values.length];
        for (int i = 0; i < bits.length; i++) {
            bits[i] = Float.floatToRawIntBits(values[i]);
        }
        return bits;
    }
}
