// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.Set;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class ScratchTest {
    @Test
    void place_growsAndNeverHoldsTwoBlocks() {
        HostSource source = new HostSource(1000);
        Scratch scratch = new Scratch(source);

        long address = scratch.place(100);
        assertThat(scratch.place(50)).isEqualTo(address);
        assertThat(scratch.bytes()).isEqualTo(100);
        scratch.place(200);

        assertThat(scratch.bytes()).isEqualTo(200);
        assertThat(source.most).isEqualTo(1);
        assertThat(source.waits).isEqualTo(1);
        scratch.close();
        assertThat(source.live).isEmpty();
    }

    @Test
    void place_whenThereIsNoMemory_saysSoAndHoldsNothing() {
        HostSource source = new HostSource(100);
        Scratch scratch = new Scratch(source);
        scratch.place(100);

        assertThat(scratch.place(101)).isEqualTo(Scratch.NONE);
        assertThat(scratch.bytes()).isZero();
        assertThat(scratch.place(0)).isZero();
        assertThat(scratch.place(100)).isPositive();
        scratch.close();
    }

    @Test
    void endTrials_givesBackWhatOnlyTheyNeeded() {
        HostSource source = new HostSource(1000);
        Scratch scratch = new Scratch(source);
        scratch.place(30);

        scratch.beginTrials();
        scratch.place(500);
        scratch.endTrials();
        assertThat(source.live).isEmpty();
        scratch.place(30);
        scratch.beginTrials();
        scratch.place(20);
        scratch.endTrials();

        assertThat(scratch.bytes()).isEqualTo(30);
        scratch.close();
    }

    @Test
    void limit_givesTheBlockBack_alsoWhatWasNeeded_andLeavesWhatIsSpare() {
        HostSource source = new HostSource(1000);
        Scratch scratch = new Scratch(source);
        scratch.place(500);

        scratch.limit(100);

        assertThat(source.live).isEmpty();
        assertThat(scratch.hasRoom(100)).isTrue();
        assertThat(scratch.hasRoom(101)).isFalse();
        source.spare = 200;
        assertThat(scratch.hasRoom(200)).isTrue();
        source.spare = 0;
        scratch.place(30);
        scratch.beginTrials();
        scratch.place(400);
        scratch.endTrials();
        assertThat(scratch.bytes()).isZero();
        scratch.close();
    }

    @Test
    void place_whereBytesAreSpare_holdsNone() {
        HostSource source = new HostSource(1000);
        Scratch scratch = new Scratch(source);
        scratch.place(30);
        source.spare = 100;

        assertThat(scratch.place(100)).isEqualTo(HostSource.SPARE);
        assertThat(scratch.place(101)).isNotEqualTo(HostSource.SPARE).isPositive();
        assertThat(scratch.bytes()).isEqualTo(101);
        for (int i = 1; i < Scratch.PATIENCE; i++) {
            scratch.place(100);
        }
        assertThat(scratch.bytes()).isEqualTo(101);
        scratch.place(100);
        assertThat(source.live).isEmpty();
    }

    @Test
    void place_whenSpareBytesComeIntoBeing_givesTheBlockBackAtOnce() {
        HostSource source = new HostSource(1000);
        source.nobody = ScratchHooks.NOBODY;
        Scratch scratch = new Scratch(source);
        scratch.place(300);
        source.nobody = 0;
        source.spare = 100;

        scratch.place(100);
        assertThat(source.live).isEmpty();
        scratch.place(200);
        scratch.place(100);
        assertThat(scratch.bytes()).isEqualTo(200);
        scratch.close();
    }

    /** Host memory up to a limit. */
    private static final class HostSource implements Scratch.Source {
        private final long limit;
        private final Set<Pointer> live = new HashSet<>();
        private static final long SPARE = 4096;

        private int most;
        private int waits;
        private long spare;
        private long nobody;

        private HostSource(long limit) {
            this.limit = limit;
        }

        @Override
        public @Nullable Pointer allocate(long bytes) {
            if (bytes > limit) {
                return null;
            }
            Pointer block = new BytePointer(bytes);
            live.add(block);
            most = Math.max(most, live.size());
            return block;
        }

        @Override
        public void free(Pointer block) {
            assertThat(live.remove(block)).isTrue();
            block.deallocate();
        }

        @Override
        public void await() {
            waits++;
        }

        @Override
        public long spare(long bytes) {
            return bytes <= spare ? SPARE : nobody;
        }
    }
}
