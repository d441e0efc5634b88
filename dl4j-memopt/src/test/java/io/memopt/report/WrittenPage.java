// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.report;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.GZIPInputStream;

/** A report read back from its file, independently of the code that wrote it. */
final class WrittenPage {
    private static final int CATEGORIES = 10;

    /** A lifetime as the page has it; {@code death} is {@link Long#MAX_VALUE} for what is live at the end. */
    record Life(long birth, long death, long place, long bytes, int owner, int workspace, int kind, int space) {
        boolean isLiveAt(long time) {
            return birth <= time && time < death;
        }

        boolean isBlock() {
            return kind == 0;
        }
    }

    /** A bin of the timeline. */
    record Bin(long start, long fullest, long reserved, long used) {}

    final String html;
    final JsonObject data;

    WrittenPage(Path file) throws IOException {
        html = Files.readString(file);
        Matcher matcher = Pattern.compile("<script type=\"application/json\" id=\"data\">(.*?)</script>")
                .matcher(html);
        if (!matcher.find()) {
            throw new IOException("no data in " + file);
        }
        data = JsonParser.parseString(matcher.group(1)).getAsJsonObject();
    }

    JsonObject space(int index) {
        return data.getAsJsonArray("spaces").get(index).getAsJsonObject();
    }

    List<JsonArray> rows(String table) {
        List<JsonArray> rows = new ArrayList<>();
        data.getAsJsonArray(table).forEach(row -> rows.add(row.getAsJsonArray()));
        return rows;
    }

    List<Bin> bins(JsonObject space) throws IOException {
        Numbers numbers = new Numbers(space.get("bins").getAsString());
        int count = space.get("binCount").getAsInt();
        long[] starts = numbers.deltas(count);
        long[] fullest = numbers.deltas(count);
        long[] reserved = numbers.deltas(count);
        long[] used = new long[count];
        for (int category = 0; category < CATEGORIES; category++) {
            long[] bytes = numbers.deltas(count);
            for (int i = 0; i < count; i++) {
                used[i] += bytes[i];
            }
        }
        List<Bin> bins = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            bins.add(new Bin(starts[i], fullest[i], reserved[i], used[i]));
        }
        return bins;
    }

    List<Life> lifetimes() throws IOException {
        JsonObject blocks = data.getAsJsonObject("blocks");
        Numbers index = new Numbers(blocks.get("lifetimeIndex").getAsString());
        List<Life> lives = new ArrayList<>();
        for (int block = 0; block < blocks.get("lifetimeBlocks").getAsInt(); block++) {
            long from = index.number();
            long to = index.number();
            List<Life> some = lifetimes(block, (int) index.number());
            for (Life life : some) {
                boolean outside = life.birth < from || (to != 0 && life.death > to);
                if (outside || (to != 0 && life.death == Long.MAX_VALUE)) {
                    throw new IOException("block " + block + " promises " + from + ".." + to + ", holds " + life);
                }
            }
            lives.addAll(some);
        }
        return lives;
    }

    private List<Life> lifetimes(int block, int count) throws IOException {
        Matcher matcher = Pattern.compile("<script type=\"text/plain\" id=\"b" + block + "\">(.*?)</script>")
                .matcher(html);
        if (!matcher.find()) {
            throw new IOException("block " + block + " is missing");
        }
        Numbers numbers = new Numbers(matcher.group(1));
        long[] births = new long[count];
        long time = 0;
        for (int i = 0; i < count; i++) {
            time += numbers.number();
            births[i] = time;
        }
        long[] durations = numbers.numbers(count);
        long[] places = numbers.deltas(count);
        long[] bytes = numbers.numbers(count);
        long[] owners = numbers.numbers(count);
        long[] workspaces = numbers.numbers(count);
        List<Life> lives = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int flags = numbers.next();
            long death = durations[i] == 0 ? Long.MAX_VALUE : births[i] + durations[i];
            lives.add(new Life(
                    births[i],
                    death,
                    places[i],
                    bytes[i],
                    (int) owners[i],
                    (int) workspaces[i],
                    flags & 7,
                    (flags >> 3) & 3));
        }
        return lives;
    }

    static long sum(Iterable<JsonElement> rows, int column) {
        long sum = 0;
        for (JsonElement row : rows) {
            sum += row.getAsJsonArray().get(column).getAsLong();
        }
        return sum;
    }

    /** What {@link Columns} packed. */
    private static final class Numbers {
        private final byte[] bytes;
        private int at;

        Numbers(String text) throws IOException {
            try (GZIPInputStream in = new GZIPInputStream(
                    new ByteArrayInputStream(Base64.getDecoder().decode(text)))) {
                bytes = in.readAllBytes();
            }
        }

        int next() {
            return bytes[at++] & 0xff;
        }

        long number() {
            long value = 0;
            int shift = 0;
            int part;
            do {
                part = next();
                value |= (part & 0x7fL) << shift;
                shift += 7;
            } while (part > 0x7f);
            return value;
        }

        long[] numbers(int count) {
            long[] values = new long[count];
            for (int i = 0; i < count; i++) {
                values[i] = number();
            }
            return values;
        }

        long[] deltas(int count) {
            long[] values = new long[count];
            long value = 0;
            for (int i = 0; i < count; i++) {
                long coded = number();
                value += (coded >>> 1) ^ -(coded & 1);
                values[i] = value;
            }
            return values;
        }
    }
}
