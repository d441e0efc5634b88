// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.guard;

import java.nio.file.Path;

/** Goes with a failure to tell where its post-mortem is. */
public final class PostMortemWritten extends RuntimeException {
    private static final long serialVersionUID = 1;

    PostMortemWritten(Path path) {
        super("Post-mortem of this failure: " + path, null, false, false);
    }
}
