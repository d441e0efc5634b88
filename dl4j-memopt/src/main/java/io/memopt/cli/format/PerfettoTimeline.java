// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli.format;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Perfetto's trace, written by hand: few messages, and their field numbers never change. Numbers from
 * {@code protos/perfetto/trace/trace_packet.proto}, {@code track_event/track_descriptor.proto}, {@code track_event.proto} and
 * {@code counter_descriptor.proto}.
 */
final class PerfettoTimeline implements Timeline {
    private static final int TRACE_PACKET = 1;
    private static final int PACKET_TIMESTAMP = 8;
    private static final int PACKET_SEQUENCE = 10;
    private static final int PACKET_TRACK_EVENT = 11;
    private static final int PACKET_TRACK_DESCRIPTOR = 60;
    private static final int DESCRIPTOR_UUID = 1;
    private static final int DESCRIPTOR_NAME = 2;
    private static final int DESCRIPTOR_PROCESS = 3;
    private static final int DESCRIPTOR_PARENT = 5;
    private static final int DESCRIPTOR_COUNTER = 8;
    private static final int PROCESS_PID = 1;
    private static final int PROCESS_NAME = 6;
    private static final int COUNTER_UNIT = 3;
    private static final int UNIT_SIZE_BYTES = 3;
    private static final int EVENT_TYPE = 9;
    private static final int EVENT_TRACK = 11;
    private static final int EVENT_NAME = 23;
    private static final int EVENT_COUNTER_VALUE = 30;
    private static final int TYPE_SLICE_BEGIN = 1;
    private static final int TYPE_SLICE_END = 2;
    private static final int TYPE_INSTANT = 3;
    private static final int TYPE_COUNTER = 4;
    private static final int VARINT = 0;
    private static final int LENGTH_DELIMITED = 2;
    private static final long ROOT = 1;
    private static final int SEQUENCE = 1;

    private final OutputStream out;
    private final Map<String, Long> tracks = new LinkedHashMap<>();

    PerfettoTimeline(OutputStream out) {
        this.out = out;
    }

    @Override
    public void begin(String process) throws IOException {
        Message descriptor = new Message()
                .number(DESCRIPTOR_UUID, ROOT)
                .message(
                        DESCRIPTOR_PROCESS, new Message().number(PROCESS_PID, 1).text(PROCESS_NAME, process));
        packet(new Message().message(PACKET_TRACK_DESCRIPTOR, descriptor));
    }

    @Override
    public void counter(String name, long nanos, long bytes) throws IOException {
        event(nanos, TYPE_COUNTER, track(name, true), new Message().number(EVENT_COUNTER_VALUE, bytes));
    }

    @Override
    public void slice(String track, String name, long startNanos, long endNanos) throws IOException {
        long number = track(track, false);
        event(startNanos, TYPE_SLICE_BEGIN, number, new Message().text(EVENT_NAME, name));
        event(endNanos, TYPE_SLICE_END, number, new Message());
    }

    @Override
    public void instant(String track, String name, long nanos) throws IOException {
        event(nanos, TYPE_INSTANT, track(track, false), new Message().text(EVENT_NAME, name));
    }

    @Override
    public void end() throws IOException {
        out.flush();
    }

    private void event(long nanos, int type, long track, Message rest) throws IOException {
        Message event = new Message().number(EVENT_TYPE, type).number(EVENT_TRACK, track);
        event.raw(rest);
        packet(new Message().number(PACKET_TIMESTAMP, nanos).message(PACKET_TRACK_EVENT, event));
    }

    private long track(String name, boolean counter) throws IOException {
        Long known = tracks.get(name);
        if (known == null) {
            known = ROOT + 1 + tracks.size();
            tracks.put(name, known);
            Message descriptor = new Message()
                    .number(DESCRIPTOR_UUID, known)
                    .text(DESCRIPTOR_NAME, name)
                    .number(DESCRIPTOR_PARENT, ROOT);
            if (counter) {
                descriptor.message(DESCRIPTOR_COUNTER, new Message().number(COUNTER_UNIT, UNIT_SIZE_BYTES));
            }
            packet(new Message().message(PACKET_TRACK_DESCRIPTOR, descriptor));
        }
        return known;
    }

    private void packet(Message packet) throws IOException {
        packet.number(PACKET_SEQUENCE, SEQUENCE);
        out.write(new Message().message(TRACE_PACKET, packet).bytes.toByteArray());
    }

    /** A protocol buffer in the making. */
    private static final class Message {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        Message number(int field, long value) {
            varint((long) field << 3 | VARINT);
            varint(value);
            return this;
        }

        Message text(int field, String value) {
            return delimited(field, value.getBytes(StandardCharsets.UTF_8));
        }

        Message message(int field, Message value) {
            return delimited(field, value.bytes.toByteArray());
        }

        void raw(Message fields) {
            bytes.writeBytes(fields.bytes.toByteArray());
        }

        private Message delimited(int field, byte[] value) {
            varint((long) field << 3 | LENGTH_DELIMITED);
            varint(value.length);
            bytes.writeBytes(value);
            return this;
        }

        private void varint(long value) {
            long rest = value;
            while ((rest & ~0x7fL) != 0) {
                bytes.write((int) ((rest & 0x7f) | 0x80));
                rest >>>= 7;
            }
            bytes.write((int) rest);
        }
    }
}
