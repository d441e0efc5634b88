// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.strategy.Reuse;
import io.memopt.testing.Networks;
import org.bytedeco.javacpp.Pointer;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.dataset.DataSet;

/**
 * Under JavaCPP's physical cap, garbage is what forces collections: every allocation beyond the cap calls System.gc(), up to
 * ten times. Without garbage the cap is not reached.
 */
@Tag("soak")
class ForcedCollectionsTest {
    private static final int ITERATIONS = 40;
    private static final int BATCH = 128;

    /** Less than half of what piles up until the Java heap is full. */
    private static final long ROOM_BYTES = 64 << 20;

    @Test
    void cappedTraining_forcesCollections_unlessGarbageIsReleased() throws Exception {
        long cap = train(Reuse.RELEASED, 0).number("physicalBytes") + ROOM_BYTES;

        ChildJvm.Result plain = train(Reuse.OFF, cap);
        ChildJvm.Result released = train(Reuse.RELEASED, cap);
        System.out.println("cap=" + cap + "\nplain\n" + plain.out() + "released\n" + released.out());

        assertThat(plain.number("forced")).isPositive();
        assertThat(released.number("forced")).isZero();
        assertThat(released.number("reservedPeak")).isLessThan(plain.number("reservedPeak"));
        assertThat(released.text("score")).isEqualTo(plain.text("score"));
    }

    private static ChildJvm.Result train(Reuse reuse, long capBytes) throws Exception {
        return ChildJvm.of(Training.class, reuse.name())
                .options(
                        "-Xmx512m",
                        "-Xms512m",
                        "-XX:+UseSerialGC",
                        "-Dorg.bytedeco.javacpp.maxphysicalbytes=" + capBytes)
                .run()
                .ok();
    }

    /** Trains one batch over and over and tells what the collector was made to do. */
    static final class Training {
        public static void main(String[] args) {
            MultiLayerNetwork network = (MultiLayerNetwork) Networks.VGG.create(WorkspaceMode.ENABLED);
            MemOptConfig config =
                    MemOptConfig.builder().reuse(Reuse.valueOf(args[0])).build();
            DataSet data = Networks.VGG.data(BATCH, 1);
            try (MemOpt memopt = MemOpt.attach(network, config)) {
                for (int i = 0; i < ITERATIONS; i++) {
                    network.fit(data);
                }
                MemoryLedger ledger = MemoryHooks.recording().ledger();
                print("forced", ledger.flows().collections(true));
                print("forcedMillis", ledger.flows().collectionNanos(true) / 1_000_000);
                print("unforced", ledger.flows().collections(false));
                print("reservedPeak", memopt.summary().reservedPeak().bytes());
                print("reservedNow", ledger.reservedBytes(MemorySpace.HOST));
                print("resident", memopt.summary().residentBytes().orElse(0));
                print("physicalBytes", Pointer.physicalBytes());
                print("score", network.score());
                print("releasedBytes", memopt.summary().releasedBytes());
            }
        }

        private static void print(String key, Object value) {
            System.out.println(key + "=" + value);
        }
    }
}
