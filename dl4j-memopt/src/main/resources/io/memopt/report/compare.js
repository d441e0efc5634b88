// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0

'use strict';

/** Two iterations side by side: what each layer had at most and allocated in them. */
class Compare {
  constructor(view, boxes) {
    this.view = view;
    Object.assign(this, boxes);
    const { count } = view.model.iterations;
    this.first.value = 0;
    const last = view.model.detailedUntil < 0 ? count - 1 : view.model.iterationAt(view.model.detailedUntil) - 1;
    this.second.value = Math.max(0, last);
    for (const input of [this.first, this.second]) {
      input.max = Math.max(0, count - 1);
      input.addEventListener('change', () => this.draw());
    }
    view.on('space', () => this.draw());
    view.on('search', () => this.draw());
  }

  async draw() {
    const { model } = this.view;
    const { count, numbers } = model.iterations;
    if (count < 2) {
      this.note.textContent = 'The trace has fewer than two training iterations, so there is nothing to compare.';
      this.result.replaceChildren();
      return;
    }
    const pick = (input) => Math.max(0, Math.min(count - 1, Math.round(Number(input.value)) || 0));
    const [a, b] = [pick(this.first), pick(this.second)];
    if (!model.isDetailed(Math.max(model.iterations.times[a], model.iterations.times[b]))) {
      this.note.textContent = `The trace is too long for one page: iterations can be compared up to ${formatMoment(model.detailedUntil, 1e6)}, which is iteration ${model.iterationAt(model.detailedUntil) - 1}.`;
      this.result.replaceChildren();
      return;
    }
    const mine = (this.latest = {});
    const [before, after] = [await this.measure(a), await this.measure(b)];
    if (this.latest !== mine) return;
    const grown = after.peak - before.peak;
    this.note.textContent =
      `Iteration ${numbers[a]}: peak ${formatBytes(before.peak)}, ${formatBytes(before.allocated)} allocated in ${formatDuration(before.nanos)}. ` +
      `Iteration ${numbers[b]}: peak ${formatBytes(after.peak)}, ${formatBytes(after.allocated)} allocated in ${formatDuration(after.nanos)}. ` +
      `The peak ${grown === 0 ? 'is the same' : `${grown > 0 ? 'grew' : 'fell'} by ${formatBytes(Math.abs(grown))}`}.`;
    const layers = [...new Set([...before.layers.keys(), ...after.layers.keys()])].map((layer) => ({ layer, a: before.layers.get(layer) ?? Compare.NONE, b: after.layers.get(layer) ?? Compare.NONE }));
    const signed = (bytes) => (bytes === 0 ? el('span', { class: 'soft' }, '0') : el('b', { class: bytes > 0 ? 'bad' : 'good' }, `${bytes > 0 ? '+' : ''}${formatBytes(bytes)}`));
    const { search } = this.view;
    table(
      this.result,
      [
        { name: 'layer', value: (row) => row.layer, cell: (row) => row.layer || el('span', { class: 'soft' }, 'whole network') },
        { name: 'peak, first', number: true, value: (row) => row.a.peak, cell: (row) => formatBytes(row.a.peak) },
        { name: 'peak, second', number: true, value: (row) => row.b.peak, cell: (row) => formatBytes(row.b.peak) },
        { name: 'difference', number: true, value: (row) => Math.abs(row.b.peak - row.a.peak), cell: (row) => signed(row.b.peak - row.a.peak) },
        { name: 'allocated, first', number: true, value: (row) => row.a.allocated, cell: (row) => formatBytes(row.a.allocated) },
        { name: 'allocated, second', number: true, value: (row) => row.b.allocated, cell: (row) => formatBytes(row.b.allocated) },
        { name: 'arrays', number: true, value: (row) => row.b.arrays, cell: (row) => (row.a.arrays === row.b.arrays ? formatCount(row.b.arrays) : `${formatCount(row.a.arrays)} → ${formatCount(row.b.arrays)}`) },
      ],
      layers,
      { sort: 3, limit: 14, dim: (row) => search && !row.layer.toLowerCase().includes(search) },
    );
  }

  static NONE = { peak: 0, allocated: 0, arrays: 0 };

  /** From the single lifetimes of the iteration; arrays from before count for the peaks. */
  async measure(index) {
    const { model, space } = this.view;
    const from = model.iterationStart(index);
    const to = model.iterations.times[index];
    const layers = new Map();
    const changes = [];
    const total = { now: 0, peak: 0, allocated: 0, nanos: to - from };
    for (const block of await model.lifetimes(model.blocksIn(from, to))) {
      for (let i = 0; i < block.count; i++) {
        const flags = block.flags[i];
        if (block.birth[i] > to || block.death[i] <= from || (flags & 7) === KIND.block || ((flags >> 3) & 3) !== space.ordinal) continue;
        const name = model.owner(block.owner[i]).layer;
        const layer = layers.get(name) ?? { now: 0, peak: 0, allocated: 0, arrays: 0 };
        layers.set(name, layer);
        changes.push([Math.max(from, block.birth[i]), block.bytes[i], layer]);
        if (block.death[i] <= to) changes.push([block.death[i], -block.bytes[i], layer]);
        if (block.birth[i] > from && !(flags & CONTINUED)) {
          layer.allocated += block.bytes[i];
          layer.arrays++;
          total.allocated += block.bytes[i];
        }
      }
    }
    changes.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    for (const [, bytes, layer] of changes) {
      layer.now += bytes;
      total.now += bytes;
      layer.peak = Math.max(layer.peak, layer.now);
      total.peak = Math.max(total.peak, total.now);
    }
    return { ...total, layers };
  }
}
