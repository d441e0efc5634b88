// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import picocli.CommandLine.IVersionProvider;

/** The version that the build wrote into {@code version.properties}. */
final class Version implements IVersionProvider {
    private static final String RESOURCE = "version.properties";

    @Override
    public String[] getVersion() throws IOException {
        Properties properties = new Properties();
        try (InputStream in = Version.class.getResourceAsStream(RESOURCE)) {
            if (in == null) {
                throw new IOException("There is no " + RESOURCE + " beside " + Version.class.getName()
                        + ": this jar was not made by the project's build.");
            }
            properties.load(in);
        }
        return new String[] {"memopt " + properties.getProperty("version", "unknown")};
    }
}
