// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.analysis.Peak;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Words for figures in the messages of failed assertions. */
final class Texts {
    private static final int SHOWN = 6;

    private Texts() {}

    /** E.g. {@code "working memory of conv2, backward"}. */
    static String owner(Owner owner) {
        return owner(owner.category(), owner.network(), owner.layer(), owner.phase());
    }

    private static String owner(Category category, String network, String layer, Phase phase) {
        String of = layer.isEmpty() ? network : layer;
        return words(category) + (of.isEmpty() ? "" : " of " + of) + (phase == Phase.NONE ? "" : ", " + words(phase));
    }

    /** Largest shares of a peak, one a line. */
    static String composition(Peak peak, long flatBytes) {
        List<String> lines = new ArrayList<>();
        long left = peak.bytes();
        for (Peak.Share share :
                peak.shares().subList(0, Math.min(SHOWN, peak.shares().size()))) {
            String what = share.part() == Peak.Part.BLOCK_FREE
                    ? "free part of blocks"
                    : owner(share.category(), share.network(), share.layer(), share.phase());
            lines.add(line(share.bytes(), what + (share.workspace().isEmpty() ? "" : ", in " + share.workspace())));
            left -= share.bytes();
        }
        if (left > 0) {
            lines.add(line(left, (peak.shares().size() - SHOWN) + " smaller shares"));
        }
        if (flatBytes > 0) {
            lines.add(line(flatBytes, "parameters, gradients and updater state from before"));
        }
        return String.join("\n", lines);
    }

    /** The first of {@code rows}, one a line. */
    static <T> String lines(List<T> rows, Function<T, String> text) {
        String shown =
                rows.stream().limit(SHOWN).map(text).map(line -> "  " + line).collect(Collectors.joining("\n"));
        return rows.size() <= SHOWN ? shown : shown + "\n  and " + (rows.size() - SHOWN) + " more";
    }

    private static String line(long bytes, String what) {
        return "  " + ByteSize.scaled(bytes) + " " + what;
    }

    private static String words(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
}
