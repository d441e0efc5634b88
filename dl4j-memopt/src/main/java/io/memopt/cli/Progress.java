// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import java.io.Console;
import java.util.function.LongConsumer;

/** Tells a terminal that work goes on: one line on standard error, rewritten at most five times a second. */
final class Progress implements LongConsumer, AutoCloseable {
    private static final long EVERY_NANOS = 200_000_000;

    private final boolean terminal = isTerminal();
    private final long started = System.nanoTime();
    private long last = started;
    private boolean shown;

    @Override
    public void accept(long events) {
        long now = System.nanoTime();
        if (terminal && now - last >= EVERY_NANOS) {
            last = now;
            shown = true;
            System.err.printf("\r%,d events, %.1f s", events, (now - started) / 1e9);
            System.err.flush();
        }
    }

    /** JDK 22 and later have a console even without a terminal, and a method that tells. */
    @SuppressWarnings("SystemConsoleNull")
    private static boolean isTerminal() {
        Console console = System.console();
        if (console == null) {
            return false;
        }
        try {
            return (boolean) Console.class.getMethod("isTerminal").invoke(console);
        } catch (ReflectiveOperationException e) {
            return true;
        }
    }

    @Override
    public void close() {
        if (shown) {
            System.err.print("\r\u001b[K");
            System.err.flush();
        }
    }
}
