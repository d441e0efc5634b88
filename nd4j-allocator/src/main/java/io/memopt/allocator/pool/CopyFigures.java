// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.pool;

/**
 * What was copied beside computing since the process began; no figure ever decreases.
 *
 * @param toHostCopies copies that were begun from the device
 * @param toDeviceCopies copies that were begun to the device
 * @param late times that computing was to wait for a copy that was still under way when the thread said so, which may be long before the
 *     device came to it
 * @param waitedNanos time that the device stood still for those, as far as it has got
 */
public record CopyFigures(
        long toHostCopies, long toHostBytes, long toDeviceCopies, long toDeviceBytes, long late, long waitedNanos) {
    /** Nothing. */
    public static final CopyFigures NONE = new CopyFigures(0, 0, 0, 0, 0, 0);

    /** With one more copy to the host. */
    public CopyFigures leaving(long bytes) {
        return new CopyFigures(toHostCopies + 1, toHostBytes + bytes, toDeviceCopies, toDeviceBytes, late, waitedNanos);
    }

    /** With one more copy to the device. */
    public CopyFigures arriving(long bytes) {
        return new CopyFigures(toHostCopies, toHostBytes, toDeviceCopies + 1, toDeviceBytes + bytes, late, waitedNanos);
    }

    /** With one more wait. */
    public CopyFigures waiting() {
        return new CopyFigures(toHostCopies, toHostBytes, toDeviceCopies, toDeviceBytes, late + 1, waitedNanos);
    }

    /** With waits that took {@code nanos} in all. */
    public CopyFigures waited(long nanos) {
        return new CopyFigures(toHostCopies, toHostBytes, toDeviceCopies, toDeviceBytes, late, nanos);
    }

    /** Both together. */
    public CopyFigures plus(CopyFigures other) {
        return new CopyFigures(
                toHostCopies + other.toHostCopies,
                toHostBytes + other.toHostBytes,
                toDeviceCopies + other.toDeviceCopies,
                toDeviceBytes + other.toDeviceBytes,
                late + other.late,
                waitedNanos + other.waitedNanos);
    }

    /** What came in addition to {@code earlier}. */
    public CopyFigures since(CopyFigures earlier) {
        return new CopyFigures(
                toHostCopies - earlier.toHostCopies,
                toHostBytes - earlier.toHostBytes,
                toDeviceCopies - earlier.toDeviceCopies,
                toDeviceBytes - earlier.toDeviceBytes,
                late - earlier.late,
                waitedNanos - earlier.waitedNanos);
    }
}
