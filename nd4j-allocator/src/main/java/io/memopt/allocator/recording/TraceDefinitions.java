// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.Category;
import io.memopt.allocator.event.EventCode;
import io.memopt.allocator.event.EventKind;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;
import io.memopt.allocator.event.Phase;
import io.memopt.allocator.event.TransferDirection;
import io.memopt.allocator.event.WorkspaceTable.WorkspaceInfo;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What the numbers of a trace mean: constants by the names that the header gives, owners, workspaces and threads by the
 * definitions met so far. Threading: confined.
 */
final class TraceDefinitions {
    private static final int UNKNOWN = -1;
    private static final int NIBBLE = 0xf;

    private final int[] kinds;
    private final int[] allocations;
    private final int[] directions;
    private final int[] spaces;
    private final int[] phases;
    private final int[] categories;
    private final boolean[] relativeExtra = new boolean[TraceFormat.FIRST_DEFINITION];

    private final Map<Integer, Owner> owners = new HashMap<>();
    private final Map<Integer, WorkspaceInfo> workspaces = new HashMap<>();
    private final Map<Long, String> threads = new HashMap<>();
    private final Map<Integer, String> sites = new HashMap<>();

    TraceDefinitions(TraceHeader header) {
        kinds = ordinals(header.names(TraceHeader.KINDS), EventKind.values());
        allocations = ordinals(header.names(TraceHeader.ALLOCATIONS), AllocationKind.values());
        directions = ordinals(header.names(TraceHeader.DIRECTIONS), TransferDirection.values());
        spaces = ordinals(header.names(TraceHeader.SPACES), MemorySpace.values());
        phases = ordinals(header.names(TraceHeader.PHASES), Phase.values());
        categories = ordinals(header.names(TraceHeader.CATEGORIES), Category.values());
        List<String> names = header.names(TraceHeader.KINDS);
        for (String kind : header.names(TraceHeader.RELATIVE_EXTRA)) {
            int at = names.indexOf(kind);
            if (at >= 0 && at < relativeExtra.length) {
                relativeExtra[at] = true;
            }
        }
    }

    /** The event code of this version; -1 when it does not know the kind or one of its constants. */
    int codeOf(int fileKind, int shape) {
        int kind = own(kinds, fileKind);
        boolean transfer = kind == EventKind.TRANSFER.ordinal();
        int second = own(transfer ? directions : allocations, shape & NIBBLE);
        int third = shape >> 4 & NIBBLE;
        int space = transfer ? hostEnd(third) : own(spaces, third);
        return kind < 0 || second < 0 || space < 0 ? UNKNOWN : kind | second << 8 | space << 12;
    }

    /** Of a transfer: 0 when not told, else 1 + the space of its host end; see {@link EventCode}. */
    private int hostEnd(int fileEnd) {
        int space = fileEnd == 0 ? 0 : own(spaces, fileEnd - 1);
        return fileEnd == 0 || space < 0 ? space : space + 1;
    }

    boolean isExtraRelative(int fileKind) {
        return relativeExtra[fileKind];
    }

    Owner owner(int id) {
        return owners.getOrDefault(id, Owner.UNKNOWN);
    }

    Map<Integer, Owner> owners() {
        return owners;
    }

    Map<Integer, WorkspaceInfo> workspaces() {
        return workspaces;
    }

    Map<Long, String> threads() {
        return threads;
    }

    Map<Integer, String> sites() {
        return sites;
    }

    /** Takes a definition; types of newer versions are passed over. */
    void define(int type, PayloadReader body) {
        switch (type) {
            case TraceFormat.DEFINE_OWNER -> defineOwner(body);
            case TraceFormat.DEFINE_WORKSPACE -> defineWorkspace(body);
            case TraceFormat.DEFINE_THREAD -> threads.put(body.varint(), body.name());
            case TraceFormat.DEFINE_SITE -> sites.put((int) body.varint(), body.name());
            default -> {}
        }
    }

    private void defineOwner(PayloadReader body) {
        int id = (int) body.varint();
        int phase = own(phases, (int) body.varint());
        int category = own(categories, (int) body.varint());
        String network = body.name();
        String layer = body.name();
        owners.put(
                id,
                new Owner(
                        network,
                        layer,
                        phase < 0 ? Phase.OTHER : Phase.values()[phase],
                        category < 0 ? Category.OTHER : Category.values()[category],
                        body.name()));
    }

    private void defineWorkspace(PayloadReader body) {
        int id = (int) body.varint();
        long thread = body.varint();
        boolean circular = body.unsignedByte() != 0;
        String name = body.name();
        workspaces.put(id, new WorkspaceInfo(id, name, thread, body.name(), circular));
    }

    private static int own(int[] table, int ordinal) {
        return ordinal >= 0 && ordinal < table.length ? table[ordinal] : UNKNOWN;
    }

    private static int[] ordinals(List<String> names, Enum<?>[] constants) {
        Map<String, Integer> own = new HashMap<>();
        for (Enum<?> constant : constants) {
            own.put(constant.name(), constant.ordinal());
        }
        return names.stream().mapToInt(name -> own.getOrDefault(name, UNKNOWN)).toArray();
    }
}
