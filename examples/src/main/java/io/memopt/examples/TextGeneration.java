// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples;

import io.memopt.examples.data.MobyDick;
import io.memopt.examples.data.SentenceBatches;
import java.io.IOException;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.AsyncDataSetIterator;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Trains an LSTM to write like Melville, character by character, from sentences of every length. */
@Command(
        name = "TextGeneration",
        sortOptions = false,
        description = "Trains a character LSTM on sentences of Moby-Dick, whose lengths vary from batch to batch.")
public final class TextGeneration implements Callable<Integer> {
    private static final long SEED = 42;
    private static final int LONGEST = 160;
    private static final int SAMPLES = 3;

    @Mixin
    private final RunOptions options = new RunOptions(32, 4);

    public static void main(String[] args) {
        System.exit(RunOptions.execute(new TextGeneration(), args));
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        List<String> sentences = MobyDick.sentences(LONGEST);
        options.check(sentences.size(), "sentences");
        SentenceBatches batches = new SentenceBatches(sentences, options.batch(), SEED);
        MultiLayerNetwork network = network(batches.alphabet().length());
        int iterations = options.iterations(batches.count());
        try (ObservedRun run = new ObservedRun("lstm-moby-dick", network, options, iterations)) {
            Progress progress = run.progress();
            for (int epoch = 1; progress.done() < iterations; epoch++) {
                double loss = epoch(network, batches, iterations, progress);
                progress.println(String.format("epoch %d: loss %.3f a character", epoch, loss));
                network.incrementEpochCount();
            }
            Random random = new Random(SEED);
            for (int i = 0; i < SAMPLES; i++) {
                progress.println("> " + sample(network, batches.alphabet(), random));
            }
            run.finish();
        }
        return 0;
    }

    /** A training loop of one's own instead of {@code fit(iterator)}: the mean loss comes out of it. */
    private static double epoch(MultiLayerNetwork network, SentenceBatches batches, int iterations, Progress progress) {
        double sum = 0;
        double characters = 0;
        AsyncDataSetIterator prefetched = new AsyncDataSetIterator(batches, 2);
        try {
            while (prefetched.hasNext() && progress.done() < iterations) {
                DataSet batch = prefetched.next();
                double count = batch.getLabelsMaskArray().sumNumber().doubleValue();
                int examples = batch.numExamples();
                network.fit(batch);
                // DL4J's score is the sum over all characters, divided by the number of sentences
                double loss = network.score() * examples;
                sum += loss;
                characters += count;
                progress.step(loss / count);
            }
        } finally {
            prefetched.shutdown();
        }
        batches.reset();
        return sum / characters;
    }

    /** Writes one sentence: each character is drawn from the network's guess and fed back to it. */
    static String sample(MultiLayerNetwork network, String alphabet, Random random) {
        StringBuilder text = new StringBuilder();
        network.rnnClearPreviousState();
        int last = alphabet.indexOf(SentenceBatches.BOUNDARY);
        while (text.length() < LONGEST) {
            INDArray input = Nd4j.zeros(1, alphabet.length());
            input.putScalar(0, last, 1);
            last = draw(network.rnnTimeStep(input).toFloatVector(), random);
            if (alphabet.charAt(last) == SentenceBatches.BOUNDARY) {
                break;
            }
            text.append(alphabet.charAt(last));
        }
        return text.toString();
    }

    /** Draws in proportion to the squares, which favours the likely a little. */
    private static int draw(float[] probabilities, Random random) {
        double sum = 0;
        for (float p : probabilities) {
            sum += p * p;
        }
        double left = random.nextDouble() * sum;
        for (int i = 0; i < probabilities.length; i++) {
            left -= probabilities[i] * probabilities[i];
            if (left < 0) {
                return i;
            }
        }
        return probabilities.length - 1;
    }

    static MultiLayerNetwork network(int alphabet) {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(SEED)
                .updater(new Adam(5e-3))
                .weightInit(WeightInit.XAVIER)
                .list()
                .layer(new LSTM.Builder()
                        .name("lstm")
                        .nOut(128)
                        .activation(Activation.TANH)
                        .build())
                .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT)
                        .name("out")
                        .nOut(alphabet)
                        .activation(Activation.SOFTMAX)
                        .build())
                .setInputType(InputType.recurrent(alphabet))
                .build());
        network.init();
        return network;
    }
}
