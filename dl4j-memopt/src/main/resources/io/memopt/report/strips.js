// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0

'use strict';

/** Iterations, phases and layers below the timeline, and when the garbage collector ran. */
class Strips {
  static LANE = 18;
  /** Changes of layer per pixel above which the lanes would be noise. */
  static CROWDED_LAYERS = 0.8;
  static CROWDED_PHASES = 8;

  constructor(view, canvas) {
    this.view = view;
    this.canvas = canvas;
    view.on('drawn', () => this.draw());
    canvas.addEventListener('pointermove', (event) => this.hover(event));
    canvas.addEventListener('pointerleave', () => hideTip());
  }

  draw() {
    const { view } = this;
    const box = fit(this.canvas, 3 * Strips.LANE + 2);
    if (!box) return;
    this.context = box.context;
    this.width = box.width - GUTTER - MARGIN;
    this.context.clearRect(0, 0, box.width, box.height);
    this.context.font = '11px system-ui, sans-serif';
    this.label('iterations', 0);
    this.label('phase', 1);
    this.label('layer', 2);
    this.drawIterations();
    const needed = view.model.contexts(view.from, view.to);
    this.changes = needed.length > 0 && needed.length <= 6 ? view.model.unpackedContexts(needed) : null;
    const crowd = this.crowd() / this.width;
    if (this.changes && crowd < Strips.CROWDED_PHASES) {
      this.lane(1, (owner) => (owner.phase === 'none' ? null : { text: words(owner.phase), color: PHASE_COLORS[owner.phase] }));
      if (crowd < Strips.CROWDED_LAYERS) this.lane(2, (owner) => (owner.layer === '' ? null : { text: owner.layer, color: this.layerColor(owner) }));
      else this.veil(2, 'zoom in for layers');
    } else if (this.changes) {
      this.veil(1, 'zoom in for phases and layers');
      this.veil(2, '');
    } else {
      if (needed.length <= 6 && needed.length > 0) view.model.loadContexts(needed).then(() => this.draw());
      this.veil(1, needed.length ? 'zoom in for phases and layers' : 'no network was at work here');
      this.veil(2, '');
    }
  }

  /** Changes of layer or phase in the window. */
  crowd() {
    const { from, to } = this.view;
    return (this.changes ?? []).reduce((sum, { times }) => sum + upperBound(times, to) - upperBound(times, from), 0);
  }

  layerColor(owner) {
    if (this.view.matches) return this.view.isMatch(owner) || this.view.search && owner.layer.toLowerCase().includes(this.view.search) ? css('--accent') : css('--lane');
    this.layerNumbers ??= new Map();
    if (!this.layerNumbers.has(owner.layer)) this.layerNumbers.set(owner.layer, this.layerNumbers.size);
    return css(this.layerNumbers.get(owner.layer) % 2 ? '--lane' : '--lane2');
  }

  x(time) {
    return GUTTER + ((time - this.view.from) / (this.view.to - this.view.from)) * this.width;
  }

  label(text, lane) {
    this.context.fillStyle = css('--soft');
    this.context.textAlign = 'right';
    this.context.fillText(text, GUTTER - 8, lane * Strips.LANE + 13);
  }

  bar(lane, left, right, color, text) {
    const a = Math.max(GUTTER, left);
    const b = Math.min(GUTTER + this.width, right);
    if (b <= a) return;
    const { context } = this;
    const y = lane * Strips.LANE + 1;
    context.fillStyle = color;
    context.fillRect(a, y, Math.max(0.6, b - a - (b - a > 3 ? 1 : 0)), Strips.LANE - 2);
    if (b - a < 14 || !text) return;
    context.textAlign = 'left';
    const fitted = this.fitted(text, b - a - 6);
    if (!fitted) return;
    context.fillStyle = inkOn(color);
    context.fillText(fitted, a + 3, y + 12);
  }

  fitted(text, room) {
    this.widths ??= new Map();
    const widthOf = (part) => {
      if (!this.widths.has(part)) this.widths.set(part, this.context.measureText(part).width);
      return this.widths.get(part);
    };
    if (widthOf(text) <= room) return text;
    for (let length = text.length - 1; length >= 3; length--) {
      const short = `${text.slice(0, length)}…`;
      if (widthOf(short) <= room) return short;
    }
    return null;
  }

  veil(lane, text) {
    const { context } = this;
    context.fillStyle = css('--lane2');
    context.fillRect(GUTTER, lane * Strips.LANE + 1, this.width, Strips.LANE - 2);
    context.fillStyle = css('--soft');
    context.textAlign = 'left';
    context.fillText(text, GUTTER + 6, lane * Strips.LANE + 13);
  }

  drawIterations() {
    const { iterations, end, collections } = this.view.model;
    const { from, to } = this.view;
    const first = this.view.model.iterationAt(from);
    const last = Math.min(iterations.count - 1, this.view.model.iterationAt(to));
    if (iterations.count === 0) this.veil(0, 'the trace has no training iterations');
    else if (last - first > this.width / 4) {
      const numbers = `${formatCount(last - first + 1)} iterations, ${formatCount(iterations.numbers[first])} to ${formatCount(iterations.numbers[last])}`;
      const epochs = iterations.epochs[last] - iterations.epochs[first];
      this.veil(0, epochs ? `${numbers}; epochs ${iterations.epochs[first]} to ${iterations.epochs[last]}` : numbers);
    } else {
      for (let i = first; i <= last; i++) {
        const color = css(i % 2 ? '--lane' : '--lane2');
        this.bar(0, this.x(this.view.model.iterationStart(i)), this.x(iterations.times[i]), color, `${iterations.numbers[i]}`);
      }
      if (last === iterations.count - 1) this.bar(0, this.x(iterations.times[last]), this.x(end), css('--lane2'), 'after training');
    }
    this.context.fillStyle = css('--bad');
    for (const pause of collections) {
      if (!pause.forced || pause.time < from || pause.time - pause.duration > to) continue;
      const left = Math.max(GUTTER, this.x(pause.time - pause.duration));
      this.context.fillRect(left, 0, Math.max(2, Math.min(GUTTER + this.width, this.x(pause.time)) - left), 3);
    }
  }

  lane(lane, describe) {
    const { from, to } = this.view;
    let open = null;
    let since = from;
    let key = '';
    const flush = (until) => {
      if (open) this.bar(lane, this.x(since), this.x(until), open.color, open.text);
    };
    let narrow = 0;
    const known = new Map();
    for (const { times, owners } of this.changes) {
      for (let i = Math.max(0, upperBound(times, from) - 1); i < times.length && times[i] <= to; i++) {
        if (!known.has(owners[i])) known.set(owners[i], describe(this.view.model.owner(owners[i])));
        const next = known.get(owners[i]);
        const nextKey = next ? next.text : '';
        if (nextKey === key && times[i] > from) continue;
        if (times[i] > from) {
          // Bars much narrower than a pixel add nothing but time.
          if (this.x(times[i]) - this.x(since) > 0.3 || narrow++ % 8 === 0) flush(times[i]);
          since = times[i];
        }
        open = next;
        key = nextKey;
      }
    }
    flush(to);
  }

  hover(event) {
    if (event.offsetX < GUTTER || !this.width) return hideTip();
    const time = this.view.from + ((event.offsetX - GUTTER) / this.width) * (this.view.to - this.view.from);
    const { model } = this.view;
    const index = model.iterationAt(time);
    const lines = [];
    if (index < model.iterations.count) lines.push(`iteration ${model.iterations.numbers[index]}, epoch ${model.iterations.epochs[index]}`);
    else lines.push(model.iterations.count ? 'after training' : 'no iteration');
    if (index < model.iterations.count) lines.push(`took ${formatDuration(model.iterations.times[index] - model.iterationStart(index))}`);
    const block = this.changes?.findLast(({ times }) => times[0] <= time);
    if (block) {
      const owner = model.owner(block.owners[upperBound(block.times, time) - 1]);
      lines.push(`${words(owner.phase)}${owner.layer ? ` of ${owner.layer}` : ''}${model.thread ? `, thread ${model.thread}` : ''}`);
    }
    const pause = model.collections.find((one) => one.forced && time >= one.time - one.duration - (3 / this.width) * (this.view.to - this.view.from) && time <= one.time);
    if (pause) lines.push(`forced garbage collection, ${formatDuration(pause.duration)}`);
    showTip(event, lines);
  }
}
