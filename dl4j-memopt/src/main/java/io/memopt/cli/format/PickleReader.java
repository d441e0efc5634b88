// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.cli.format;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads Python pickles that hold data only: protocols 2 to 5 of {@code Lib/pickletools.py}, without any opcode that would look
 * up a name or call something. Such an opcode is refused, so a hostile file can do no harm beyond its size.
 *
 * <p>None becomes null, int {@link Long}, float {@link Double}, str {@link String}, bytes {@code byte[]}, list and tuple {@link
 * List}, dict {@link Map}. The whole file is held in memory.
 */
final class PickleReader {
    private static final Object MARK = new Object();
    private static final Object NONE = new Object();
    private static final int LONGEST_INT = Long.BYTES;

    private final Path path;
    private final ByteBuffer in;
    private final ArrayDeque<Object> stack = new ArrayDeque<>();
    private final Map<Integer, Object> memo = new HashMap<>();
    private int at;

    private PickleReader(Path path, byte[] bytes) {
        this.path = path;
        this.in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** The object in a file. */
    static @Nullable Object read(Path path) throws IOException {
        PickleReader reader = new PickleReader(path, Files.readAllBytes(path));
        try {
            return reader.load();
        } catch (RuntimeException e) {
            FileFormatException malformed = reader.malformed("a pickle", "one that is cut off or damaged");
            malformed.initCause(e);
            throw malformed;
        }
    }

    private @Nullable Object load() throws IOException {
        while (true) {
            at = in.position();
            if (!in.hasRemaining()) {
                throw malformed("the end mark of a pickle", "the end of the file");
            }
            int code = in.get() & 0xff;
            if (code == '.') {
                return plain(stack.pop());
            }
            if (!(number(code) || text(code) || container(code) || memory(code))) {
                throw malformed(
                        "plain data", "opcode 0x" + Integer.toHexString(code) + ", which is unknown or would run code");
            }
        }
    }

    private boolean number(int code) throws IOException {
        switch (code) {
            case 'N' -> stack.push(NONE);
            case 0x88 -> stack.push(true);
            case 0x89 -> stack.push(false);
            case 'J' -> stack.push((long) in.getInt());
            case 'K' -> stack.push((long) (in.get() & 0xff));
            case 'M' -> stack.push((long) (in.getShort() & 0xffff));
            case 0x8a -> stack.push(integer(in.get() & 0xff));
            case 0x8b -> stack.push(integer(in.getInt()));
            case 'G' -> {
                in.order(ByteOrder.BIG_ENDIAN);
                stack.push(in.getDouble());
                in.order(ByteOrder.LITTLE_ENDIAN);
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    private boolean text(int code) throws IOException {
        switch (code) {
            case 0x8c -> stack.push(string(in.get() & 0xff));
            case 'X' -> stack.push(string(in.getInt()));
            case 0x8d -> stack.push(string(length(in.getLong())));
            case 'U' -> stack.push(string(in.get() & 0xff));
            case 'T' -> stack.push(string(in.getInt()));
            case 'C' -> stack.push(bytes(in.get() & 0xff));
            case 'B' -> stack.push(bytes(in.getInt()));
            case 0x8e -> stack.push(bytes(length(in.getLong())));
            default -> {
                return false;
            }
        }
        return true;
    }

    private boolean container(int code) {
        switch (code) {
            case '(' -> stack.push(MARK);
            case '}' -> stack.push(new LinkedHashMap<Object, Object>());
            case ']', 0x8f -> stack.push(new ArrayList<Object>());
            case ')' -> stack.push(List.of());
            case 't', 0x91 -> stack.push(plainAll(sinceMark()));
            case 0x85, 0x86, 0x87 -> {
                List<Object> items = new ArrayList<>();
                for (int i = 0; i < code - 0x84; i++) {
                    items.add(0, stack.pop());
                }
                stack.push(plainAll(items));
            }
            case 'a' -> {
                Object item = stack.pop();
                list().add(plain(item));
            }
            case 'e', 0x90 -> {
                List<Object> items = sinceMark();
                items.forEach(item -> list().add(plain(item)));
            }
            case 's' -> {
                Object value = stack.pop();
                Object key = stack.pop();
                map().put(plain(key), plain(value));
            }
            case 'u' -> {
                List<Object> items = sinceMark();
                for (int i = 0; i + 1 < items.size(); i += 2) {
                    map().put(plain(items.get(i)), plain(items.get(i + 1)));
                }
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    private boolean memory(int code) throws IOException {
        switch (code) {
            case 0x80 -> {
                int protocol = in.get() & 0xff;
                if (protocol > 5) {
                    throw malformed("pickle protocol 2 to 5", "protocol " + protocol);
                }
            }
            case 0x95 -> in.getLong();
            case 0x94 -> memo.put(memo.size(), stack.element());
            case 'q' -> memo.put(in.get() & 0xff, stack.element());
            case 'r' -> memo.put(in.getInt(), stack.element());
            case 'h' -> stack.push(remembered(in.get() & 0xff));
            case 'j' -> stack.push(remembered(in.getInt()));
            case '0' -> stack.pop();
            case '1' -> sinceMark();
            case '2' -> stack.push(stack.element());
            default -> {
                return false;
            }
        }
        return true;
    }

    private Object remembered(int index) {
        Object known = memo.get(index);
        if (known == null) {
            throw new IllegalStateException("memo " + index + " is empty");
        }
        return known;
    }

    private List<Object> sinceMark() {
        List<Object> items = new ArrayList<>();
        for (Object item = stack.pop(); item != MARK; item = stack.pop()) {
            items.add(item);
        }
        java.util.Collections.reverse(items);
        return items;
    }

    @SuppressWarnings("unchecked") // only this class makes lists, and their elements are any objects
    private List<@Nullable Object> list() {
        return (List<@Nullable Object>) stack.element();
    }

    @SuppressWarnings("unchecked") // as above
    private Map<@Nullable Object, @Nullable Object> map() {
        return (Map<@Nullable Object, @Nullable Object>) stack.element();
    }

    private static List<@Nullable Object> plainAll(List<Object> items) {
        List<@Nullable Object> plain = new ArrayList<>(items.size());
        items.forEach(item -> plain.add(plain(item)));
        return plain;
    }

    private static @Nullable Object plain(Object item) {
        return item == NONE ? null : item;
    }

    private long integer(int length) throws IOException {
        if (length < 0 || length > LONGEST_INT) {
            // One byte more may be a sign byte of an address above 2^63.
            if (length == LONGEST_INT + 1) {
                long value = in.getLong();
                if (in.get() == 0) {
                    return value;
                }
            }
            throw malformed("integers of at most 64 bits", length + " bytes");
        }
        long value = 0;
        int last = 0;
        for (int i = 0; i < length; i++) {
            last = in.get();
            value |= (last & 0xffL) << (8 * i);
        }
        return last < 0 && length < LONGEST_INT ? value | -1L << (8 * length) : value;
    }

    private String string(int length) {
        return new String(bytes(length), StandardCharsets.UTF_8);
    }

    private byte[] bytes(int length) {
        if (length < 0 || length > in.remaining()) {
            throw new IllegalStateException("length=" + length + ", " + in.remaining() + " bytes are left");
        }
        byte[] bytes = new byte[length];
        in.get(bytes);
        return bytes;
    }

    private static int length(long length) {
        return Math.toIntExact(length);
    }

    private FileFormatException malformed(String expected, String found) {
        return new FileFormatException(
                path,
                "offset " + at,
                expected,
                found,
                "Write it with torch.cuda.memory._dump_snapshot(path), or pickle.dump of the same dictionary");
    }
}
