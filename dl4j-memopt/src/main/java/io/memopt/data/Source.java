// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.data;

/** A base iterator of either kind. Called by one thread at a time. */
interface Source<T> {
    boolean hasNext();

    T next();

    void reset();
}
