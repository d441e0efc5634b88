// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.allocator.recording.LiveReplay;
import io.memopt.allocator.recording.OwnerUsage;
import io.memopt.allocator.recording.TraceReader;
import io.memopt.allocator.recording.TraceReader.OnCorruption;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class HtmlReportTest {
    private static final MemorySpace[] SPACES = MemorySpace.values();

    @TempDir
    Path folder;

    @Test
    void page_ofTraining_hasTheFiguresOfAReplay() throws IOException {
        Path trace = folder.resolve("a.memopt");
        SyntheticTraining.write(trace, 40_000);

        assertAnalysisAgrees(assertPageEqualsReplay(trace));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void page_ofRandomEvents_hasTheFiguresOfAReplay(long seed) throws IOException {
        Path trace = folder.resolve("random-" + seed + ".memopt");
        RandomTrace.write(trace, seed, 30_000);

        assertPageEqualsReplay(trace);
    }

    @ParameterizedTest
    @EnumSource(Networks.class)
    void page_ofRealTraining_hasTheFiguresOfAReplay(Networks family) throws IOException {
        Path trace = folder.resolve("real.memopt");
        try {
            ReportDemo.train(family, trace);
        } finally {
            MemoryHooks.uninstall();
        }

        WrittenPage page = assertPageEqualsReplay(trace);

        assertAnalysisAgrees(page);
        assertThat(page.data.getAsJsonObject("iterations").get("count").getAsInt())
                .isEqualTo(20);
        assertThat(page.rows("layers")).hasSizeGreaterThan(3);
        assertThat(page.data.getAsJsonArray("workspaces")).isNotEmpty();
    }

    @Test
    void page_asksTheNetworkForNothing() throws IOException {
        WrittenPage page = report(5_000, "layer");

        assertThat(page.html).contains("default-src 'none'");
        assertThat(page.html)
                .doesNotContainPattern("(src|href|action|data)\\s*=\\s*[\"']?(https?:)?//")
                .doesNotContainPattern("url\\(\\s*[\"']?(https?:)?//")
                .doesNotContain("fetch(", "XMLHttpRequest", "WebSocket", "EventSource", "sendBeacon", "import(")
                .doesNotContainPattern("@import");
    }

    @Test
    void page_ofHostileNames_keepsThemText() throws IOException {
        String hostile = "</script><b>\"'&\u2028<!--<script>";
        WrittenPage page = report(5_000, hostile);

        assertThat(page.html).doesNotContain("</script><b>", "<!--<script>");
        assertThat(page.rows("owners"))
                .anyMatch(owner -> owner.get(2).getAsString().startsWith(hostile));
        int scripts = Pattern.compile("<script").split(page.html, -1).length;
        int ends = Pattern.compile("</script>").split(page.html, -1).length;
        assertThat(scripts).isEqualTo(ends);
    }

    @Test
    void write_twice_givesTheSameFile() throws IOException {
        Path trace = folder.resolve("same.memopt");
        SyntheticTraining.write(trace, 20_000);

        HtmlReport.write(trace, folder.resolve("one/report.html"));
        HtmlReport.write(trace, folder.resolve("two.html"));
        HtmlReport.write(trace, folder.resolve("two.html"));

        assertThat(folder.resolve("two.html")).hasSameBinaryContentAs(folder.resolve("one/report.html"));
        try (var files = Files.list(folder.resolve("one"))) {
            assertThat(files).hasSize(1);
        }
    }

    @Test
    void write_ofDamagedTrace_saysSo() throws IOException {
        Path trace = folder.resolve("damaged.memopt");
        SyntheticTraining.write(trace, 60_000);
        try (FileChannel channel = FileChannel.open(trace, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.allocate(2_000), Files.size(trace) / 2);
        }
        HtmlReport.write(trace, folder.resolve("damaged.html"));

        WrittenPage page = new WrittenPage(folder.resolve("damaged.html"));
        assertThat(page.data.get("exact").getAsBoolean()).isFalse();
        assertThat(page.data.getAsJsonArray("findings").get(0).toString()).contains("Events are missing");
        assertThat(page.lifetimes()).isNotEmpty();
    }

    @Test
    void write_ofTooLongTrace_keepsTheBeginningAndAllTotals() throws IOException {
        Path trace = folder.resolve("long.memopt");
        SyntheticTraining.write(trace, 40_000);
        HtmlReport.write(trace, folder.resolve("whole.html"));
        HtmlReport.write(trace, folder.resolve("cut.html"), 5_000, events -> {});

        WrittenPage whole = new WrittenPage(folder.resolve("whole.html"));
        WrittenPage cut = new WrittenPage(folder.resolve("cut.html"));
        long until = cut.data.get("detailedUntil").getAsLong();
        assertThat(until).isBetween(1L, cut.data.get("end").getAsLong() - 1);
        assertThat(whole.data.get("detailedUntil").getAsLong()).isNegative();
        assertThat(cut.space(0)).isEqualTo(whole.space(0));
        assertThat(used(cut.lifetimes(), until)).isEqualTo(used(whole.lifetimes(), until));
        assertThat(used(cut.lifetimes(), until / 2)).isEqualTo(used(whole.lifetimes(), until / 2));
        assertThat(cut.lifetimes()).hasSizeLessThan(whole.lifetimes().size());
    }

    @Test
    void write_ofTraceWithoutEvents_givesAPage() throws IOException {
        Path trace = folder.resolve("empty.memopt");
        RandomTrace.write(trace, 1, 0);
        HtmlReport.write(trace, folder.resolve("empty.html"));

        WrittenPage page = new WrittenPage(folder.resolve("empty.html"));
        assertThat(page.space(0).get("peakInUse").getAsLong()).isZero();
        assertThat(page.lifetimes()).isEmpty();
    }

    @Test
    void write_ofSomethingElse_leavesNothingBehind() throws IOException {
        Path other = Files.writeString(folder.resolve("other.txt"), "no trace");

        assertThatThrownBy(() -> HtmlReport.write(other, folder.resolve("out.html")))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("other.txt");
        try (var files = Files.list(folder)) {
            assertThat(files).containsExactly(other);
        }
    }

    /** The words and the pictures are of the same peak. */
    private static void assertAnalysisAgrees(WrittenPage page) {
        assertThat(page.data.getAsJsonObject("waste").get("reserved").getAsLong())
                .isEqualTo(page.space(0).get("peakReserved").getAsLong());
    }

    private WrittenPage report(long events, String prefix) throws IOException {
        Path trace = folder.resolve("trace.memopt");
        SyntheticTraining.write(trace, events, prefix);
        HtmlReport.write(trace, folder.resolve("report.html"));
        return new WrittenPage(folder.resolve("report.html"));
    }

    private WrittenPage assertPageEqualsReplay(Path trace) throws IOException {
        HtmlReport.write(trace, folder.resolve("report.html"));
        WrittenPage page = new WrittenPage(folder.resolve("report.html"));
        try (TraceReader reader = new TraceReader(trace, OnCorruption.FAIL)) {
            LiveReplay replay = new LiveReplay(reader.header().startNanos());
            reader.read(replay);
            assertThat(page.data.get("exact").getAsBoolean()).isEqualTo(replay.isExact());
            List<WrittenPage.Life> lives = page.lifetimes();
            for (JsonElement space : page.data.getAsJsonArray("spaces")) {
                assertSpace(page, space.getAsJsonObject(), replay, lives);
            }
            assertUsage(page, replay.usage(reader::owner), reader);
        }
        return page;
    }

    private static void assertSpace(WrittenPage page, JsonObject space, LiveReplay replay, List<WrittenPage.Life> all)
            throws IOException {
        MemorySpace name = MemorySpace.valueOf(space.get("name").getAsString());
        long peakTime = space.get("peakInUseAt").getAsLong();
        long reservedTime = space.get("peakReservedAt").getAsLong();
        List<WrittenPage.Life> lives =
                all.stream().filter(life -> SPACES[life.space()] == name).toList();
        List<WrittenPage.Bin> bins = page.bins(space);

        assertThat(space.get("peakInUse").getAsLong()).isEqualTo(replay.peakInUseBytes(name));
        assertThat(space.get("peakReserved").getAsLong()).isEqualTo(replay.peakReservedBytes(name));
        assertThat(space.get("inUse").getAsLong()).isEqualTo(replay.inUseBytes(name));
        assertThat(space.get("reserved").getAsLong()).isEqualTo(replay.reservedBytes(name));
        // Three ways to the same peak: the table, the far view, and single lifetimes.
        assertThat(WrittenPage.sum(space.getAsJsonArray("peakOwners"), 1)).isEqualTo(replay.peakInUseBytes(name));
        assertThat(bins.stream().mapToLong(WrittenPage.Bin::used).max()).hasValue(replay.peakInUseBytes(name));
        assertThat(bins.stream().mapToLong(WrittenPage.Bin::reserved).max()).hasValue(replay.peakReservedBytes(name));
        assertThat(used(lives, peakTime)).isEqualTo(replay.peakInUseBytes(name));
        assertThat(reserved(lives, reservedTime)).isEqualTo(replay.peakReservedBytes(name));
        assertThat(used(lives, Long.MAX_VALUE - 1)).isEqualTo(replay.inUseBytes(name));
        for (int i = 0; i < bins.size(); i += 1 + bins.size() / 40) {
            assertThat(used(lives, bins.get(i).fullest())).isEqualTo(bins.get(i).used());
        }
    }

    private static void assertUsage(WrittenPage page, List<OwnerUsage> usage, TraceReader reader) {
        Map<String, JsonArray> rows = new HashMap<>();
        for (JsonArray row : page.rows("usage")) {
            rows.put(
                    reader.owner(row.get(0).getAsInt()) + "/"
                            + SPACES[row.get(1).getAsInt()],
                    row);
        }
        assertThat(rows).hasSameSizeAs(usage);
        for (OwnerUsage one : usage) {
            JsonArray row = rows.get(one.owner() + "/" + one.space());
            assertThat(List.of(
                            row.get(2).getAsLong(),
                            row.get(3).getAsLong(),
                            row.get(4).getAsLong(),
                            row.get(5).getAsLong()))
                    .containsExactly(one.liveBytes(), one.peakBytes(), one.allocations(), one.allocatedBytes());
        }
    }

    private static long used(List<WrittenPage.Life> lives, long time) {
        return lives.stream()
                .filter(life -> !life.isBlock() && life.isLiveAt(time))
                .mapToLong(WrittenPage.Life::bytes)
                .sum();
    }

    private static long reserved(List<WrittenPage.Life> lives, long time) {
        int array = 1;
        return lives.stream()
                .filter(life -> life.kind() != array && life.isLiveAt(time))
                .mapToLong(WrittenPage.Life::bytes)
                .sum();
    }
}
