// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import org.deeplearning4j.nn.api.Model;

/** What a {@link TwinRun} puts on trial, e.g. {@code MemOpt::attach}. */
@FunctionalInterface
public interface Attachment {

    /** Changes how {@code model} trains from now on. The result is closed after the last iteration. */
    AutoCloseable attach(Model model) throws Exception;
}
