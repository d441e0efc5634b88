// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import io.memopt.allocator.recording.TraceReader.OnCorruption;
import picocli.CommandLine.Option;

/** Options of all commands that read a trace. */
final class TraceInputs {
    @Option(
            names = "--skip-damage",
            description = "Go on behind damaged blocks and count what is missing, instead of stopping there.")
    private boolean skipDamage;

    OnCorruption onCorruption() {
        return skipDamage ? OnCorruption.SKIP : OnCorruption.FAIL;
    }
}
