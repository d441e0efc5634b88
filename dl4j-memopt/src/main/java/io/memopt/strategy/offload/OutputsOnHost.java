// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy.offload;

import io.memopt.allocator.nd4j.ArrayPlace;
import io.memopt.allocator.nd4j.PinnedBlock;
import io.memopt.allocator.pool.CopyLanes;
import io.memopt.allocator.recording.ByteSize;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Outputs of layers that leave the device for the host while no stage uses them, and come back one stage before one does. On the
 * device they lie in slots that take turns:
 *
 * <pre>
 *   segments, forward                    backward
 *             0      1      2      3      2      1      0
 *   slot A           a      a>h    c                 a
 *   slot B                  b      b      b    a comes back, while 2 is computed, into A, which c has left
 * </pre>
 *
 * Here a and c are the outputs of segments 0 and 2. An output is copied to the host when it leaves its slot for the first time, if it
 * is used again at all; the slot serves another one, or its bytes something else, once that is done. Exactness {@code BITWISE}: bytes are copied.
 *
 * <p>Memory: slots for what two neighbouring stages use, in the workspace of the pass; on the host page-locked memory for each output that ever
 * left, which serves all passes and grows with the largest. Threading: confined to the training thread.
 */
final class OutputsOnHost implements OutputStore {
    private static final Logger log = LoggerFactory.getLogger(OutputsOnHost.class);

    private final CopyLanes lanes;
    private final LongFunction<Optional<PinnedBlock>> blocks;
    private final Map<Integer, HostCopy> copies = new HashMap<>();
    private final Map<Integer, Slot> resident = new HashMap<>();
    private final List<Slot> slots = new ArrayList<>();
    /** All copies of this pass. */
    private final List<Long> begun = new ArrayList<>();

    private List<Set<Integer>> uses = List.of();
    private @Nullable Room room;
    private int stage;
    private long left;
    private long returned;
    private boolean toldFull;

    /**
     * Nothing is kept yet.
     *
     * @param blocks of the host, of so many bytes, empty if there is no room
     */
    OutputsOnHost(CopyLanes lanes, LongFunction<Optional<PinnedBlock>> blocks) {
        this.lanes = lanes;
        this.blocks = blocks;
    }

    /** What lies on the host of one output. */
    private static final class HostCopy {
        private final PinnedBlock block;
        private @Nullable Form form;
        private long copy = CopyLanes.NONE;

        private HostCopy(PinnedBlock block) {
            this.block = block;
        }

        private void forget() {
            form = null;
            copy = CopyLanes.NONE;
        }
    }

    @Override
    public void begin(List<Set<Integer>> usesOfStages, Room itsRoom) {
        uses = usesOfStages;
        room = itsRoom;
        stage = 0;
        forgetPass();
    }

    @Override
    public void stage(int next) {
        stage = next;
        for (int position : List.copyOf(resident.keySet())) {
            if (!isUsedIn(stage, position) && !isUsedIn(stage + 1, position)) {
                leave(position);
            }
        }
        uses.get(stage).forEach(this::bringBack);
        if (stage + 1 < uses.size()) {
            uses.get(stage + 1).forEach(this::bringBack);
        }
        uses.get(stage).stream().filter(resident::containsKey).forEach(position -> hold(slotOf(position)));
    }

    @Override
    public boolean keep(int position, INDArray output) {
        if (!DenseCopies.isDense(output) || !isUsedFrom(stage, position)) {
            return false;
        }
        Form form = Form.of(output);
        Slot slot = slot(form);
        hold(slot); // What was there before has left before this is written.
        slot.take(form).assign(output);
        resident.put(position, slot);
        return true;
    }

    @Override
    public @Nullable INDArray get(int position) {
        Slot slot = resident.get(position);
        return slot == null ? null : slot.array();
    }

    /** Whatever is still under way is waited for by what the device is given next. */
    @Override
    public void end() {
        begun.forEach(lanes::hold);
        begun.forEach(lanes::forget);
        slots.stream().filter(Slot::isUnderWay).forEach(OutputsOnHost::use);
        forgetPass();
    }

    /** What the device is given next waits for the latest copy of {@code slot}. */
    private void hold(Slot slot) {
        lanes.hold(slot.copy());
        if (slot.isUnderWay()) {
            use(slot);
            slot.awaited();
        }
    }

    /** The books of uses see operations only: to them a slot would be free before the device waits for its last copy. */
    private static void use(Slot slot) {
        ArrayPlace.of(slot.room);
    }

    private void forgetPass() {
        begun.clear();
        slots.clear();
        resident.clear();
        copies.values().forEach(HostCopy::forget);
    }

    @Override
    public void clear() {
        copies.values().forEach(copy -> copy.block.close());
        copies.clear();
    }

    @Override
    public String note() {
        return ByteSize.format(hostBytes()) + " of it lie on the host in between: " + left + " copies to it, "
                + returned + " back.";
    }

    private long hostBytes() {
        return copies.values().stream().mapToLong(copy -> copy.block.bytes()).sum();
    }

    @Override
    public void close() {
        clear();
    }

    /**
     * Stays where it is when the host has no memory for it. Slots then take turns in another order than in the pass that was recorded, and
     * a plan might give their bytes to others too early: what is not in the plan is asked for, so that it places nothing more.
     */
    private void leave(int position) {
        Slot slot = slotOf(position);
        HostCopy known = copies.get(position);
        boolean leaves = isUsedFrom(stage + 2, position) && (known == null || known.form == null);
        if (leaves && !copyToHost(position, slot)) {
            newSlot(slot.form());
            return;
        }
        resident.remove(position);
        slot.leave();
    }

    private boolean copyToHost(int position, Slot slot) {
        Form form = slot.form();
        HostCopy copy = hostCopy(position, form.bytes());
        if (copy == null) {
            tellFull(form);
            return false;
        }
        copy.form = form;
        copy.copy = begun(lanes.toHost(ArrayPlace.of(slot.array()), copy.block.address(), form.bytes(), slot.copy()));
        slot.begun(copy.copy);
        left++;
        return true;
    }

    /** Without effect on what is there already, or was not kept here. */
    private void bringBack(int position) {
        HostCopy copy = copies.get(position);
        Form form = copy == null ? null : copy.form;
        if (copy != null && form != null && !resident.containsKey(position)) {
            Slot slot = slot(form);
            INDArray array = slot.take(form);
            slot.begun(begun(
                    lanes.toDevice(copy.block.address(), ArrayPlace.of(array), form.bytes(), slot.copy(), copy.copy)));
            ArrayPlace.written(array);
            resident.put(position, slot);
            returned++;
        }
    }

    private long begun(long copy) {
        begun.add(copy);
        return copy;
    }

    private @Nullable HostCopy hostCopy(int position, long bytes) {
        HostCopy known = copies.get(position);
        if (known != null && known.block.bytes() >= bytes) {
            return known;
        }
        if (known != null) {
            copies.remove(position);
            known.block.close();
        }
        HostCopy made = blocks.apply(bytes).map(HostCopy::new).orElse(null);
        if (made != null) {
            copies.put(position, made);
        }
        return made;
    }

    private void tellFull(Form form) {
        if (!toldFull) {
            toldFull = true;
            log.warn(
                    "No {} of page-locked memory could be had for an output of a layer, which stays on the device, and further ones"
                            + " likewise. Free page-locked memory, or keep fewer outputs.",
                    ByteSize.format(form.bytes()));
        }
    }

    /** The smallest free one that is large enough, or a new one. */
    private Slot slot(Form form) {
        Slot best = null;
        for (Slot slot : slots) {
            if (slot.isFreeFor(form) && (best == null || slot.room.length() < best.room.length())) {
                best = slot;
            }
        }
        if (best == null) {
            dropTooSmall(form);
            best = newSlot(form);
        }
        return best;
    }

    /** Where outputs grow from layer to layer, free slots would else pile up: a plan gives their bytes to others from here on. */
    private void dropTooSmall(Form form) {
        for (Slot slot : List.copyOf(slots)) {
            if (slot.isFree() && !slot.isFreeFor(form)) {
                hold(slot);
                slots.remove(slot);
            }
        }
    }

    private Slot newSlot(Form form) {
        Slot made = new Slot(Objects.requireNonNull(room, "room").make(form.type(), form.elements()));
        slots.add(made);
        return made;
    }

    private Slot slotOf(int position) {
        Slot slot = resident.get(position);
        if (slot == null) {
            throw new IllegalStateException(
                    "The output at position " + position + " is not on the device in stage " + stage);
        }
        return slot;
    }

    private boolean isUsedIn(int which, int position) {
        return which < uses.size() && uses.get(which).contains(position);
    }

    private boolean isUsedFrom(int first, int position) {
        for (int i = first; i < uses.size(); i++) {
            if (isUsedIn(i, position)) {
                return true;
            }
        }
        return false;
    }
}
