// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples.data;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Turns sentences into batches for a network that guesses the next character: features and labels
 * {@code [miniBatch, alphabet, steps]} one-hot, the labels one character ahead, with masks {@code [miniBatch, steps]}.
 *
 * <p>A batch is as long as its longest sentence, and sentences of like length share a batch, so that little is padded.
 * The number of steps therefore changes from batch to batch: a network's memory follows it.
 */
public final class SentenceBatches extends Batches {
    private static final long serialVersionUID = 1L;
    /** Stands before and after every sentence. */
    public static final char BOUNDARY = '\n';

    private final transient List<String> sentences;
    private final transient Random random;
    private final String alphabet;
    private final int[][] groups;

    /** The same seed gives the same batches. */
    public SentenceBatches(List<String> sentences, int batch, long seed) {
        super(batch);
        if (sentences.size() < batch) {
            throw new IllegalArgumentException(
                    "batch=" + batch + ", expected at most the " + sentences.size() + " sentences");
        }
        this.sentences = List.copyOf(sentences);
        this.random = new Random(seed);
        this.alphabet = alphabet(sentences);
        this.groups = groups(this.sentences, batch);
        startEpoch();
    }

    /** All characters that occur and {@link #BOUNDARY}, in ascending order; a character's place is its index. */
    public String alphabet() {
        return alphabet;
    }

    @Override
    public int count() {
        return groups.length;
    }

    @Override
    void startEpoch() {
        for (int i = groups.length - 1; i > 0; i--) {
            int other = random.nextInt(i + 1);
            int[] kept = groups[i];
            groups[i] = groups[other];
            groups[other] = kept;
        }
    }

    @Override
    DataSet make(int index) {
        int[] group = groups[index];
        int steps =
                Arrays.stream(group).map(i -> sentences.get(i).length()).max().orElseThrow() + 1;
        int[] shape = {group.length, alphabet.length(), steps};
        float[] features = new float[group.length * alphabet.length() * steps];
        float[] labels = new float[features.length];
        float[] mask = new float[group.length * steps];
        for (int row = 0; row < group.length; row++) {
            String text = BOUNDARY + sentences.get(group[row]) + BOUNDARY;
            for (int step = 0; step + 1 < text.length(); step++) {
                features[(row * alphabet.length() + alphabet.indexOf(text.charAt(step))) * steps + step] = 1;
                labels[(row * alphabet.length() + alphabet.indexOf(text.charAt(step + 1))) * steps + step] = 1;
                mask[row * steps + step] = 1;
            }
        }
        INDArray masks = Nd4j.create(mask, new int[] {group.length, steps}, 'c');
        return new DataSet(Nd4j.create(features, shape, 'c'), Nd4j.create(labels, shape, 'c'), masks, masks.dup());
    }

    /** Sentences sorted by length and cut into full batches; the longest remainder is left out. */
    private static int[][] groups(List<String> sentences, int batch) {
        int[] sorted = Stream.iterate(0, i -> i < sentences.size(), i -> i + 1)
                .sorted(Comparator.comparingInt(i -> sentences.get(i).length()))
                .mapToInt(i -> i)
                .toArray();
        int[][] groups = new int[sorted.length / batch][];
        for (int i = 0; i < groups.length; i++) {
            groups[i] = Arrays.copyOfRange(sorted, i * batch, (i + 1) * batch);
        }
        return groups;
    }

    private static String alphabet(List<String> sentences) {
        return Stream.concat(Stream.of(String.valueOf(BOUNDARY)), sentences.stream())
                .flatMapToInt(String::chars)
                .distinct()
                .sorted()
                .mapToObj(c -> String.valueOf((char) c))
                .collect(Collectors.joining());
    }

    @Override
    public int inputColumns() {
        return alphabet.length();
    }

    @Override
    public int totalOutcomes() {
        return alphabet.length();
    }
}
