// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.assertj.core.data.Offset;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Advice on what users met, as in {@link AdviceTest}, for the cases that take a minute, hence the tag. */
@Tag("soak")
class CaseTest {
    @TempDir
    Path folder;

    @Test
    void viewsOfResults_areNamedInTheTrace() throws Exception {
        List<INDArray> views = new ArrayList<>();
        MultiLayerNetwork network = Networks.mlp(16, 16, 2000);
        TraceAnalysis analysis = analyze(CaseTraces.record(file("views"), network, () -> {
            for (int i = 0; i < 5; i++) {
                views.add(network.output(Nd4j.rand(100, 16)).getRow(5));
            }
        }));

        LeakSuspect suspect = analysis.suspects().get(0);
        assertThat(views).hasSize(5);
        assertThat(suspect.viewedBytes()).isEqualTo(5 * 100 * 2000 * 4);
        assertThat(suspect.site()).contains("CaseTest.");
    }

    @Test
    void p3_lengthsVary_fixedSizesNeitherSpillNorResize() throws Exception {
        TraceAnalysis before = analyze(CaseTraces.sequences(file("before"), CaseTraces.lstm(), Map.of()));
        Advice advice = advice(before, Advice.Kind.WORKSPACE_INITIAL_SIZE);
        Map<String, Long> sizes = new LinkedHashMap<>();
        for (WorkspaceRow row : before.workspaces()) {
            if (row.resizes() > 0) {
                sizes.put(row.name(), row.neededBytes());
                assertThat(advice.action()).contains("initialSize(" + row.neededBytes() + "L)", row.name());
            }
        }
        assertThat(sizes).hasSizeGreaterThanOrEqualTo(3);

        TraceAnalysis after = analyze(CaseTraces.sequences(file("after"), CaseTraces.lstm(), sizes));

        assertThat(after.workspaces())
                .filteredOn(row -> sizes.containsKey(row.name()))
                .allMatch(row -> row.resizes() == 0 && row.spills() == 0);
        assertThat(after.peakBytes(Measure.RESERVED, MemorySpace.HOST))
                .isCloseTo(advice.peakAfter(), tenth(advice.peakAfter()));
    }

    @Test
    void p9_iteratorsAreDropped_shutdownReturnsTheirBuffers() throws Exception {
        TraceAnalysis before = analyze(CaseTraces.prefetchers(file("before"), 3, false));
        Advice advice = advice(before, Advice.Kind.SHUT_DOWN_PREFETCHER);

        assertThat(advice.savedBytes()).isPositive();
        assertThat(advice.action()).contains("shutdown()");

        TraceAnalysis after = analyze(CaseTraces.prefetchers(file("after"), 3, true));

        assertThat(after.peakBytes(Measure.RESERVED, MemorySpace.HOST))
                .isCloseTo(advice.peakAfter(), tenth(advice.peakAfter()));
    }

    @Test
    void training_ofVgg_namesWhatLayersDetach() throws Exception {
        TraceAnalysis analysis = analyze(CaseTraces.training(file("vgg"), Networks.VGG, 8, 12));

        assertThat(analysis.facts().exact()).isTrue();
        assertThat(analysis.facts().complete()).isTrue();
        assertThat(analysis.iterations()).hasSize(12);
        assertThat(advice(analysis, Advice.Kind.CLOSE_DETACHED).savedBytes()).isPositive();
        assertThat(analysis.growth().get(0).owner().category()).isEqualTo(Category.WORKING_MEMORY);
        assertThat(analysis.waste().reservedBytes())
                .isEqualTo(analysis.waste().parts().stream()
                        .filter(part -> part.kind() != Waste.Kind.UNATTRIBUTED)
                        .mapToLong(part -> part.bytes().orElse(0))
                        .sum());
    }

    private static Offset<Long> tenth(long bytes) {
        return within(bytes / 10);
    }

    private static Advice advice(TraceAnalysis analysis, Advice.Kind kind) {
        return analysis.advice().stream()
                .filter(advice -> advice.kind() == kind)
                .findFirst()
                .orElseThrow();
    }

    private Path file(String name) {
        return folder.resolve(name + ".memopt");
    }

    private static TraceAnalysis analyze(Path file) throws IOException {
        return TraceAnalyzer.analyze(file);
    }
}
