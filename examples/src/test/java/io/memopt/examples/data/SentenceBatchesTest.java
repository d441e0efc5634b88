// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

class SentenceBatchesTest {
    @Test
    void sentences_always_arePlainAndWithinTheLength() throws IOException {
        List<String> sentences = MobyDick.sentences(160);

        assertThat(sentences)
                .hasSize(1130)
                .startsWith("Call me Ishmael.")
                .allMatch(sentence -> sentence.matches("[ -~]{12,160}"))
                .noneMatch(sentence -> sentence.contains("  "));
    }

    @Test
    void batch_always_guessesTheNextCharacterWithinItsMask() {
        SentenceBatches batches = new SentenceBatches(List.of("cab", "a"), 2, 1);

        DataSet batch = batches.next();

        assertThat(batches.alphabet()).isEqualTo("\nabc");
        assertThat(batch.getFeatures().shape()).containsExactly(2, 4, 4);
        assertThat(text(batches, batch.getFeatures(), 1)).isEqualTo("\ncab");
        assertThat(text(batches, batch.getLabels(), 1)).isEqualTo("cab\n");
        assertThat(text(batches, batch.getFeatures(), 0)).isEqualTo("\na");
        assertThat(text(batches, batch.getLabels(), 0)).isEqualTo("a\n");
        assertThat(batch.getLabelsMaskArray().toFloatMatrix())
                .isDeepEqualTo(new float[][] {{1, 1, 0, 0}, {1, 1, 1, 1}});
        assertThat(batch.getFeaturesMaskArray()).isEqualTo(batch.getLabelsMaskArray());
    }

    @Test
    void batches_ofTheBook_varyInLengthAndAreHardlyPadded() throws IOException {
        SentenceBatches batches = new SentenceBatches(MobyDick.sentences(160), 32, 1);

        Set<Long> lengths = new HashSet<>();
        double mask = 0;
        double size = 0;
        while (batches.hasNext()) {
            INDArray masks = batches.next().getLabelsMaskArray();
            lengths.add(masks.size(1));
            mask += masks.sumNumber().doubleValue();
            size += masks.length();
        }

        assertThat(lengths).hasSizeGreaterThan(20);
        assertThat(mask / size).isGreaterThan(0.95);
    }

    @Test
    void batches_withTheSameSeed_comeInTheSameOrder() throws IOException {
        SentenceBatches once = new SentenceBatches(MobyDick.sentences(100), 16, 3);
        SentenceBatches again = new SentenceBatches(MobyDick.sentences(100), 16, 3);

        assertThat(again.next().getFeatures()).isEqualTo(once.next().getFeatures());
    }

    @Test
    void batches_withTooFewSentences_areRefused() {
        assertThatThrownBy(() -> new SentenceBatches(List.of("a", "b"), 3, 1))
                .hasMessage("batch=3, expected at most the 2 sentences");
    }

    private static String text(SentenceBatches batches, INDArray oneHot, int row) {
        StringBuilder text = new StringBuilder();
        for (int step = 0; step < oneHot.size(2); step++) {
            for (int symbol = 0; symbol < oneHot.size(1); symbol++) {
                if (oneHot.getInt(row, symbol, step) == 1) {
                    text.append(batches.alphabet().charAt(symbol));
                }
            }
        }
        return text.toString();
    }
}
