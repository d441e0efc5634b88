// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0

'use strict';

/** Reads the numbers that Columns.java packed, in the same order. */
class Columns {
  static async unpack(text) {
    const packed = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Columns(new Uint8Array(await new Response(stream).arrayBuffer()));
  }

  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  byte() {
    return this.bytes[this.at++];
  }

  /** Never negative; exact up to 2^53. */
  number() {
    let byte = this.bytes[this.at++];
    if (byte < 128) return byte;
    let value = byte & 127;
    let unit = 128;
    do {
      byte = this.bytes[this.at++];
      value += (byte & 127) * unit;
      unit *= 128;
    } while (byte > 127);
    return value;
  }

  signed() {
    const value = this.number();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }

  numbers(count, into = new Float64Array(count)) {
    for (let i = 0; i < count; i++) into[i] = this.number();
    return into;
  }

  deltas(count, into = new Float64Array(count)) {
    let value = 0;
    for (let i = 0; i < count; i++) into[i] = value += this.signed();
    return into;
  }

  raw(count) {
    return this.bytes.subarray(this.at, (this.at += count));
  }
}
