// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0

'use strict';

/** Left of every picture with a time axis, and right of it. */
const GUTTER = 84;
const MARGIN = 28;
/** Up to this many lifetimes a window is drawn from single events. */
const SINGLE_EVENTS = 40_000;

/**
 * The fullest moment of every pixel column of a window: what each category had then (exact), when that was, and the most
 * that was reserved in that column. From bins when far away, from single events when near.
 */
class Fullest {
  constructor(view) {
    this.view = view;
    this.region = null;
  }

  /** Fills columns for [from, to]; {@code exact} says that single events were looked at. */
  columns(from, to, count) {
    const categories = this.view.model.categories.length;
    const columns = { count, from, to, byCategory: new Float64Array(count * categories), used: new Float64Array(count), reserved: new Float64Array(count), fullest: new Float64Array(count), matched: null };
    const region = this.regionFor(from, to);
    columns.exact = region !== null;
    if (region) this.sweep(region, columns);
    else this.fromBins(columns);
    return columns;
  }

  fromBins(columns) {
    const { starts, fullest, reserved, used, byCategory, count } = this.view.space.timeline;
    const step = (columns.to - columns.from) / columns.count;
    let bin = Math.max(0, upperBound(starts, columns.from) - 1);
    for (let x = 0; x < columns.count && count > 0; x++) {
      const end = columns.from + (x + 1) * step;
      let most = bin;
      let held = 0;
      if (starts[bin] >= end) continue;
      for (;;) {
        if (used[bin] > used[most]) most = bin;
        held = Math.max(held, reserved[bin]);
        if (bin + 1 >= count || starts[bin + 1] >= end) break;
        bin++;
      }
      columns.used[x] = used[most];
      columns.reserved[x] = held;
      columns.fullest[x] = fullest[most];
      for (let c = 0; c < byCategory.length; c++) columns.byCategory[x * byCategory.length + c] = byCategory[c][most];
    }
  }

  /** The single events of a window and some more, if they are few enough and unpacked; else they are asked for. */
  regionFor(from, to) {
    const { view } = this;
    const old = this.region;
    if (old && old.space === view.space && old.from <= from && old.to >= to && old.matches === view.matches) return old;
    const model = view.model;
    let blocks = model.blocksIn(from, to);
    if (model.weight(blocks) > SINGLE_EVENTS || !model.isDetailed(to)) return null;
    const margin = (to - from) / 2;
    const wide = model.blocksIn(from - margin, to + margin);
    const wideFits = model.weight(wide) <= 2 * SINGLE_EVENTS && model.isDetailed(to + margin);
    const unpacked = (wideFits && model.unpacked(wide)) || null;
    if (unpacked) return (this.region = this.collect(unpacked, from - margin, to + margin));
    const narrow = model.unpacked(blocks);
    if (wideFits) blocks = wide;
    model.lifetimes(blocks).then(() => view.emit('loaded'));
    return narrow ? (this.region = this.collect(narrow, from, to)) : null;
  }

  /** Births and deaths in order of time, and what was there at the start. */
  collect(blocks, from, to) {
    const { model, space, matches } = this.view;
    let size = 0;
    for (const block of blocks) size += 2 * block.count;
    const times = new Float64Array(size);
    const bytes = new Float64Array(size);
    const kinds = new Int8Array(size);
    const region = { space, from, to, matches, byCategory: new Float64Array(model.categories.length), reserved: 0, matched: 0 };
    let n = 0;
    const put = (time, category, owned, matched, amount) => {
      if (time <= from) {
        if (category >= 0) region.byCategory[category] += amount;
        if (owned) region.reserved += amount;
        if (matched) region.matched += amount;
        return;
      }
      times[n] = time - from;
      bytes[n] = amount;
      kinds[n++] = (category + 1) | (owned ? 16 : 0) | (matched ? 32 : 0);
    };
    for (const block of blocks) {
      for (let i = 0; i < block.count; i++) {
        const flags = block.flags[i];
        if (((flags >> 3) & 3) !== space.ordinal || block.death[i] <= from || block.birth[i] > to) continue;
        const kind = flags & 7;
        const category = kind === KIND.block ? -1 : model.categoryOf[block.owner[i]];
        const matched = matches !== null && category >= 0 && matches[block.owner[i]] === 1;
        put(block.birth[i], category, kind !== KIND.array, matched, block.bytes[i]);
        if (block.death[i] <= to) put(block.death[i], category, kind !== KIND.array, matched, -block.bytes[i]);
      }
    }
    const order = sortedOrder(times, n, to - from);
    region.count = n;
    Object.assign(region, { times: new Float64Array(n), bytes: new Float64Array(n), kinds: new Int8Array(n) });
    for (let i = 0; i < n; i++) {
      region.times[i] = times[order[i]] + from;
      region.bytes[i] = bytes[order[i]];
      region.kinds[i] = kinds[order[i]];
    }
    return region;
  }

  sweep(region, columns) {
    const { times, bytes, kinds, count } = region;
    const now = region.byCategory.slice();
    const width = now.length;
    let used = now.reduce((sum, value) => sum + value, 0);
    let reserved = region.reserved;
    let matched = region.matched;
    let last = region.from;
    const step = (columns.to - columns.from) / columns.count;
    if (region.matches) columns.matched = new Float64Array(columns.count);
    let i = 0;
    for (let x = -1; x < columns.count; x++) {
      // Column -1 takes everything ahead of the window.
      const end = columns.from + (x + 1) * step;
      if (x >= 0) note(columns, x, last);
      while (i < count && times[i] < end) {
        const time = times[i];
        for (; i < count && times[i] === time; i++) {
          const category = (kinds[i] & 15) - 1;
          if (category >= 0) {
            now[category] += bytes[i];
            used += bytes[i];
          }
          if (kinds[i] & 16) reserved += bytes[i];
          if (kinds[i] & 32) matched += bytes[i];
        }
        last = time;
        if (x >= 0) note(columns, x, time);
      }
    }

    function note(to, x, time) {
      if (reserved > to.reserved[x]) to.reserved[x] = reserved;
      if (to.matched && matched > to.matched[x]) to.matched[x] = matched;
      if (used > to.used[x] || to.fullest[x] === 0) {
        to.used[x] = used;
        to.fullest[x] = time;
        for (let c = 0; c < width; c++) to.byCategory[x * width + c] = now[c];
      }
    }
  }
}

/** Radix sort: the order of the first {@code count} times, all from 0 to {@code largest}. */
function sortedOrder(times, count, largest) {
  let order = new Uint32Array(count);
  let other = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[i] = i;
  for (let unit = 1; unit <= largest; unit *= 2048) {
    const starts = new Uint32Array(2049);
    for (let i = 0; i < count; i++) starts[(Math.floor(times[i] / unit) % 2048) + 1]++;
    for (let d = 0; d < 2048; d++) starts[d + 1] += starts[d];
    for (let i = 0; i < count; i++) other[starts[Math.floor(times[order[i]] / unit) % 2048]++] = order[i];
    [order, other] = [other, order];
  }
  return order;
}

/** Bytes over time, stacked by category, with the reserved line on top; drawn by uPlot. */
class Timeline {
  static HEIGHT = 270;

  constructor(view, box) {
    this.view = view;
    this.box = box;
    this.source = new Fullest(view);
    this.build();
    view.on('window loaded', () => this.schedule());
    view.on('space search', () => this.schedule());
    view.on('moment', () => this.plot.redraw(false));
    view.on('theme', () => this.build());
  }

  get plotWidth() {
    return this.box.clientWidth - GUTTER - MARGIN;
  }

  build() {
    this.plot?.destroy();
    const { model } = this.view;
    const grid = { stroke: css('--grid'), width: 1 };
    const axis = { stroke: css('--soft'), font: '12px system-ui, sans-serif', grid, ticks: { show: false } };
    const area = uPlot.paths.stepped({ align: 1 });
    const top = [...model.stack].reverse();
    this.order = top;
    const stepped = { paths: area, points: { show: false } };
    this.plot = new uPlot(
      {
        width: this.box.clientWidth,
        height: Timeline.HEIGHT,
        padding: [10, MARGIN, 0, 0],
        legend: { show: false },
        scales: { x: { time: false, auto: false, range: (u, min, max) => [min, max] }, y: { auto: false, range: (u, min, max) => [0, max] } },
        axes: [
          { ...axis, size: 26, space: 110, values: (u, ticks) => ticks.map((t) => formatMoment(t * 1e9, ticks.length > 1 ? (ticks[1] - ticks[0]) * 1e9 : 1e6)) },
          { ...axis, size: GUTTER, space: 36, incrs: Array.from({ length: 50 }, (_, i) => 2 ** i), values: (u, ticks) => ticks.map((v) => (v === 0 ? '0' : formatBytes(v))) },
        ],
        series: [
          {},
          ...top.map((c) => ({ ...stepped, label: words(model.categories[c]), fill: CATEGORY_COLORS[model.categories[c]], width: 0 })),
          { ...stepped, label: 'matching', stroke: css('--ink'), width: 2, dash: [2, 3] },
          { ...stepped, label: 'reserved', stroke: css('--reserved'), width: 1.5 },
        ],
        cursor: { drag: { x: true, y: false, setScale: false, dist: 4 }, points: { show: false }, y: false },
        hooks: { setSelect: [(u) => this.selected(u)], setCursor: [(u) => this.hover(u)], draw: [(u) => this.marks(u)] },
      },
      this.dataFor(),
      this.box,
    );
    this.plot.over.addEventListener('click', (event) => this.clicked(event));
    this.frame(true);
  }

  schedule() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = null;
      this.frame(false);
    });
  }

  frame(resized) {
    if (resized || this.plot.width !== this.box.clientWidth) this.plot.setSize({ width: this.box.clientWidth, height: Timeline.HEIGHT });
    const data = this.dataFor();
    this.plot.batch(() => {
      this.plot.setData(data, false);
      this.plot.setScale('x', { min: this.view.from / 1e9, max: this.view.to / 1e9 });
      this.plot.setScale('y', { min: 0, max: this.top * 1.06 || 1 });
    });
    this.view.emit('drawn');
  }

  /** Stacked sums, the topmost category first, so that the lower ones are painted over it. */
  dataFor() {
    const { view } = this;
    const count = Math.max(2, Math.floor(this.plotWidth));
    const columns = this.source.columns(view.from, view.to, count);
    this.columns = columns;
    const categories = view.model.categories.length;
    const x = new Float64Array(count);
    const step = (view.to - view.from) / (count - 1);
    for (let i = 0; i < count; i++) x[i] = (view.from + i * step) / 1e9;
    const sums = columns.used.slice();
    const areas = [];
    this.top = 0;
    for (let i = 0; i < count; i++) this.top = Math.max(this.top, sums[i], columns.reserved[i]);
    for (const category of this.order ?? [...view.model.stack].reverse()) {
      areas.push(sums.slice());
      for (let i = 0; i < count; i++) sums[i] -= columns.byCategory[i * categories + category];
    }
    return [x, ...areas, columns.matched ?? this.sampledMatches(x), columns.reserved];
  }

  /** Far away the matching bytes are known at the sampled moments only. */
  sampledMatches(x) {
    const line = new Array(x.length).fill(null);
    const { model, matches, space } = this.view;
    if (!matches) return line;
    if (!model.samples.times) {
      model.loadSamples().then(() => this.schedule());
      return line;
    }
    const { times, rows, count } = model.samples;
    const sums = new Float64Array(count);
    model.usage.forEach(([owner, spaceOf], r) => {
      if (matches[owner] && spaceOf === space.ordinal) for (let i = 0; i < count; i++) sums[i] += rows[r][i];
    });
    for (let i = 0; i < x.length; i++) {
      const at = upperBound(times, x[i] * 1e9) - 1;
      line[i] = at >= 0 ? sums[at] : null;
    }
    return line;
  }

  timeAt(left) {
    return this.view.from + (left / this.plotWidth) * (this.view.to - this.view.from);
  }

  leftOf(time) {
    return ((time - this.view.from) / (this.view.to - this.view.from)) * this.plotWidth;
  }

  columnAt(left) {
    return Math.max(0, Math.min(this.columns.count - 1, Math.floor((left / this.plotWidth) * this.columns.count)));
  }

  selected(u) {
    const { left, width } = u.select;
    if (width < 4) return;
    this.justDragged = true;
    setTimeout(() => (this.justDragged = false));
    u.setSelect({ left: 0, width: 0 }, false);
    this.view.show(this.timeAt(left), this.timeAt(left + width));
  }

  clicked(event) {
    if (!this.justDragged) this.view.pick(this.columns.fullest[this.columnAt(event.offsetX)]);
  }

  hover(u) {
    this.view.pointer = u.cursor.left >= 0 ? this.columnAt(u.cursor.left) : null;
    this.view.emit('pointer');
  }

  /** The chosen moment. */
  marks(u) {
    const left = this.leftOf(this.view.moment);
    if (left < -1 || left > this.plotWidth + 1) return;
    const { ctx, bbox } = u;
    const x = Math.round(bbox.left + left * devicePixelRatio) + 0.5;
    ctx.save();
    ctx.strokeStyle = css('--ink');
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([4, 3]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  }
}

/** The whole trace, small, with the window to be moved and stretched. */
class Overview {
  static HEIGHT = 44;

  constructor(view, canvas) {
    this.view = view;
    this.canvas = canvas;
    this.source = new Fullest(view);
    view.on('space theme', () => {
      this.picture = null;
      this.draw();
    });
    view.on('window', () => this.draw());
    canvas.addEventListener('pointerdown', (event) => this.grab(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerup', () => (this.grip = null));
    canvas.addEventListener('dblclick', () => view.show(0, view.end));
  }

  get width() {
    return this.canvas.clientWidth - GUTTER - MARGIN;
  }

  draw() {
    const box = fit(this.canvas, Overview.HEIGHT);
    if (!box) return;
    const { context, width, height, ratio } = box;
    if (!this.picture || this.picture.width !== this.canvas.width) this.picture = this.paint(box);
    context.clearRect(0, 0, width, height);
    context.drawImage(this.picture, 0, 0, this.canvas.width / ratio, height);
    const { from, to, end } = this.view;
    const left = GUTTER + (from / end) * this.width;
    const right = Math.max(left + 2, GUTTER + (to / end) * this.width);
    context.fillStyle = css('--veil');
    context.fillRect(GUTTER, 0, left - GUTTER, height);
    context.fillRect(right, 0, GUTTER + this.width - right, height);
    context.strokeStyle = css('--accent');
    context.lineWidth = 2;
    context.strokeRect(left, 1, right - left, height - 2);
  }

  paint({ height, ratio }) {
    const picture = new OffscreenCanvas(this.canvas.width, this.canvas.height);
    const context = picture.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const columns = { count: Math.floor(this.width), from: 0, to: this.view.end };
    const categories = this.view.model.categories;
    Object.assign(columns, { byCategory: new Float64Array(columns.count * categories.length), used: new Float64Array(columns.count), reserved: new Float64Array(columns.count), fullest: new Float64Array(columns.count) });
    this.source.fromBins(columns);
    const top = Math.max(1, ...columns.used);
    for (let x = 0; x < columns.count; x++) {
      let y = height;
      for (const category of this.view.model.stack) {
        const part = (columns.byCategory[x * categories.length + category] / top) * (height - 4);
        context.fillStyle = CATEGORY_COLORS[categories[category]];
        context.fillRect(GUTTER + x, y - part, 1, part);
        y -= part;
      }
    }
    context.fillStyle = css('--soft');
    context.font = '11px system-ui, sans-serif';
    context.textAlign = 'right';
    context.fillText('whole trace', GUTTER - 8, height / 2 + 4);
    return picture;
  }

  timeAt(event) {
    return ((event.offsetX - GUTTER) / this.width) * this.view.end;
  }

  grab(event) {
    const { from, to, end } = this.view;
    const time = this.timeAt(event);
    const near = (6 / this.width) * end;
    this.canvas.setPointerCapture(event.pointerId);
    if (Math.abs(time - from) < near) this.grip = { move: (t) => this.view.show(Math.min(t, to), to) };
    else if (Math.abs(time - to) < near) this.grip = { move: (t) => this.view.show(from, Math.max(t, from)) };
    else if (time > from && time < to && to - from < end) this.grip = { move: (t) => this.view.show(from + t - time, to + t - time) };
    else this.grip = { move: (t) => this.view.show(Math.min(t, time), Math.max(t, time)) };
  }

  move(event) {
    this.grip?.move(this.timeAt(event));
  }
}
