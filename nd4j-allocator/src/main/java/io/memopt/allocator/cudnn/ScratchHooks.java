// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

/** What an engine's scratch memory has to do with the memory of the program around it. Threading: any thread. */
public interface ScratchHooks {
    /** Scratch memory of the engine's own was allocated at this address of the device. */
    void allocated(long address);

    /** There is nothing that could have bytes to spare. */
    long NOBODY = -1;

    /**
     * Address of memory on the calling thread's device that nothing else uses until what the thread launches now on its stream is
     * done; 0 when so many are not to be had now, {@link #NOBODY} when there are none to be had for a while.
     */
    long spare(long bytes);

    /** An engine whose scratch memory is always its own. */
    static ScratchHooks none() {
        return new ScratchHooks() {
            @Override
            public void allocated(long address) {}

            @Override
            public long spare(long bytes) {
                return NOBODY;
            }
        };
    }
}
