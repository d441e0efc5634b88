// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.Phase;

/** A layer while it does one thing; {@code layer} is {@code ""} when no single layer is responsible. */
public record LayerKey(String network, String layer, Phase phase) {}
