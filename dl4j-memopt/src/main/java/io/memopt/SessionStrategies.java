// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import io.memopt.guard.Strategies;
import io.memopt.oom.MemoryState;
import java.util.OptionalLong;
import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.dataset.api.MultiDataSet;

/** What a guard may switch on in a session. */
record SessionStrategies(Session session) implements Strategies {
    @Override
    public boolean isPlanned() {
        return session.isPlanned();
    }

    @Override
    public OptionalLong plan(Model model, MultiDataSet sample, int examples) {
        return session.planAmidTraining(model, sample, examples);
    }

    @Override
    public MemoryState state() {
        return Explanation.state(session.ledger());
    }
}
