// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import org.bytedeco.javacpp.Pointer;

/** An address that nobody frees. */
final class DevicePlace extends Pointer {
    DevicePlace(long at) {
        address = at;
    }
}
