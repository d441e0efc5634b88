// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import io.memopt.allocator.cuda.NvtxRanges;
import io.memopt.allocator.event.EventSink;
import io.memopt.allocator.nd4j.Settings;
import io.memopt.allocator.recording.MemoryLedger;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Ranges in NVIDIA's profilers, where {@link Settings#NVTX} asks for them. */
final class ProfilerRanges {
    private static final Logger log = LoggerFactory.getLogger(ProfilerRanges.class);

    private ProfilerRanges() {}

    /** Begins to show what {@code ledger} tells; empty when nobody asked or the library is not there, which is warned of. */
    static Optional<EventSink> open(MemoryLedger ledger) {
        if (!Settings.isOn(Settings.NVTX)) {
            return Optional.empty();
        }
        try {
            EventSink ranges = NvtxRanges.of(ledger.owners());
            ledger.addSink(ranges);
            return Optional.of(ranges);
        } catch (LinkageError e) {
            log.warn(
                    "System property {}=true, but nvToolsExt cannot be loaded ({}): phases and layers are not shown in "
                            + "profilers. It comes with the CUDA toolkit, its binding with org.bytedeco:cuda.",
                    Settings.NVTX,
                    e.toString());
            return Optional.empty();
        }
    }
}
