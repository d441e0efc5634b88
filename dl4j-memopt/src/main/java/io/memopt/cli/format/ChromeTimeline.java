// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli.format;

import com.google.gson.stream.JsonWriter;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** Chromium's Trace Event Format, JSON object form. Times are microseconds with three decimals. */
final class ChromeTimeline implements Timeline {
    private static final int PROCESS = 1;

    private final JsonWriter json;
    private final Map<String, Integer> tracks = new LinkedHashMap<>();

    ChromeTimeline(OutputStream out) {
        json = new JsonWriter(new OutputStreamWriter(out, StandardCharsets.UTF_8));
    }

    @Override
    public void begin(String process) throws IOException {
        json.beginObject()
                .name("displayTimeUnit")
                .value("ms")
                .name("traceEvents")
                .beginArray();
        metadata("process_name", 0, process);
    }

    @Override
    public void counter(String name, long nanos, long bytes) throws IOException {
        open("C", name, nanos, 0)
                .name("args")
                .beginObject()
                .name("bytes")
                .value(bytes)
                .endObject();
        json.endObject();
    }

    @Override
    public void slice(String track, String name, long startNanos, long endNanos) throws IOException {
        open("X", name, startNanos, track(track)).name("dur").jsonValue(micros(endNanos - startNanos));
        json.endObject();
    }

    @Override
    public void instant(String track, String name, long nanos) throws IOException {
        open("i", name, nanos, track(track)).name("s").value("t");
        json.endObject();
    }

    @Override
    public void end() throws IOException {
        json.endArray().endObject();
        json.flush();
    }

    private JsonWriter open(String phase, String name, long nanos, int thread) throws IOException {
        return json.beginObject()
                .name("ph")
                .value(phase)
                .name("name")
                .value(name)
                .name("pid")
                .value(PROCESS)
                .name("tid")
                .value(thread)
                .name("ts")
                .jsonValue(micros(nanos));
    }

    private int track(String name) throws IOException {
        Integer known = tracks.get(name);
        if (known == null) {
            known = tracks.size() + 1;
            tracks.put(name, known);
            metadata("thread_name", known, name);
        }
        return known;
    }

    private void metadata(String kind, int thread, String name) throws IOException {
        open("M", kind, 0, thread)
                .name("args")
                .beginObject()
                .name("name")
                .value(name)
                .endObject();
        json.endObject();
    }

    private static String micros(long nanos) {
        String digits = Long.toString(nanos % 1000 + 1000).substring(1);
        return nanos / 1000 + "." + digits;
    }
}
