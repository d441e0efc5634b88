// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

/**
 * Numbers of the {@code .memopt} trace format, version 2. All fixed-width numbers are big-endian.
 *
 * <pre>
 *   file   = preamble text block*
 *   preamble (20 bytes) = magic u64, version u32, text length u32, CRC32C of the text u32
 *   text   = UTF-8 "key=value" lines, see {@link TraceHeader}
 *   block  = header (40 bytes) payload
 *   header = magic u32, payload length u32, events u32, flags u32, sequence number of the first event u64,
 *            base time u64, CRC32C of the payload u32, CRC32C of the 36 bytes before u32
 *   payload = (event | definition)*
 *   event  = head u8 (bits 0-4 kind, 5 thread as before, 6 owner as before, 7 shape as in the last event of this kind),
 *            time delta z, [thread v], [owner v], [code without kind v, workspace v], address delta z, bytes v, extra
 *   definition = head u8 (28 place in code, 29 thread, 30 workspace, 31 owner), body length v, body
 * </pre>
 *
 * <p>v is an unsigned LEB128 number of up to 64 bits, z the same after zigzag. Deltas start anew in every block: time from
 * the base time, address from that of the last event of the same kind, 0 at first. {@code extra} is v, but for the kinds
 * that the text lists as {@code event.relativeExtra} it is z and counts from {@code bytes}.
 *
 * <p>Version 1 had no definition 28, and no kinds after the tenth; it is read as it is.
 *
 * <p>An id is defined in-band before its first use, and again after each block flagged {@link #FRESH_DEFINITIONS}: a block
 * lost or damaged costs the names of what follows only up to the next such block.
 */
final class TraceFormat {
    /** 0x89 "MOPT" CR LF 0x1a: damaged by any transfer that is not binary, as in PNG. */
    static final long MAGIC = 0x894d_4f50_540d_0a1aL;

    static final int VERSION = 2;
    static final int PREAMBLE_BYTES = 20;
    static final int MAX_TEXT_BYTES = 1 << 20;

    /** "MBLK". */
    static final int BLOCK_MAGIC = 0x4d42_4c4b;

    static final int BLOCK_HEADER_BYTES = 40;
    /** A payload is closed once it reaches this size. */
    static final int BLOCK_TARGET_BYTES = 64 * 1024;
    /** Room for one event with all its definitions after the target is nearly reached, see {@link #MAX_NAME_CHARS}. */
    static final int BLOCK_SLACK_BYTES = 32 * 1024;
    /** Readers refuse larger payloads as damage. */
    static final int MAX_PAYLOAD_BYTES = 1 << 20;
    /** Definitions are repeated after this much payload: zoo ResNet50 has about 30 KiB of them, hence 3 %. */
    static final int DEFINITIONS_EVERY_BYTES = 1 << 20;
    /** Longer names are cut; one event needs at most nine names of 3 bytes a character. */
    static final int MAX_NAME_CHARS = 1000;

    /** The block uses no definition made before it. */
    static final int FRESH_DEFINITIONS = 1;
    /** The writer was closed; no events follow. */
    static final int END = 2;
    /** With {@link #END}: recording stopped at the size limit, training went on. */
    static final int LIMIT_REACHED = 4;

    static final int KIND_MASK = 0x1f;
    static final int SAME_THREAD = 0x20;
    static final int SAME_OWNER = 0x40;
    static final int SAME_SHAPE = 0x80;

    static final int FIRST_DEFINITION = 28;
    static final int DEFINE_SITE = 28;
    static final int DEFINE_THREAD = 29;
    static final int DEFINE_WORKSPACE = 30;
    static final int DEFINE_OWNER = 31;

    private TraceFormat() {}
}
