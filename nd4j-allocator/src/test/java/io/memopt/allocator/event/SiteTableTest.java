// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.event;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SiteTableTest {
    private final SiteTable sites = new SiteTable();

    @Test
    void place_seenAgain_keepsItsNumber() {
        int first = sites.idOf("A.a:1");
        int second = sites.idOf("B.b:2");

        assertThat(sites.idOf("A.a:1")).isEqualTo(first).isNotEqualTo(second);
        assertThat(sites.siteOf(second)).isEqualTo("B.b:2");
    }

    @Test
    void nothing_isUnknown() {
        assertThat(sites.idOf(null)).isEqualTo(SiteTable.UNKNOWN);
        assertThat(sites.idOf("")).isEqualTo(SiteTable.UNKNOWN);
        assertThat(sites.siteOf(0)).isEmpty();
        assertThat(sites.siteOf(99)).isEmpty();
        assertThat(sites.siteOf(-1)).isEmpty();
    }

    @Test
    void placesBeyondCapacity_areUnknown_knownOnesStay() {
        for (int i = 1; i < SiteTable.CAPACITY; i++) {
            assertThat(sites.idOf("place " + i)).isEqualTo(i);
        }
        assertThat(sites.idOf("one more")).isEqualTo(SiteTable.UNKNOWN);
        assertThat(sites.idOf("place 7")).isEqualTo(7);
    }
}
