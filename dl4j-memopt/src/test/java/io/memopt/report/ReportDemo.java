// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.nio.file.Path;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;

/** Makes traces and reports to look at: {@code ReportDemo FOLDER [EVENTS]}. */
final class ReportDemo {
    private ReportDemo() {}

    public static void main(String[] arguments) throws IOException {
        Path folder = Path.of(arguments[0]);
        if (arguments.length > 1) {
            Path trace = folder.resolve("synthetic-" + arguments[1] + ".memopt");
            long start = System.nanoTime();
            SyntheticTraining.write(trace, Long.parseLong(arguments[1]));
            long written = System.nanoTime();
            HtmlReport.write(trace, folder.resolve("synthetic-" + arguments[1] + ".html"));
            System.out.printf(
                    "trace %d ms, report %d ms%n",
                    (written - start) / 1_000_000, (System.nanoTime() - written) / 1_000_000);
            return;
        }
        for (Networks family : Networks.values()) {
            Path trace = folder.resolve(family.name().toLowerCase(java.util.Locale.ROOT) + ".memopt");
            train(family, trace);
            HtmlReport.write(trace, Path.of(trace.toString().replace(".memopt", ".html")));
        }
    }

    /** Twenty iterations, then results of inference that nobody closes. */
    static void train(Networks family, Path trace) {
        Model model = family.create(WorkspaceMode.ENABLED);
        try (MemOpt memopt =
                MemOpt.attach(model, MemOptConfig.builder().trace(trace).build())) {
            for (int i = 0; i < 20; i++) {
                Networks.fit(model, family.data(16, i));
            }
            if (model instanceof MultiLayerNetwork network) {
                for (int i = 0; i < 10; i++) {
                    network.output(family.data(16, i).getFeatures());
                }
            }
        }
    }
}
