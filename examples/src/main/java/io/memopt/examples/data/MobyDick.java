// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples.data;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPInputStream;

/** The sentences of Moby-Dick's first twenty chapters, in plain ASCII. See {@code NOTICE.md} beside the file. */
public final class MobyDick {
    /** Shorter ones are mostly exclamations and remains of headings. */
    private static final int MIN_LENGTH = 12;

    private static final Map<String, String> ASCII = Map.of(
            "\u2018", "'", "\u2019", "'", "\u201c", "\"", "\u201d", "\"", "\u2014", "--", "\u00e9", "e", "\u00e6",
            "ae");

    private MobyDick() {}

    /**
     * The sentences in the order of the book, without line breaks.
     *
     * @param maxLength longer sentences, in characters, are left out
     */
    public static List<String> sentences(int maxLength) throws IOException {
        String text;
        try (InputStream in = new GZIPInputStream(Resources.open("moby-dick/chapters-1-20.txt.gz"))) {
            text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
        for (Map.Entry<String, String> replacement : ASCII.entrySet()) {
            text = text.replace(replacement.getKey(), replacement.getValue());
        }
        List<String> sentences = new ArrayList<>();
        for (String paragraph : text.split("\\n\\s*\\n", -1)) {
            for (String sentence : paragraph.split("(?<=[.!?]['\"]?)\\s+", -1)) {
                String clean = sentence.replaceAll("\\s+", " ")
                        .replaceAll("[^\\x20-\\x7e]", "")
                        .strip();
                if (clean.length() >= MIN_LENGTH && clean.length() <= maxLength && !clean.startsWith("CHAPTER")) {
                    sentences.add(clean);
                }
            }
        }
        return sentences;
    }
}
