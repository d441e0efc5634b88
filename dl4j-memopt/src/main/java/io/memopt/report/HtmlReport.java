// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import io.memopt.allocator.recording.TraceReader;
import io.memopt.allocator.recording.TraceReader.OnCorruption;
import io.memopt.allocator.recording.TraceSummary;
import io.memopt.analysis.AnalysisOptions;
import io.memopt.analysis.TraceAnalysis;
import io.memopt.analysis.TraceAnalyzer;
import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Objects;
import java.util.function.LongConsumer;

/**
 * A trace as one HTML file that explains it offline: who holds memory, over time, at any moment, by address, layer,
 * workspace and iteration. The file asks the network for nothing and needs a browser of 2023 or later.
 *
 * <p>Every event of the trace (of a very long one: of its beginning) is in the file, in blocks that the browser unpacks where someone looks; what is drawn from
 * farther away keeps the largest value of each bin, so totals and peaks are those of the trace.
 *
 * <p>Reads the trace four times. Memory: by live allocations, owners and workspaces, not by events. The file takes about 4 bytes
 * for each event of a training run.
 */
public final class HtmlReport {
    private static final String[] STYLES = {"uPlot.min.css", "report.css"};
    private static final String[] SCRIPTS = {
        "uPlot.iife.min.js",
        "columns.js",
        "format.js",
        "model.js",
        "moment.js",
        "timeline.js",
        "lifetimes.js",
        "strips.js",
        "icicle.js",
        "tables.js",
        "workspaces.js",
        "chart.js",
        "fragmentation.js",
        "transfers.js",
        "compare.js",
        "main.js"
    };

    /** Lifetimes of a page of some 250 MB, which is what a browser opens with ease; a trace of about 45 million events. */
    private static final long MOST_LIFETIMES = 25_000_000;

    private HtmlReport() {}

    /**
     * Writes the report; an existing file is replaced once the new one is complete. Damaged parts of the trace are left out
     * and the page says so.
     *
     * @throws IOException if the trace cannot be read at all or the report cannot be written
     */
    public static void write(Path trace, Path out) throws IOException {
        write(trace, out, events -> {});
    }

    /**
     * As {@link #write(Path, Path)}.
     *
     * @param progress told now and then how many events were read, over all passes
     */
    public static void write(Path trace, Path out, LongConsumer progress) throws IOException {
        write(trace, out, MOST_LIFETIMES, progress);
    }

    /** As above; after {@code most} lifetimes only long ones are in the page one by one. */
    static void write(Path trace, Path out, long most, LongConsumer progress) throws IOException {
        Objects.requireNonNull(trace, "trace");
        Path target = out.toAbsolutePath();
        Path folder = Objects.requireNonNull(target.getParent(), "out has no folder");
        Files.createDirectories(folder);
        Path details = target.resolveSibling(target.getFileName() + ".details.tmp");
        Path page = target.resolveSibling(target.getFileName() + ".tmp");
        try {
            String data = collect(trace, details, most, progress);
            assemble(data, details, page);
            Files.move(page, target, StandardCopyOption.REPLACE_EXISTING);
        } catch (UncheckedIOException e) {
            throw new IOException("Cannot write the report " + out + ": " + e.getMessage(), e);
        } finally {
            Files.deleteIfExists(details);
            Files.deleteIfExists(page);
        }
    }

    private static String collect(Path trace, Path details, long most, LongConsumer progress) throws IOException {
        TraceAnalysis analysis =
                TraceAnalyzer.analyze(trace, OnCorruption.SKIP, AnalysisOptions.DEFAULTS.withProgress(progress));
        try (TraceReader reader = new TraceReader(trace, OnCorruption.SKIP);
                Writer writer = Files.newBufferedWriter(details, StandardCharsets.ISO_8859_1)) {
            TraceScan scan = new TraceScan(reader.header());
            Counted counted = new Counted(progress, 2 * analysis.facts().events());
            reader.read(counted.over(scan));
            PageRecorder recorder = new PageRecorder(reader.header(), scan.complete(), reader::owner, writer, most);
            TraceSummary summary = reader.read(counted.over(recorder));
            return new PageData(reader, summary, recorder.complete(), analysis).render(trace);
        }
    }

    /** Styles, markup, figures and scripts first, so that the browser paints before it has read the details. */
    private static void assemble(String data, Path details, Path page) throws IOException {
        String[] template = resource("page.html").split("<!-- (STYLES|DATA|SCRIPTS|DETAILS) -->", -1);
        try (Writer out = Files.newBufferedWriter(page, StandardCharsets.UTF_8)) {
            out.write(template[0]);
            for (String style : STYLES) {
                out.write("<style>\n" + resource(style) + "</style>\n");
            }
            out.write(template[1]);
            out.write("<script type=\"application/json\" id=\"data\">" + data + "</script>\n");
            out.write(template[2]);
            out.write("<script>\n/*\n" + resource("uPlot-ORIGIN.txt") + "\n" + resource("uPlot-LICENSE.txt")
                    + "*/\n</script>\n");
            for (String script : SCRIPTS) {
                out.write("<script>\n" + resource(script) + "</script>\n");
            }
            out.write(template[3]);
            out.flush();
            try (Reader blocks = Files.newBufferedReader(details, StandardCharsets.ISO_8859_1)) {
                blocks.transferTo(out);
            }
            out.write(template[4]);
        }
    }

    private static String resource(String name) throws IOException {
        try (InputStream in = HtmlReport.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IOException("The report's " + name + " is missing from the program: build it anew");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
