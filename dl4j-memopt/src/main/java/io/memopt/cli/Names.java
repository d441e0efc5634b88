// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import java.util.Locale;

/** Constants and names as people read them. */
final class Names {
    /** Head of a column that is only there when there are several networks. */
    static final String NETWORK = "network";

    private Names() {}

    static String of(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }

    static String layer(String layer) {
        return layer.isEmpty() ? "(none)" : cut(layer, 34);
    }

    static String network(String network) {
        return network.isEmpty() ? "(none)" : cut(network, 28);
    }

    static String cut(String text, int length) {
        return text.length() <= length ? text : text.substring(0, length - 1) + "~";
    }
}
