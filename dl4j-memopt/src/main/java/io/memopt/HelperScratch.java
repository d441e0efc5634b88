// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import io.memopt.allocator.cudnn.ScratchHooks;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;

/** Scratch memory lies where planned arenas have bytes to spare; what does not is named in the ledger. Threading: any thread. */
record HelperScratch(MemoryLedger ledger) implements ScratchHooks {
    @Override
    public void allocated(long address) {
        ledger.reclassify(address, "", Category.HELPER_SCRATCH);
    }

    @Override
    public long spare(long bytes) {
        return MemoryHooks.spareBytes(bytes);
    }
}
