// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ByteSizeTest {

    @ParameterizedTest
    @CsvSource({
        "0, 0 B",
        "1023, 1023 B",
        "1024, 1.0 KiB (1024 B)",
        "1048575, 1.0 MiB (1048575 B)",
        "1048576, 1.0 MiB (1048576 B)",
        "402653184, 384.0 MiB (402653184 B)",
        "1073741823, 1.00 GiB (1073741823 B)",
        "7408751411, 6.90 GiB (7408751411 B)",
        "-2048, -2.0 KiB (-2048 B)",
        "9223372036854775807, 8.00 EiB (9223372036854775807 B)"
    })
    void format_writesUnitAndExactBytes(long bytes, String text) {
        assertThat(ByteSize.format(bytes)).isEqualTo(text);
    }
}
