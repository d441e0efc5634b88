// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples;

import java.io.Console;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;

/**
 * Says how far a training is and when it will be done: a bar redrawn in place on a console, otherwise a line every few
 * seconds.
 *
 * <p>A listener for {@code fit} over an iterator; a hand-written loop calls {@link #step(double)} itself. Threading: the
 * training thread.
 */
final class Progress extends BaseTrainingListener {
    private static final int BAR_WIDTH = 24;
    private static final long LINE_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final long REDRAW_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final PrintWriter out;
    private final boolean inPlace;
    private final LongSupplier nanoTime;
    private final int total;
    private final long start;

    private int done;
    private long lastShown;
    private int shownLength;

    /**
     * @param inPlace whether {@code out} is a console, where a line can be drawn over
     * @param nanoTime as {@link System#nanoTime()}
     * @param total iterations to come, at least 1
     */
    Progress(PrintWriter out, boolean inPlace, LongSupplier nanoTime, int total) {
        this.out = out;
        this.inPlace = inPlace;
        this.nanoTime = nanoTime;
        this.total = total;
        this.start = nanoTime.getAsLong();
        this.lastShown = start;
    }

    /** Whether this program writes to a terminal, where a line can be drawn over, and not to a file or a pipe. */
    @SuppressWarnings("SystemConsoleNull") // what changes with Java 22 is what isTerminal is asked for
    static boolean onTerminal() {
        Console console = System.console();
        if (console == null) {
            return false;
        }
        try {
            return (Boolean) Console.class.getMethod("isTerminal").invoke(console);
        } catch (ReflectiveOperationException e) {
            return true; // before Java 22 a console always is one
        }
    }

    /** One more iteration is done. */
    void step(double loss) {
        long now = nanoTime.getAsLong();
        done++;
        if (done == total || now - lastShown >= (inPlace ? REDRAW_NANOS : LINE_NANOS)) {
            lastShown = now;
            show(line(inPlace, done, total, now - start, loss));
        }
    }

    @Override
    public void iterationDone(Model model, int iteration, int epoch) {
        step(model.score());
    }

    /** Prints a line of its own, and the bar after it with the next step. */
    void println(String text) {
        if (inPlace && shownLength > 0) {
            out.print('\r' + " ".repeat(shownLength) + '\r');
            shownLength = 0;
        }
        out.println(text);
        out.flush();
    }

    int done() {
        return done;
    }

    private void show(String line) {
        if (!inPlace) {
            out.println(line);
        } else {
            out.print('\r' + line + " ".repeat(Math.max(0, shownLength - line.length())));
            shownLength = line.length();
        }
        out.flush();
    }

    /** E.g. {@code [######------------------]  48/192  25 %  loss 1.2345  0:12 elapsed, 0:36 left}. */
    static String line(boolean bar, int done, int total, long elapsedNanos, double loss) {
        String number = String.format(Locale.ROOT, "%" + String.valueOf(total).length() + "d", done);
        long left = (long) ((double) elapsedNanos / done * (total - done));
        return String.format(
                Locale.ROOT,
                "%s%s/%d %3d %%  loss %.4f  %s elapsed, %s left",
                bar ? bar(done, total) + ' ' : "iteration ",
                number,
                total,
                100L * done / total,
                loss,
                duration(elapsedNanos),
                duration(left));
    }

    private static String bar(int done, int total) {
        int full = (int) ((long) BAR_WIDTH * done / total);
        return '[' + "#".repeat(full) + "-".repeat(BAR_WIDTH - full) + ']';
    }

    /** Minutes and seconds, with hours if there are any. */
    static String duration(long nanos) {
        long seconds = Math.round(nanos / 1e9);
        return seconds < 3600
                ? String.format(Locale.ROOT, "%d:%02d", seconds / 60, seconds % 60)
                : String.format(Locale.ROOT, "%d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);
    }
}
