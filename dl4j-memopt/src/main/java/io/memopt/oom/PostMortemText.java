// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.oom;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.Count;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.allocator.recording.FailureMoment;
import io.memopt.allocator.recording.OwnerUsage;
import java.util.Comparator;
import java.util.Locale;
import java.util.Map;

/** Writes a {@link PostMortem} for people. */
final class PostMortemText {
    private static final int PICTURE = 40;
    private static final int SHOWN = 8;

    private final PostMortem dead;
    private final StringBuilder text = new StringBuilder();

    private PostMortemText(PostMortem dead) {
        this.dead = dead;
    }

    static String render(PostMortem dead) {
        return new PostMortemText(dead).all();
    }

    private String all() {
        line("Memory ran out: " + dead.failure());
        line("Cause: " + words(dead.diagnosis().cause()) + ", "
                + dead.diagnosis().why() + ".");
        dead.moment().ifPresent(this::request);
        batch();
        dead.moment().ifPresent(this::composition);
        dead.moment().ifPresent(this::layout);
        holders();
        growth();
        remedies();
        return text.toString();
    }

    private void request(FailureMoment moment) {
        Owner owner = moment.owner();
        line("Asked for: " + ByteSize.format(moment.requestedBytes()) + " of " + words(moment.space()) + " memory, "
                + words(moment.kind()) + (owner.workspace().isEmpty() ? "" : " of " + owner.workspace()) + ", for "
                + words(owner.category()) + ".");
        line("By: " + (owner.layer().isEmpty() ? "no single layer" : "layer " + owner.layer()) + ", "
                + dead.phase() + (owner.network().isEmpty() ? "" : " of " + owner.network())
                + (moment.iteration() < 0 ? "" : ", after iteration " + moment.iteration())
                + ". Held then: " + ByteSize.format(moment.reservedBytes()) + ".");
    }

    private void batch() {
        if (dead.batch().isPresent() || dead.largestBatch().isPresent()) {
            line("Batch: "
                    + (dead.batch().isPresent() ? String.valueOf(dead.batch().getAsInt()) : "not known")
                    + "; largest that is predicted to fit: "
                    + (dead.largestBatch().isPresent()
                            ? String.valueOf(dead.largestBatch().getAsInt())
                            : "not known")
                    + ".");
        }
    }

    private void composition(FailureMoment moment) {
        line("In use at that moment, by category:");
        moment.inUse().entrySet().stream()
                .sorted(Map.Entry.<Category, Long>comparingByValue(Comparator.reverseOrder())
                        .thenComparing(Map.Entry.comparingByKey()))
                .forEach(entry -> row(entry.getValue(), words(entry.getKey())));
        line("By owner, largest first:");
        moment.owners().stream().limit(SHOWN).forEach(this::owner);
    }

    private void owner(OwnerUsage usage) {
        Owner owner = usage.owner();
        row(
                usage.liveBytes(),
                words(owner.category()) + (owner.layer().isEmpty() ? "" : " of layer " + owner.layer()) + ", "
                        + words(owner.phase())
                        + (owner.workspace().isEmpty() ? ", outside workspaces" : " in " + owner.workspace()));
    }

    private void layout(FailureMoment moment) {
        if (moment.blocks().isEmpty()) {
            return;
        }
        line("Blocks of workspaces, # used, . not used:");
        moment.blocks().stream().limit(SHOWN).forEach(this::block);
        moment.blocks().stream()
                .max(Comparator.comparingLong(FailureMoment.Block::holeBytes))
                .ifPresent(largest -> line(
                        "Largest hole: " + ByteSize.format(largest.holeBytes()) + ", in " + largest.workspace() + "."));
    }

    private void block(FailureMoment.Block block) {
        int used = (int) Math.ceil((double) PICTURE * block.filledBytes() / Math.max(1, block.bytes()));
        line("  [" + "#".repeat(used) + ".".repeat(PICTURE - used) + "] " + ByteSize.scaled(block.filledBytes())
                + " of " + ByteSize.scaled(block.bytes()) + "  " + block.workspace() + ", thread " + block.thread());
    }

    private void holders() {
        if (!dead.state().holders().isEmpty()) {
            line("Held when this was written:");
            dead.state().holders().stream().limit(SHOWN).forEach(holder -> row(holder.bytes(), holder.what()));
        }
    }

    private void growth() {
        if (dead.growth().iterations() > 1) {
            line("Over the last " + Count.of(dead.growth().iterations(), "iteration") + " what is held changed by "
                    + ByteSize.scaled(Math.round(dead.growth().bytesPerIteration())) + " with each.");
        }
    }

    private void remedies() {
        line("What to do, best first:");
        int rank = 1;
        for (Remedy remedy : dead.remedies()) {
            line("  " + rank++ + ". " + remedy.action() + ": " + remedy.effect()
                    + (remedy.peakBytes().isPresent()
                            ? "; predicted peak "
                                    + ByteSize.format(remedy.peakBytes().getAsLong())
                            : "")
                    + (remedy.exactness().equals("NONE") ? "" : " (" + remedy.exactness() + ")") + ".");
        }
    }

    private void row(long bytes, String what) {
        line(String.format(Locale.ROOT, "  %12s  %s", ByteSize.scaled(bytes), what));
    }

    private void line(String line) {
        text.append(line).append('\n');
    }

    private static String words(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
}
