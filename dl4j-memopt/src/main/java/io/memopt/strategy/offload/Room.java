// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Makes arrays for outputs that are where operations use them. */
@FunctionalInterface
public interface Room {
    /** A flat array of so many elements, at least 1, whose values are undefined. */
    INDArray make(DataType type, long elements);
}
