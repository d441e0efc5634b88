// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0

'use strict';

/** Colours of categories and phases: those of the Grafana dashboards. */
const CATEGORY_COLORS = {
  parameters: '#3274D9',
  updater_state: '#8AB8FF',
  gradients: '#8F3BB8',
  activation_gradients: '#E0559B',
  activations: '#FF8833',
  working_memory: '#F2CC0C',
  input: '#56A64B',
  helper_scratch: '#1AA6A6',
  constants: '#9A7B4F',
  other: '#9EA3AD',
};
const PHASE_COLORS = {
  forward: '#3274D9',
  backward: '#FF8833',
  update: '#8F3BB8',
  score: '#1AA6A6',
  inference: '#56A64B',
  evaluation: '#F2CC0C',
  other: '#9EA3AD',
  none: '#6E7480',
};
/** From the ground up: what stays first, what comes and goes last. */
const STACK = ['parameters', 'updater_state', 'gradients', 'constants', 'input', 'other', 'activations', 'activation_gradients', 'working_memory', 'helper_scratch'];

/** Blocks kept unpacked; one takes some 400 KiB. */
const BLOCKS_KEPT = 96;
const KIND = { block: 0, array: 1 };
const CONTINUED = 32;

/** The trace as the page knows it: tables at once, lifetimes and contexts block by block where someone looks. */
class Model {
  constructor(data) {
    Object.assign(this, data);
    this.owners = new Map();
    for (const [id, network, layer, phase, category, workspace] of data.owners) {
      const owner = { id, network, layer, phase: data.phases[phase], category: data.categories[category], workspace };
      owner.text = [network, layer, words(owner.phase), words(owner.category), workspace].join(' ').toLowerCase();
      this.owners.set(id, owner);
    }
    this.unknown = { id: 0, network: '', layer: '', phase: 'none', category: 'other', workspace: '', text: 'none other' };
    this.stack = STACK.map((name) => data.categories.indexOf(name)).filter((i) => i >= 0);
    this.categoryOf = new Uint8Array(Math.max(0, ...this.owners.keys()) + 1);
    for (const owner of this.owners.values()) this.categoryOf[owner.id] = data.categories.indexOf(owner.category);
    this.cache = new Map();
    this.turns = new Turns();
  }

  owner(id) {
    return this.owners.get(id) ?? this.unknown;
  }

  /** What the first picture needs. */
  async load() {
    await Promise.all([
      ...this.spaces.map((space) => this.loadBins(space)),
      this.loadIterations(),
      this.loadIndex(),
      this.loadCollections(),
    ]);
  }

  async loadBins(space) {
    const columns = await Columns.unpack(space.bins);
    const count = space.binCount;
    const bins = { count, starts: columns.deltas(count), fullest: columns.deltas(count), reserved: columns.deltas(count) };
    bins.byCategory = this.categories.map(() => columns.deltas(count));
    bins.used = new Float64Array(count);
    for (const category of bins.byCategory) for (let i = 0; i < count; i++) bins.used[i] += category[i];
    space.timeline = bins;
  }

  async loadGrid(space) {
    if (space.cells) return;
    const columns = await Columns.unpack(space.grid);
    const cells = space.gridColumns * space.gridRows;
    const category = columns.raw(cells);
    const share = columns.raw(cells);
    const packed = await Columns.unpack(space.blocks);
    space.outlines = Array.from({ length: space.blockCount }, () => ({
      birth: packed.number(),
      death: packed.number(),
      place: packed.number(),
      bytes: packed.number(),
      workspace: packed.number(),
    }));
    space.cells = { category, share };
  }

  async loadIterations() {
    const { count, packed } = this.iterations;
    const columns = await Columns.unpack(packed);
    this.iterations = { count, times: columns.deltas(count), numbers: columns.deltas(count), epochs: columns.deltas(count), owners: columns.numbers(count) };
  }

  async loadCollections() {
    const { count, packed } = this.collections;
    const columns = await Columns.unpack(packed);
    this.collections = Array.from({ length: count }, () => ({ time: columns.number(), duration: columns.number(), forced: columns.number() === 1 }));
  }

  async loadIndex() {
    const { lifetimeBlocks, lifetimeIndex, contextBlocks, contextIndex } = this.blocks;
    let columns = await Columns.unpack(lifetimeIndex);
    this.lifetimeIndex = Array.from({ length: lifetimeBlocks }, () => ({ from: columns.number(), to: columns.number() || Infinity, count: columns.number() }));
    columns = await Columns.unpack(contextIndex);
    this.contextIndex = Array.from({ length: contextBlocks }, () => ({ from: columns.number(), count: columns.number() }));
  }

  async loadSamples() {
    if (this.samples.times) return this.samples;
    const { count, packed } = this.samples;
    const columns = await Columns.unpack(packed);
    this.samples.times = columns.deltas(count);
    this.samples.rows = this.usage.map(() => columns.deltas(count));
    return this.samples;
  }

  /** Start of the iteration with this index: the end of the one before, of whatever network. */
  iterationStart(index) {
    return index > 0 ? this.iterations.times[index - 1] : 0;
  }

  /** Index of the iteration that a moment is in; equal to the count after the last. */
  iterationAt(time) {
    return upperBound(this.iterations.times, time - 1);
  }

  // ---- lifetimes

  /** Numbers of the blocks that may hold something live in [from, to]. */
  blocksIn(from, to) {
    const found = [];
    this.lifetimeIndex.forEach((block, i) => {
      if (block.from <= to && block.to >= from) found.push(i);
    });
    return found;
  }

  /** False for times of a very long trace that the page knows from afar only. */
  isDetailed(to) {
    return this.detailedUntil < 0 || to <= this.detailedUntil;
  }

  /** How many lifetimes those blocks hold. */
  weight(blocks) {
    return blocks.reduce((sum, i) => sum + this.lifetimeIndex[i].count, 0);
  }

  /** Those that are unpacked, or null when some are not. */
  unpacked(blocks) {
    const found = blocks.map((i) => this.cache.get(`b${i}`));
    return found.every((block) => block && !(block instanceof Promise)) ? found : null;
  }

  /** Unpacks blocks. */
  lifetimes(blocks) {
    return Promise.all(blocks.map((i) => this.block(`b${i}`, (columns) => this.readLifetimes(columns, this.lifetimeIndex[i]))));
  }

  /** Unpacks contexts of [from, to]. */
  contexts(from, to) {
    const index = this.contextIndex;
    let first = index.findIndex((block, i) => i + 1 === index.length || index[i + 1].from > from);
    const blocks = [];
    for (; first >= 0 && first < index.length && index[first].from <= to; first++) blocks.push(first);
    return blocks;
  }

  loadContexts(blocks) {
    return Promise.all(
      blocks.map((i) =>
        this.block(`c${i}`, (columns) => {
          const count = this.contextIndex[i].count;
          return { times: columns.deltas(count), owners: columns.numbers(count, new Int32Array(count)) };
        }),
      ),
    );
  }

  unpackedContexts(blocks) {
    const found = blocks.map((i) => this.cache.get(`c${i}`));
    return found.every((block) => block && !(block instanceof Promise)) ? found : null;
  }

  async block(id, read) {
    const known = this.cache.get(id);
    if (known) {
      this.cache.delete(id);
      this.cache.set(id, known);
      return known;
    }
    const loading = elementOnceParsed(id).then((element) => this.turns.take(async () => read(await Columns.unpack(element.textContent))));
    this.cache.set(id, loading);
    const block = await loading;
    this.cache.set(id, block);
    for (const oldest of this.cache.keys()) {
      if (this.cache.size <= BLOCKS_KEPT) break;
      if (!(this.cache.get(oldest) instanceof Promise)) this.cache.delete(oldest);
    }
    return block;
  }

  readLifetimes(columns, { count }) {
    const birth = new Float64Array(count);
    let time = 0;
    for (let i = 0; i < count; i++) birth[i] = time += columns.number();
    const death = new Float64Array(count);
    for (let i = 0; i < count; i++) death[i] = birth[i] + (columns.number() || Infinity);
    return {
      count,
      birth,
      death,
      place: columns.deltas(count),
      bytes: columns.numbers(count),
      owner: columns.numbers(count, new Int32Array(count)),
      workspace: columns.numbers(count, new Int32Array(count)),
      flags: columns.raw(count).slice(),
    };
  }

  /** What was in use at the peak, by owner: known without unpacking anything. */
  peakComposition(space) {
    return { owners: space.peakOwners.map(([owner, bytes, arrays]) => ({ owner: this.owner(owner), bytes, arrays })), largest: null };
  }

  /** From afar: the composition at the fullest moment of the bin, by category. */
  categoriesAt(time, space) {
    const { starts, byCategory } = space.timeline;
    const bin = Math.max(0, upperBound(starts, time) - 1);
    const owners = this.categories.map((category, c) => ({ owner: { ...this.unknown, id: -1, category, text: words(category) }, bytes: byCategory[c][bin], arrays: 0 }));
    return { owners: owners.filter((row) => row.bytes > 0), largest: [] };
  }

  /** Everything in use in a space at a moment, by owner, and the largest arrays. */
  async compositionAt(time, space) {
    if (!this.isDetailed(time)) return time === space.peakInUseAt ? { ...this.peakComposition(space), largest: [] } : this.categoriesAt(time, space);
    const owners = new Map();
    const largest = [];
    for (const block of await this.lifetimes(this.blocksIn(time, time))) {
      for (let i = 0; i < block.count && block.birth[i] <= time; i++) {
        const kind = block.flags[i] & 7;
        if (block.death[i] <= time || kind === KIND.block || ((block.flags[i] >> 3) & 3) !== space.ordinal) continue;
        const owner = block.owner[i];
        const sum = owners.get(owner) ?? { owner: this.owner(owner), bytes: 0, arrays: 0 };
        sum.bytes += block.bytes[i];
        sum.arrays++;
        owners.set(owner, sum);
        largest.push(lifetimeOf(this, block, i));
      }
    }
    largest.sort((a, b) => b.bytes - a.bytes || a.birth - b.birth);
    return { owners: [...owners.values()].sort((a, b) => b.bytes - a.bytes), largest: largest.slice(0, 200) };
  }
}

/** One lifetime as an object, for those few that are shown in words. */
function lifetimeOf(model, block, i) {
  return {
    birth: block.birth[i],
    death: block.death[i],
    place: block.place[i],
    bytes: block.bytes[i],
    owner: model.owner(block.owner[i]),
    workspace: block.workspace[i],
    kind: model.kinds[block.flags[i] & 7],
    continued: (block.flags[i] & CONTINUED) !== 0,
  };
}

/** Where in memory a place on the address axis is. */
function addressOf(space, place) {
  const region = space.regions.findLast(([, , start]) => start <= place);
  return region ? region[0] + place - region[2] : 0;
}

/** The details follow the figures in the file, so they may not be there yet. */
async function elementOnceParsed(id) {
  while (!byId(id) && document.readyState === 'loading') {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return byId(id);
}

/** Does one piece of work after the other and lets the browser draw in between. */
class Turns {
  static SLICE_MILLIS = 5;

  constructor() {
    this.last = Promise.resolve();
    this.since = 0;
  }

  take(work) {
    const turn = this.last.then(async () => {
      if (performance.now() - this.since > Turns.SLICE_MILLIS) {
        await new Promise((resolve) => setTimeout(resolve));
        this.since = performance.now();
      }
      return work();
    });
    this.last = turn.catch(() => {});
    return turn;
  }
}

/** What all views look at; tells those who asked when it changes. */
class View {
  constructor(model) {
    this.model = model;
    this.space = model.spaces[0];
    this.end = model.end * 1.0005 + 1;
    this.from = 0;
    this.to = this.end;
    this.moment = this.space.peakInUseAt;
    this.search = '';
    this.matches = null;
    this.listeners = new Map();
  }

  on(names, listener) {
    for (const name of names.split(' ')) this.listeners.set(name, [...(this.listeners.get(name) ?? []), listener]);
  }

  emit(name) {
    for (const listener of this.listeners.get(name) ?? []) listener();
  }

  /** Shows [from, to], moved and cut so that it lies in the trace and is at least 20 ns wide. */
  show(from, to) {
    const width = Math.min(this.end, Math.max(20, to - from));
    const middle = (from + to) / 2;
    this.from = Math.max(0, Math.min(this.end - width, to - from < 20 ? middle - 10 : from));
    this.to = this.from + width;
    this.emit('window');
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  pan(share) {
    const by = (this.to - this.from) * share;
    this.show(this.from + by, this.to + by);
  }

  pick(time) {
    this.moment = Math.max(0, Math.min(this.model.end, Math.round(time)));
    this.emit('moment');
  }

  select(space) {
    this.space = space;
    this.moment = space.peakInUseAt;
    this.emit('space');
    this.emit('window');
    this.emit('moment');
  }

  find(text) {
    this.search = text.trim().toLowerCase();
    this.matches = null;
    if (this.search) {
      this.matches = new Uint8Array(this.model.categoryOf.length);
      const parts = this.search.split(/\s+/);
      for (const owner of this.model.owners.values()) this.matches[owner.id] = parts.every((part) => owner.text.includes(part)) ? 1 : 0;
    }
    this.emit('search');
  }

  isMatch(owner) {
    return !this.matches || this.matches[owner.id] === 1 || (owner.id < 0 && owner.text.includes(this.search));
  }
}
