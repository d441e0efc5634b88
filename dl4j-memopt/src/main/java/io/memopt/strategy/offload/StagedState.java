// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import io.memopt.allocator.nd4j.ArrayPlace;
import io.memopt.allocator.pool.CopyLanes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.AMSGrad;
import org.nd4j.linalg.learning.config.AdaDelta;
import org.nd4j.linalg.learning.config.AdaGrad;
import org.nd4j.linalg.learning.config.AdaMax;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nadam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.RmsProp;

/**
 * Updater state on the host that comes to the device part by part for its update, and goes back. Three parts are there at a time: while
 * one is updated the next is on its way, and the one before returns.
 *
 * <pre>
 *   slot A   part 0 ....... update, back | part 3 comes      | update, back
 *   slot B   part 1 .......              | update, back      | part 4 comes
 *   slot C   part 2 .......                                  | update, back
 *            during the pass               update
 * </pre>
 *
 * A part is the same range of elements of each of the updater's arrays (Adam has two), so that an updater of ND4J's, which works element
 * by element, has the same operands as with the whole state: exactness {@code BITWISE}. Updaters of other classes work on the host's memory over
 * the bus.
 *
 * <p>Memory: {@link #stagingBytes}. Threading: the training thread.
 */
final class StagedState implements AutoCloseable {
    private static final int SLOTS = 3;
    /** At 50 GB/s such a copy takes 0.3 ms, next to which the calls for a part, some 0.1 ms, are little. */
    private static final long MOST_SLOT_BYTES = 16L << 20;
    /** Below, calls take longer than copies. */
    private static final long LEAST_SLOT_BYTES = 64L << 10;
    /** All slots together are to be a small share of the state. */
    private static final int STATE_PER_SLOT = 32;

    private static final Set<Class<?>> BY_ELEMENT = Set.of(
            Adam.class,
            AdaMax.class,
            AMSGrad.class,
            Nadam.class,
            AdaDelta.class,
            AdaGrad.class,
            Nesterovs.class,
            RmsProp.class);

    private final CopyLanes lanes;
    private final INDArray state;
    private final long host;
    private final int width;
    private final List<StagingSlot> slots;
    private final List<Part> parts = new ArrayList<>();

    /** For {@code state}, a flat array in page-locked memory. */
    StagedState(CopyLanes lanes, INDArray state) {
        this.lanes = lanes;
        this.state = state;
        this.host = ArrayPlace.of(state);
        this.width = state.dataType().width();
        long elements = slotBytes(state.length() * width) / width;
        this.slots = Stream.generate(() -> new StagingSlot(room(state.dataType(), elements)))
                .limit(SLOTS)
                .toList();
    }

    private static INDArray room(DataType type, long elements) {
        return Nd4j.createUninitialized(type, elements);
    }

    /** Memory of the device for state of {@code stateBytes}. */
    static long stagingBytes(long stateBytes) {
        return SLOTS * slotBytes(stateBytes);
    }

    private static long slotBytes(long stateBytes) {
        return Math.max(LEAST_SLOT_BYTES, Math.min(MOST_SLOT_BYTES, stateBytes / STATE_PER_SLOT / 64 * 64));
    }

    /** Whether {@code updater} may have its state in parts. */
    static boolean isByElement(IUpdater updater) {
        return BY_ELEMENT.contains(updater.getClass());
    }

    /**
     * What does as {@code own} with its state in parts.
     *
     * @param from first element of its state
     * @param elements of its state
     * @param parameters that it updates; {@code elements} is a multiple
     */
    StagedUpdater staged(GradientUpdater<?> own, long from, long elements, long parameters) {
        int arrays = Math.toIntExact(elements / parameters);
        long most = slots.get(0).room().length() / arrays;
        int first = parts.size();
        for (long at = 0; at < parameters; at += most) {
            parts.add(new Part(own.getConfig(), from, arrays, parameters, at, Math.min(most, parameters - at)));
        }
        return new StagedUpdater(
                own, this, IntStream.range(first, parts.size()).boxed().toList());
    }

    /** An iteration begins: the first parts come while its passes are computed. */
    void begin() {
        for (int i = 0; i < Math.min(SLOTS, parts.size()); i++) {
            bringIn(i);
        }
    }

    /** Updates {@code part}, given the gradient of all parameters of its updater. */
    void update(int part, INDArray gradient, int iteration, int epoch) {
        StagingSlot slot = slotOf(part);
        if (slot.part() != part) {
            bringIn(part);
        }
        lanes.hold(slot.copy());
        parts.get(part).update(slot.room(), gradient, iteration, epoch);
        copy(parts.get(part), slot, true);
        slot.holds(StagingSlot.NOTHING);
        if (part + SLOTS < parts.size()) {
            bringIn(part + SLOTS);
        }
    }

    /** The update is over, or has failed: what the device is given next finds the state on the host. */
    void end() {
        for (StagingSlot slot : slots) {
            lanes.hold(slot.copy());
            slot.begun(lanes, CopyLanes.NONE);
            slot.holds(StagingSlot.NOTHING);
        }
        ArrayPlace.written(state);
    }

    private void bringIn(int part) {
        StagingSlot slot = slotOf(part);
        copy(parts.get(part), slot, false);
        ArrayPlace.written(slot.room());
        slot.holds(part);
    }

    private StagingSlot slotOf(int part) {
        return slots.get(part % SLOTS);
    }

    private void copy(Part part, StagingSlot slot, boolean back) {
        long device = ArrayPlace.of(slot.room());
        for (int i = 0; i < part.arrays(); i++) {
            long there = host + part.offset(i) * width;
            long here = device + i * part.length() * width;
            long bytes = part.length() * width;
            slot.begun(
                    lanes,
                    back
                            ? lanes.toHost(here, there, bytes, slot.copy())
                            : lanes.toDevice(there, here, bytes, slot.copy()));
        }
    }

    /** Gives the device's memory back. */
    @Override
    public void close() {
        end();
        slots.forEach(slot -> slot.room().close());
    }
}
