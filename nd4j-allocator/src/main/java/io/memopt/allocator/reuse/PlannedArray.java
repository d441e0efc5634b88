// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.reuse;

import io.memopt.allocator.use.ArrayLifetime;

/**
 * One array of a plan. Times count births of arrays; see {@link ArrayLifetime}.
 *
 * @param workspace ND4J's name of it
 * @param requestedBytes what the workspace is asked for
 * @param roundedBytes what it takes
 * @param birth number of the array
 * @param lastUse first birth after its last use
 * @param scopeEnd first birth after the end of its scope
 */
public record PlannedArray(
        String workspace, long requestedBytes, long roundedBytes, int birth, int lastUse, int scopeEnd) {
    /** Arrays of so few bytes are held to the end of their scope: Java code may read them without a native call. */
    static final long TINY = 64;

    public PlannedArray {
        if (birth < 0
                || lastUse <= birth
                || scopeEnd < lastUse
                || requestedBytes < 0
                || roundedBytes < requestedBytes) {
            throw new IllegalArgumentException("birth=" + birth + " lastUse=" + lastUse + " scopeEnd=" + scopeEnd
                    + " requestedBytes=" + requestedBytes + " roundedBytes=" + roundedBytes
                    + ", expected 0 <= birth < lastUse <= scopeEnd and 0 <= requested <= rounded");
        }
    }

    /**
     * What was recorded, planned.
     *
     * @param kept true when it must live to the end of its scope; what nobody was seen to use does anyway
     */
    public static PlannedArray of(ArrayLifetime array, boolean kept) {
        int scopeEnd = 1 + array.end();
        return new PlannedArray(
                array.workspace(),
                array.requestedBytes(),
                array.roundedBytes(),
                array.sequence(),
                kept || !array.used() ? scopeEnd : 1 + array.lastUse(),
                scopeEnd);
    }

    /** First birth that may take its bytes. */
    int end() {
        return roundedBytes <= TINY ? scopeEnd : lastUse;
    }

    /** The same array of another size. */
    PlannedArray resized(long requested, long rounded) {
        return new PlannedArray(workspace, requested, rounded, birth, lastUse, scopeEnd);
    }

    /** Whether the two differ in nothing but the size. */
    boolean isKin(PlannedArray other) {
        return workspace.equals(other.workspace)
                && birth == other.birth
                && lastUse == other.lastUse
                && scopeEnd == other.scopeEnd;
    }
}
