// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.use;

/**
 * The life of one workspace array, counted in arrays: array {@code b} may take the bytes of array {@code a} if
 * {@code a.lastUse() < b.sequence()}.
 *
 * <pre>
 *   sequence     0    1    2    3
 *   array 0      born ---- used ........ end      lastUse 1, although the use came after the birth of 1 and before that of 2
 *   array 2                born used ... end      may take the bytes of array 0
 * </pre>
 *
 * @param sequence number among the arrays of the window, from 0, in order of birth; the same as its birth index
 * @param workspace ND4J's name of the workspace
 * @param workspaceId number of the workspace instance in the recording
 * @param requestedBytes what ND4J asked its workspace for
 * @param roundedBytes the same, rounded up as a workspace does
 * @param owner number in the owner table: layer, phase, category
 * @param lastUse sequence number of the newest array at the last use seen, at least {@code sequence}
 * @param end the same at the end of its scope; equal to the number of arrays in the window when it outlived that
 * @param used false when no use was seen at all. Element reads through a raw pointer are not seen, so a planner should hold
 *     such arrays to their {@code end}
 * @param spilled true when it did not fit the block of its workspace
 */
public record ArrayLifetime(
        int sequence,
        String workspace,
        int workspaceId,
        long requestedBytes,
        long roundedBytes,
        int owner,
        int lastUse,
        int end,
        boolean used,
        boolean spilled) {

    public ArrayLifetime {
        if (sequence < 0
                || lastUse < sequence
                || end < lastUse
                || requestedBytes < 0
                || roundedBytes < requestedBytes) {
            throw new IllegalArgumentException("sequence=" + sequence + " lastUse=" + lastUse + " end=" + end
                    + " requestedBytes=" + requestedBytes + " roundedBytes=" + roundedBytes
                    + ", expected 0 <= sequence <= lastUse <= end and 0 <= requested <= rounded");
        }
    }
}
