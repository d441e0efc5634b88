// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.use;

import io.memopt.allocator.event.Owner;
import io.memopt.allocator.recording.ByteSize;

/**
 * An array was used after its scope was left.
 *
 * @param workspace ND4J's name of the workspace it lay in
 * @param thread name of the thread that the workspace belongs to
 * @param maker network, layer and phase that made the array
 * @param bytes what was asked for
 * @param generationMade number of the scope, from 1, in which it was made
 * @param generationUsed number of the scopes entered when it was used; the same as {@code generationMade} when the scope
 *     was left and not entered again
 * @param madeAt code that made it
 * @param usedAt code that used it
 * @param count times that this was seen
 */
public record ScopeFinding(
        String workspace,
        String thread,
        Owner maker,
        long bytes,
        long generationMade,
        long generationUsed,
        String madeAt,
        String usedAt,
        long count) {

    /** True when the workspace was entered again: the bytes may hold another array. */
    public boolean movedOn() {
        return generationUsed > generationMade;
    }

    ScopeFinding withCount(long newCount) {
        return new ScopeFinding(
                workspace, thread, maker, bytes, generationMade, generationUsed, madeAt, usedAt, newCount);
    }

    /** What happened, the numbers that decide it, and what to do. */
    public String message() {
        String by = maker.layer().isEmpty()
                ? ""
                : " by layer " + maker.layer() + " (" + maker.network() + ", phase "
                        + maker.phase().name().toLowerCase(java.util.Locale.ROOT) + ")";
        return "Array of " + ByteSize.format(bytes) + " used after its scope: made" + by + " at " + madeAt
                + " in workspace " + workspace + ", scope " + generationMade + "; used at " + usedAt
                + (movedOn()
                        ? " in scope " + generationUsed + ", when its bytes may hold another array."
                        : " when that scope was left and its bytes were free to be taken.")
                + " Keep a copy made inside the scope: detach() for one that lives on, leverageTo(id) or"
                + " LayerWorkspaceMgr.leverageTo for one in a workspace that is open longer.";
    }
}
