// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The data of the examples and its way into batches: {@link io.memopt.examples.data.EmojiImages},
 * {@link io.memopt.examples.data.CifarImages} and {@link io.memopt.examples.data.MobyDick}.
 */
@NullMarked
package io.memopt.examples.data;

import org.jspecify.annotations.NullMarked;
