// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.plan;

/**
 * Tells before a buffer is placed on a {@link Stack} whether that makes the plan higher than is allowed.
 *
 * <p>The open bytes of a section are to lie above its lowest open buffer. So there must be one in each section that can still
 * lie at {@code allowed - open bytes} or below: a support. What is placed lifts all that meet it. Where that leaves a section
 * without a support, a hole of which nothing fills enough, the bound of the section is above what is allowed.
 *
 * <pre>
 *   | c c c |      b is to come next. a lies too high by then to keep the first section; c is there, too, but is lifted by b.
 *   |    b  |      So b cannot come next, unless something lies below c that ends before b begins.
 *   |a a    |
 * </pre>
 *
 * <p>One support of each section is kept in mind, and another is looked for only where it is lifted too high: most are not, and
 * most of the sections beside it can have the same one. The idea is that of watched literals: M. W. Moskewicz, C. F. Madigan,
 * Y. Zhao, L. Zhang and S. Malik, Chaff: Engineering an Efficient SAT Solver, DAC 2001, doi:10.1145/378239.379017.
 *
 * <p>Only sections near the bound are looked at; for others {@link Stack#bound} must be asked now and then. Threading:
 * confined. Cost of a look: O(sections), and O(open buffers) for each support that is to be replaced. No allocation.
 */
final class Supports {
    /** Sections within that share of the bound are looked at. */
    private static final double NEAR = 0.03;

    private static final int NONE = -1;

    private final StackModel model;
    private final Stack stack;
    private final int[] section;
    /** Highest offset that a support of each can have. */
    private final int[] room;
    /** Index in the stack, or none when nothing is open. */
    private final int[] support;
    /** What they become when the buffer that was looked at last is placed. */
    private final int[] after;
    /** For each section, how many of those that are looked at come before it. */
    private final int[] before;

    private int count;
    private int allowed;

    Supports(StackModel model, Stack stack) {
        this.model = model;
        this.stack = stack;
        section = new int[model.sections];
        room = new int[model.sections];
        support = new int[model.sections];
        after = new int[model.sections];
        before = new int[model.sections + 1];
    }

    /**
     * Begins with a stack that is settled.
     *
     * @param height what is allowed; where it is below the bound of a section, the bound is what is allowed
     */
    void begin(int height) {
        allowed = Math.max(height, stack.bound());
        int least = allowed - (int) (NEAR * model.lower);
        count = 0;
        int last = NONE;
        for (int s = 0; s < model.sections; s++) {
            before[s] = count;
            if (stack.load[s] > 0 && stack.skyline[s] + stack.load[s] > least) {
                int most = allowed - stack.load[s];
                last = supports(last, s, most) ? last : find(s, 0, model.sections, most, NONE);
                last = last == NONE ? lowest(s) : last;
                section[count] = s;
                room[count] = most;
                support[count++] = last;
                if (stack.offsets[last] > most) {
                    raise(stack.offsets[last] - most);
                }
            }
        }
        before[model.sections] = count;
    }

    private int lowest(int s) {
        int lowest = NONE;
        for (int k = 0; k < stack.length(); k++) {
            if (stack.starts[k] <= s
                    && s < stack.ends[k]
                    && (lowest == NONE || stack.offsets[k] < stack.offsets[lowest])) {
                lowest = k;
            }
        }
        return lowest;
    }

    /** Height in grains that the plan may have. */
    int allowed() {
        return allowed;
    }

    /** Allows so much more. */
    void raise(int grains) {
        allowed += grains;
        for (int i = 0; i < count; i++) {
            room[i] += grains;
        }
    }

    /** Whether an open buffer can come next; {@link #place} is then for that one. */
    boolean allow(int k) {
        int from = before[stack.starts[k]];
        int to = before[stack.ends[k]];
        return isLowEnough(k, from, to) && keepWithin(k, from, to) && keepBefore(k, from) && keepAfter(k, to);
    }

    private boolean isLowEnough(int k, int from, int to) {
        int offset = stack.offsets[k];
        for (int i = from; i < to; i++) {
            if (offset > room[i]) {
                return false;
            }
        }
        return true;
    }

    /** In its own sections it is at most the support itself that is missing then. */
    private boolean keepWithin(int k, int from, int to) {
        int size = stack.sizes[k];
        int found = NONE;
        for (int i = from; i < to; i++) {
            int kept = support[i];
            int most = room[i] + size;
            if (kept == k && most == allowed) {
                kept = NONE;
            } else if (kept == k) {
                if (!supports(found, section[i], most)) {
                    found = find(section[i], 0, model.sections, most, k);
                    if (found == NONE) {
                        return false;
                    }
                }
                kept = found;
            }
            after[i] = kept;
        }
        return true;
    }

    /** Earlier sections keep what ends before it begins. From the latest on: what lives long is of use for many. */
    private boolean keepBefore(int k, int from) {
        int start = stack.starts[k];
        int top = stack.offsets[k] + stack.sizes[k];
        int found = NONE;
        for (int i = from - 1; i >= 0; i--) {
            int kept = support[i];
            if (top > room[i] && kept != NONE && stack.ends[kept] > start) {
                if (!supports(found, section[i], room[i])) {
                    found = find(section[i], 0, start, room[i], k);
                    if (found == NONE) {
                        return false;
                    }
                }
                kept = found;
            }
            after[i] = kept;
        }
        return true;
    }

    /** Later sections keep what begins when it has ended. */
    private boolean keepAfter(int k, int to) {
        int end = stack.ends[k];
        int top = stack.offsets[k] + stack.sizes[k];
        int found = NONE;
        for (int i = to; i < count; i++) {
            int kept = support[i];
            if (top > room[i] && kept != NONE && stack.starts[kept] < end) {
                if (!supports(found, section[i], room[i])) {
                    found = find(section[i], end, model.sections, room[i], k);
                    if (found == NONE) {
                        return false;
                    }
                }
                kept = found;
            }
            after[i] = kept;
        }
        return true;
    }

    private boolean supports(int k, int s, int most) {
        return k != NONE && stack.starts[k] <= s && s < stack.ends[k] && stack.offsets[k] <= most;
    }

    /** The first open buffer but one that lives in a section, within {@code [from, to)}, and is low enough. */
    private int find(int s, int from, int to, int most, int but) {
        int length = stack.length();
        for (int k = 0; k < length; k++) {
            int start = stack.starts[k];
            int end = stack.ends[k];
            if (from <= start && start <= s && s < end && end <= to && stack.offsets[k] <= most && k != but) {
                return k;
            }
        }
        return NONE;
    }

    /** Places the buffer that was allowed last, and only that. */
    void place(int k) {
        int from = before[stack.starts[k]];
        int to = before[stack.ends[k]];
        for (int i = from; i < to; i++) {
            room[i] += stack.sizes[k];
        }
        System.arraycopy(after, 0, support, 0, count);
        stack.place(k);
    }

    /** By how many grains the plan must be allowed to be higher before a buffer can come next; 0 for none. */
    int waste(int k) {
        int waste = 0;
        int size = stack.sizes[k];
        for (int i = 0; i < count; i++) {
            int s = section[i];
            boolean within = stack.starts[k] <= s && s < stack.ends[k];
            int open = allowed - room[i] - (within ? size : 0);
            if (within) {
                waste = Math.max(waste, stack.offsets[k] - room[i]);
            }
            if (open > 0 && !staysLow(support[i], k, allowed - open)) {
                waste = Math.max(waste, lowestAfter(k, s) - (allowed - open));
            }
        }
        return waste;
    }

    /** Whether a support is one still when another buffer is placed. */
    private boolean staysLow(int kept, int placed, int most) {
        boolean lifted = stack.starts[kept] < stack.ends[placed] && stack.starts[placed] < stack.ends[kept];
        return kept != placed && (!lifted || stack.offsets[placed] + stack.sizes[placed] <= most);
    }

    /** Lowest offset of the open buffers of a section when one is placed. */
    private int lowestAfter(int placed, int s) {
        int start = stack.starts[placed];
        int end = stack.ends[placed];
        int top = stack.offsets[placed] + stack.sizes[placed];
        int lowest = Stack.PLACED;
        for (int k = 0; k < stack.length(); k++) {
            if (stack.starts[k] <= s && s < stack.ends[k] && k != placed) {
                boolean lifted = stack.starts[k] < end && start < stack.ends[k];
                lowest = Math.min(lowest, lifted ? Math.max(top, stack.offsets[k]) : stack.offsets[k]);
            }
        }
        return lowest;
    }

    /** Keeps rooms and supports in an array of at least twice the sections. */
    void save(int[] to) {
        System.arraycopy(room, 0, to, 0, count);
        System.arraycopy(support, 0, to, count, count);
    }

    /** Comes back to what was kept; nothing more was allowed in between. */
    void restore(int[] from) {
        System.arraycopy(from, 0, room, 0, count);
        System.arraycopy(from, count, support, 0, count);
    }
}
