// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples;

import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.examples.data.EmojiImages;
import io.memopt.examples.data.ImageBatches;
import io.memopt.examples.data.ImageSet;
import io.memopt.strategy.Reuse;
import io.memopt.strategy.budget.BudgetException;
import io.memopt.verify.Verification;
import io.memopt.verify.VerifyRun;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.dataset.DataSet;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * Trains the network of {@link ImageClassification} plain, plain again and optimised from one state, and says whether the results are
 * the same bits, what each took in memory and time, and what recording that costs. The exit code is 1 when they are not.
 */
@Command(
        name = "VerifyTraining",
        mixinStandardHelpOptions = true,
        description = "Compares optimised with plain training: results, memory and time.")
public final class VerifyTraining implements Callable<Integer> {
    private static final long SEED = 42;

    @Spec
    @SuppressWarnings("NullAway.Init") // picocli sets it before anybody reads it
    private CommandSpec command;

    @Option(names = "--batch", paramLabel = "N", description = "Examples in a batch (${DEFAULT-VALUE}).")
    private int batch = 32;

    @Option(names = "--iterations", paramLabel = "N", description = "Of each of the three runs (${DEFAULT-VALUE}).")
    private int iterations = 12;

    @Option(
            names = "--budget",
            paramLabel = "SIZE",
            description = "Most that training may take, e.g. '60 MiB'; without it workspaces are planned.")
    private @Nullable String budget;

    public static void main(String[] args) {
        System.exit(RunOptions.execute(new VerifyTraining(), args));
    }

    @Override
    public Integer call() throws IOException {
        PrintWriter out = command.commandLine().getOut();
        ImageSet images = EmojiImages.load();
        List<DataSet> batches = batches(images);
        MultiLayerNetwork network = ImageClassification.network(images.classes().size());
        MemOptConfig config = config();
        List<String> choices = new ArrayList<>();
        try {
            Verification result = VerifyRun.of(network, i -> batches.get(i % batches.size()))
                    .iterations(iterations)
                    .compare(model -> {
                        MemOpt memopt = MemOpt.attach(model, config);
                        return () -> {
                            memopt.budget().ifPresent(choice -> choices.add(choice.toString()));
                            memopt.close();
                        };
                    });
            choices.forEach(out::println);
            out.println(result);
            out.flush();
            return result.twin().attached().isBitwise() ? 0 : 1;
        } catch (IllegalStateException e) {
            if (e.getCause() instanceof BudgetException refusal) {
                out.println(refusal.getMessage());
                out.flush();
                return 1;
            }
            throw e;
        }
    }

    private MemOptConfig config() {
        MemOptConfig.Builder config = MemOptConfig.builder();
        return (budget == null ? config.reuse(Reuse.PLANNED) : config.budget(budget)).build();
    }

    private List<DataSet> batches(ImageSet images) {
        List<DataSet> batches = new ArrayList<>();
        ImageBatches training = ImageBatches.training(images, batch, SEED);
        while (batches.size() < iterations && training.hasNext()) {
            batches.add(training.next());
        }
        return batches;
    }
}
