// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli.format;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.function.LongConsumer;

/** Formats that become a trace. */
public enum ImportFormat {
    /** A snapshot by {@code torch.cuda.memory._dump_snapshot}. */
    MEMORY_VIZ {
        @Override
        public void importFile(Path source, Path target, LongConsumer progress) throws IOException {
            MemoryVizImport.read(source, target, progress);
        }
    },
    /** A log of RMM's logging resource adaptor. */
    RMM_CSV {
        @Override
        public void importFile(Path source, Path target, LongConsumer progress) throws IOException {
            RmmImport.read(source, target, progress);
        }
    };

    /** The name on the command line. */
    @Override
    public String toString() {
        return this == MEMORY_VIZ
                ? "memory_viz"
                : name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /**
     * Writes {@code source} as a trace; an existing file is overwritten.
     *
     * @throws FileFormatException if the source is not what it should be
     */
    public abstract void importFile(Path source, Path target, LongConsumer progress) throws IOException;
}
