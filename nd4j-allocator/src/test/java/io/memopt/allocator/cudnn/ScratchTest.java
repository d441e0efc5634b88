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
    void ensure_growsAndNeverHoldsTwoBlocks() {
        HostSource source = new HostSource(1000);
        Scratch scratch = new Scratch(source);

        assertThat(scratch.ensure(100)).isTrue();
        assertThat(scratch.ensure(50)).isTrue();
        assertThat(scratch.bytes()).isEqualTo(100);
        assertThat(scratch.ensure(200)).isTrue();

        assertThat(scratch.bytes()).isEqualTo(200);
        assertThat(source.most).isEqualTo(1);
        assertThat(source.waits).isEqualTo(1);
        scratch.close();
        assertThat(source.live).isEmpty();
    }

    @Test
    void ensure_whenThereIsNoMemory_isFalseAndHoldsNothing() {
        HostSource source = new HostSource(100);
        Scratch scratch = new Scratch(source);
        scratch.ensure(100);

        assertThat(scratch.ensure(101)).isFalse();
        assertThat(scratch.bytes()).isZero();
        assertThat(scratch.block()).isNull();
        assertThat(scratch.ensure(100)).isTrue();
        scratch.close();
    }

    @Test
    void trim_givesBackWhatIsTooMuch() {
        HostSource source = new HostSource(1000);
        Scratch scratch = new Scratch(source);
        scratch.ensure(500);

        scratch.trim(500);
        assertThat(source.waits).isZero();
        scratch.trim(30);
        assertThat(scratch.bytes()).isEqualTo(30);
        scratch.trim(0);

        assertThat(source.live).isEmpty();
        assertThat(scratch.ensure(0)).isTrue();
    }

    /** Host memory up to a limit. */
    private static final class HostSource implements Scratch.Source {
        private final long limit;
        private final Set<Pointer> live = new HashSet<>();
        private int most;
        private int waits;

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
    }
}
