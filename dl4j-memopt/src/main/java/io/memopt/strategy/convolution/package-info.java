// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Convolutions of the CPU with less working memory, bit for bit. Entry type: {@link io.memopt.strategy.convolution.LeanConvolutions}. On a
 * GPU cuDNN has its own ways, and nothing of this is used.
 */
@NullMarked
package io.memopt.strategy.convolution;

import org.jspecify.annotations.NullMarked;
