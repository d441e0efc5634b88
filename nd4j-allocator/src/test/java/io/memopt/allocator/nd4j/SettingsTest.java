// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Properties;
import org.junit.jupiter.api.Test;

class SettingsTest {
    private final Properties properties = new Properties();

    @Test
    void problems_ofKnownAndForeignProperties_areNone() {
        properties.setProperty("memopt.early", "false");
        properties.setProperty("memopt.enabled", "TRUE");
        properties.setProperty("memoptimiser", "yes");

        assertThat(Settings.problems(properties)).isEmpty();
    }

    @Test
    void problems_ofMisspeltName_listTheKnown() {
        properties.setProperty("memopt.erly", "false");

        assertThat(Settings.problems(properties))
                .containsExactly("System property memopt.erly=false is not known and has no effect. Known are"
                        + " memopt.early, memopt.enabled, memopt.nvtx, memopt.updateBaselines.");
    }

    @Test
    void isOn_otherValueThanFalse_isOnAndWarnedOf() {
        properties.setProperty("memopt.enabled", "off");

        assertThat(Settings.isOn(properties, Settings.ENABLED)).isTrue();
        assertThat(Settings.isOn(properties, Settings.EARLY)).isTrue();
        assertThat(Settings.problems(properties))
                .containsExactly("System property memopt.enabled=off, expected true or false; taken as true.");
        properties.setProperty("memopt.enabled", " False");
        assertThat(Settings.isOn(properties, Settings.ENABLED)).isFalse();
    }

    @Test
    void isOn_updateBaselines_isOffUnlessTrue() {
        assertThat(Settings.isOn(properties, Settings.UPDATE_BASELINES)).isFalse();
        properties.setProperty("memopt.updateBaselines", "yes");
        assertThat(Settings.isOn(properties, Settings.UPDATE_BASELINES)).isFalse();
        assertThat(Settings.problems(properties))
                .containsExactly("System property memopt.updateBaselines=yes, expected true or false; taken as false.");
        properties.setProperty("memopt.updateBaselines", "true");
        assertThat(Settings.isOn(properties, Settings.UPDATE_BASELINES)).isTrue();
    }
}
