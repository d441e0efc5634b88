// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli.format;

import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Python stacks as owners and back. A stack becomes the layer of an owner, innermost first:
 * {@code convert@module.py:1370 < _apply@module.py:965}. An owner of Deeplearning4j becomes frames: layer, phase, category,
 * workspace. Traces cut names at 1000 characters, and a stack that long loses its outermost frames.
 */
final class Frames {
    /** Network of what was there before the recording began. */
    static final String BEFORE = "(before the recording)";

    private static final String SEPARATOR = " < ";

    private Frames() {}

    static Owner owner(Object frames, boolean before) {
        StringBuilder layer = new StringBuilder();
        if (frames instanceof List<?> list) {
            for (Object each : list) {
                if (each instanceof Map<?, ?> frame) {
                    String text = frame.get("name") + "@" + frame.get("filename") + ":" + frame.get("line");
                    if (layer.length() + SEPARATOR.length() + text.length() > 1000) {
                        break;
                    }
                    layer.append(layer.length() == 0 ? "" : SEPARATOR).append(text);
                }
            }
        }
        return new Owner(before ? BEFORE : "", layer.toString(), Phase.NONE, Category.OTHER, "");
    }

    static List<Map<String, Object>> of(Owner owner) {
        List<Map<String, Object>> frames = new ArrayList<>();
        if (!owner.isAttributed()
                || (owner.network().equals(BEFORE) && owner.layer().isEmpty())) {
            return frames;
        }
        boolean python = owner.phase() == Phase.NONE && owner.layer().contains("@");
        if (python) {
            for (String text : owner.layer().split(SEPARATOR, -1)) {
                int name = text.lastIndexOf('@');
                int line = text.lastIndexOf(':');
                if (name >= 0 && line > name) {
                    frames.add(frame(
                            text.substring(0, name), text.substring(name + 1, line), number(text.substring(line + 1))));
                }
            }
            return frames;
        }
        String category = owner.category().name().toLowerCase(Locale.ROOT);
        frames.add(frame(category + (owner.workspace().isEmpty() ? "" : " in " + owner.workspace()), "category", 0));
        if (owner.phase() != Phase.NONE) {
            frames.add(frame(owner.phase().name().toLowerCase(Locale.ROOT), "phase", 0));
        }
        if (!owner.layer().isEmpty()) {
            frames.add(frame(owner.layer(), "layer", 0));
        }
        if (!owner.network().isEmpty()) {
            frames.add(frame(owner.network(), "network", 0));
        }
        return frames;
    }

    private static Map<String, Object> frame(String name, String file, long line) {
        Map<String, Object> frame = new LinkedHashMap<>();
        frame.put("name", name);
        frame.put("filename", file);
        frame.put("line", line);
        return frame;
    }

    private static long number(String text) {
        return text.matches("\\d{1,18}") ? Long.parseLong(text) : 0;
    }
}
