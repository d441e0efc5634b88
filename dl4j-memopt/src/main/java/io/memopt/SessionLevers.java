// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import io.memopt.strategy.Reuse;
import io.memopt.strategy.budget.BudgetLevers;
import io.memopt.strategy.cudnn.NetworkScratch;
import io.memopt.strategy.step.ArrivingMinibatch;
import io.memopt.strategy.step.StepGuard;
import io.memopt.strategy.step.StepOptions;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.IntConsumer;
import org.deeplearning4j.nn.api.Model;
import org.jspecify.annotations.Nullable;

/** What a budget moves in a session. */
final class SessionLevers implements BudgetLevers {
    private final Session session;
    private final MemOptConfig config;
    private final @Nullable StepGuard guard;
    private ArrivingMinibatch arrives = its -> {};

    SessionLevers(Session session, MemOptConfig config) {
        this.session = session;
        this.config = config;
        this.guard = session.guardOrNull(config.guard());
    }

    @Override
    public void reuse(Model model, Reuse reuse) {
        @Nullable Path profile = config.planProfile().orElse(null);
        if (reuse != Reuse.OFF) {
            session.releaseGarbage();
        }
        if (reuse == Reuse.SIZED) {
            session.sizeReuse(profile, config.arenas());
        } else if (reuse == Reuse.PLANNED) {
            session.planReuse(profile, config.arenas(), config.planPoison());
        }
        session.servePlans(model, reuse == Reuse.PLANNED);
    }

    @Override
    public boolean guards() {
        return guard != null;
    }

    @Override
    public Optional<NetworkScratch> scratch(Model model) {
        return session.scratch(model);
    }

    @Override
    public void release(Model model) {
        session.releaseStep(model);
        session.servePlans(model, true);
    }

    @Override
    public void onMinibatch(ArrivingMinibatch hears) {
        arrives = hears;
    }

    @Override
    public void step(Model model, StepOptions options) {
        session.replaceStep(model, options, guard, arrives);
    }

    @Override
    public boolean knowsMinibatch(Model model) {
        return session.knowsMinibatch(model);
    }

    @Override
    public boolean rehearse(Model model, IntConsumer give) {
        return session.rehearseHeld(model, give);
    }

    @Override
    public boolean serves(Model model) {
        return session.serves(model);
    }
}
