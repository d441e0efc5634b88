// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Objects;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SupportsTest {
    private static final int BUFFERS = 60;

    /** What is allowed and what is wasted, against the bound of the same stack after placing, section by section. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void allow_ofEachBufferThatCanComeNext_tellsWhetherTheBoundGrows(long seed) {
        StackModel model = model(seed);
        Stack stack = new Stack(model);
        Supports supports = new Supports(model, stack);
        stack.begin(all());
        Stack other = new Stack(model);
        int refused = 0;
        for (int at = 0; at < BUFFERS; at++) {
            supports.begin(stack.bound());
            int allowed = supports.allowed();
            int next = -1;
            for (int k = 0; k < stack.length(); k++) {
                if (stack.offsets[k] < stack.lowestTop()) {
                    other.copy(stack);
                    other.place(k);
                    other.settle(new int[] {k}, 1);
                    int above = Math.max(0, nearBound(other, model, stack, allowed) - allowed);

                    assertThat(supports.allow(k))
                            .as("placed %d, index %d", at, k)
                            .isEqualTo(above == 0);
                    assertThat(supports.waste(k))
                            .as("placed %d, index %d", at, k)
                            .isEqualTo(above);
                    next = next < 0 || above == 0 ? k : next;
                    refused += above > 0 ? 1 : 0;
                }
            }
            stack.place(next);
            stack.settle(new int[] {next}, 1);
        }
        assertThat(refused).isPositive();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void back_toAnyNumber_isAsItWas(long seed) {
        StackModel model = model(seed);
        Stack stack = new Stack(model);
        Supports supports = new Supports(model, stack);
        Round round = new Round(model, stack, supports);
        stack.begin(all());
        round.begin(stack.bound());
        int[][] offsets = new int[BUFFERS / 2][];
        boolean[][] allowed = new boolean[BUFFERS / 2][];
        for (int at = 0; at < offsets.length; at++) {
            offsets[at] = stack.offsets.clone();
            allowed[at] = allowed(stack, supports);
            int k = 0;
            while (stack.offsets[k] >= stack.lowestTop()) {
                k++;
            }
            while (!supports.allow(k)) {
                supports.raise(supports.waste(k));
                allowed[at] = allowed(stack, supports);
                for (int before = 0; before < at; before++) {
                    allowed[before] = new boolean[0];
                }
            }
            round.place(k);
        }
        for (int left = offsets.length - 1; left >= 0; left--) {
            round.back(left);

            assertThat(stack.open()).isEqualTo(BUFFERS - left);
            assertThat(stack.offsets).isEqualTo(offsets[left]);
            if (allowed[left].length > 0) {
                assertThat(allowed(stack, supports)).isEqualTo(allowed[left]);
            } else {
                break;
            }
        }
    }

    private static boolean[] allowed(Stack stack, Supports supports) {
        boolean[] allowed = new boolean[stack.length()];
        for (int k = 0; k < allowed.length; k++) {
            allowed[k] = stack.offsets[k] < stack.lowestTop() && supports.allow(k);
        }
        return allowed;
    }

    /** Highest bound, with the lowest open offset as the base, of the sections that were near what is allowed. */
    private static int nearBound(Stack after, StackModel model, Stack before, int allowed) {
        int most = 0;
        for (int s = 0; s < model.sections; s++) {
            if (before.load[s] > 0 && before.skyline[s] + before.load[s] > allowed - (int) (0.03 * model.lower)) {
                int level = after.load[s] > 0 ? Integer.MAX_VALUE : after.skyline[s];
                for (int k = 0; k < after.length(); k++) {
                    if (after.starts[k] <= s && s < after.ends[k]) {
                        level = Math.min(level, after.offsets[k]);
                    }
                }
                most = Math.max(most, level + after.load[s]);
            }
        }
        return most;
    }

    private static StackModel model(long seed) {
        StackModel model = StackModel.of(new Timeline(RandomProblem.uniform(BUFFERS, seed)));
        return Objects.requireNonNull(model);
    }

    private static int[] all() {
        return IntStream.range(0, BUFFERS).toArray();
    }
}
