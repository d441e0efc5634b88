// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

/** What the process answers with. Part of the public interface. */
final class ExitCode {
    static final int OK = 0;
    /** A comparison went over its threshold, or no plan fits. */
    static final int OVER = 1;
    /** The command line makes no sense. */
    static final int USAGE = 2;
    /** A file cannot be read or written. */
    static final int FILE = 3;

    private ExitCode() {}
}
