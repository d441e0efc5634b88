// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples.data;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;

/** Files that travel in the jar. */
final class Resources {
    private Resources() {}

    /** Opens a file of this package; the caller closes it. */
    static InputStream open(String name) throws IOException {
        InputStream in = Resources.class.getResourceAsStream(name);
        if (in == null) {
            throw new FileNotFoundException("Resource " + name + " is missing from the class path beside "
                    + Resources.class.getPackageName() + "; examples/data/prepare.sh makes it");
        }
        return in;
    }
}
