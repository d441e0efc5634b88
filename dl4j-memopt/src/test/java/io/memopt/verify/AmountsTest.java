// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.verify;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AmountsTest {

    @ParameterizedTest
    @CsvSource({
        "4096, 4096",
        "0 B, 0",
        "1KiB, 1024",
        "200 MiB, 209715200",
        "1.5 GiB, 1610612736",
        " 2 mb , 2000000",
        "1 TB, 1000000000000",
        "0.3 KiB, 307",
        "9223372036854775807, 9223372036854775807"
    })
    void bytes_ofUnits_areExact(String text, long expected) {
        assertThat(Amounts.bytes(text)).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "MiB", "-1 B", "5 %", "1 PiB", "1,5 MiB", "1e3", "9223372036854775808"})
    void bytes_ofOtherTexts_areRefused(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Amounts.bytes(text))
                .withMessageContaining("size='" + text + "'");
    }

    @Test
    void share_ofPercentage_isAFraction() {
        assertThat(Amounts.share("5 %")).isEqualTo(0.05);
        assertThat(Amounts.share("12.5%")).isEqualTo(0.125);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Amounts.share("5"))
                .withMessageContaining("'5 %'");
    }
}
