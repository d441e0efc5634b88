// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.fit;

/**
 * What a pool of threads takes that call {@code output()} of one network. Workspaces belong to threads and stay for as long as
 * their thread lives, so memory grows with the threads and not with the load.
 *
 * @param threads threads that have called at least once and still live
 * @param batch items in each call
 * @param parameterBytes held once
 * @param idleBytes workspace blocks that each thread keeps between calls
 * @param callBytes what a call needs besides: its input, its result, which waits for the garbage collector, and arrays that did
 *     not fit
 * @param firstCallsBytes fullest moment of a thread's first calls, in which workspaces do not know their size yet
 */
public record PoolPrediction(
        int threads, int batch, long parameterBytes, long idleBytes, long callBytes, long firstCallsBytes) {

    /** Bytes held while no call runs. */
    public long retainedBytes() {
        return parameterBytes + threads * idleBytes;
    }

    /** Bytes when all threads call at once. */
    public long peakBytes() {
        return parameterBytes + threads * Math.max(idleBytes + callBytes, firstCallsBytes);
    }
}
