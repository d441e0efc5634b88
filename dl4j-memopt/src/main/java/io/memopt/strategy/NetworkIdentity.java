// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.allocator.nd4j.Nd4jFacts;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;

/** What decides how a network computes, shapes apart: its configuration, ND4J's version and backend. */
public final class NetworkIdentity {
    /** Progress of training, which a configuration carries along. */
    private static final String PROGRESS = "\"(iterationCount|epochCount)\"\\s*:\\s*\\d+";

    private NetworkIdentity() {}

    /** The same text for the same network in another run: 64 hexadecimal digits. */
    public static String of(Model model) {
        String configuration = model instanceof MultiLayerNetwork network
                ? network.getLayerWiseConfigurations().toJson()
                : ((ComputationGraph) model).getConfiguration().toJson();
        String text = Nd4jFacts.version() + '\n' + Nd4jFacts.backend() + '\n' + configuration.replaceAll(PROGRESS, "");
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(hash);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }
}
