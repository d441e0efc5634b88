// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.checkpoint;

import io.memopt.strategy.offload.Offload;
import java.util.Optional;

/**
 * Where outputs lie that segments leave, and what follows for the memory of a pass: kept outputs, and the largest segment.
 *
 * <pre>
 *   outputs of segments    a    b    c    d
 *   WORKSPACE            a + b + c + d              all of them, until the end of the pass
 *   FILES                0
 *   HOST                 most of a + b, b + c, c + d     the device has what a segment begins with and what it leaves
 * </pre>
 *
 * Elsewhere than in the workspace a segment computes what it leaves in room of its own, and that is copied.
 */
public enum KeptIn {
    /** The workspace of all activations. */
    WORKSPACE {
        @Override
        long segmentBytes(Chain chain, int start, int end) {
            return sum(chain, start, end, end == chain.length());
        }

        @Override
        long keptBytes(Chain chain, int start, int end) {
            return end == chain.length() ? 0 : chain.keptBytes(start, end);
        }

        @Override
        long together(long some, long more) {
            return some + more;
        }
    },
    /** Mapped files. */
    FILES {
        @Override
        long segmentBytes(Chain chain, int start, int end) {
            return sum(chain, start, end, true);
        }

        @Override
        long keptBytes(Chain chain, int start, int end) {
            return 0;
        }

        @Override
        long together(long some, long more) {
            return Math.max(some, more);
        }
    },
    /** The host of a device, which has a part of them at a time. */
    HOST {
        @Override
        long segmentBytes(Chain chain, int start, int end) {
            return FILES.segmentBytes(chain, start, end);
        }

        @Override
        long keptBytes(Chain chain, int start, int end) {
            return chain.usedLastBytes(start, end) + WORKSPACE.keptBytes(chain, start, end);
        }

        @Override
        long together(long some, long more) {
            return Math.max(some, more);
        }
    };

    /** Where {@code offload} has them; the workspace if it is empty. */
    public static KeptIn of(Optional<Offload> offload) {
        return offload.map(where -> where.folder().isPresent() ? FILES : HOST).orElse(WORKSPACE);
    }

    /** Bytes of layers {@code start} to {@code end}, exclusive, while they are computed. */
    abstract long segmentBytes(Chain chain, int start, int end);

    /** Bytes of kept outputs that those have there be, on the device or in memory. */
    abstract long keptBytes(Chain chain, int start, int end);

    /** Kept bytes of a pass of which some segments have {@code some}, and the others {@code more}. */
    abstract long together(long some, long more);

    /** {@code leaving}: whether outputs count that layers from {@code end} on use. */
    private static long sum(Chain chain, int start, int end, boolean leaving) {
        long bytes = 0;
        for (int i = start; i < end; i++) {
            Chain.Cost cost = chain.layers().get(i);
            bytes += cost.inner() + (leaving || !cost.crosses(end) ? cost.output() : 0);
        }
        return bytes;
    }
}
