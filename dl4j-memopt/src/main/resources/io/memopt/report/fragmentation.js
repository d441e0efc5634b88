// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0

'use strict';

/** Holes in workspace blocks and rounding, at the sampled moments. */
class Fragmentation {
  static HOLES_HEIGHT = 96;

  constructor(view, { note, charts, title, holes }) {
    this.view = view;
    this.note = note;
    this.charts = charts;
    this.title = title;
    this.holes = holes;
    this.samples = view.model.fragmentation.map(([time, reserved, inUse, blocks, free, largest, count, rounding, histogram]) => ({ time, reserved, inUse, blocks, free, largest, count, rounding, histogram }));
    this.small = [];
    view.on('drawn', () => this.small.forEach((chart) => chart.draw()));
    view.on('moment', () => this.histogram());
    view.on('theme', () => {
      this.small.forEach((chart) => chart.recolour());
      this.histogram();
    });
  }

  draw() {
    const { samples, view } = this;
    const space = view.model.focus.toLowerCase();
    this.note.textContent = samples.length ? `${formatCount(samples.length)} sampled moments · ${space} memory · same window as the timeline` : 'The trace is too short to be sampled.';
    if (!samples.length) {
      this.title.remove();
      this.holes.remove();
      return;
    }
    const rows = (value) => samples.map((sample) => [sample.time, sample.time, value(sample)]);
    const worst = samples.reduce((a, b) => (Fragmentation.external(b) > Fragmentation.external(a) ? b : a));
    this.small = [
      new SmallChart(view, {
        title: 'Share that is fragmented',
        label: `external fragmentation at most ${Fragmentation.external(worst).toFixed(2)}, internal at most ${Math.max(...samples.map(Fragmentation.internal)).toFixed(3)}`,
        format: (value) => value.toFixed(3).replace(/0$/, ''),
        most: 1,
        series: [
          { name: 'external', color: () => '#E0559B', rows: rows(Fragmentation.external) },
          { name: 'internal', color: () => css('--accent'), rows: rows(Fragmentation.internal) },
        ],
      }),
      new SmallChart(view, {
        title: 'Free in workspace blocks',
        label: `free bytes at most ${formatBytes(Math.max(...samples.map((sample) => sample.free)))}, largest hole at most ${formatBytes(Math.max(...samples.map((sample) => sample.largest)))}`,
        format: formatBytes,
        series: [
          { name: 'blocks', color: () => css('--soft'), rows: rows((sample) => sample.blocks) },
          { name: 'free', color: () => '#56A64B', rows: rows((sample) => sample.free) },
          { name: 'largest hole', color: () => '#FF8833', rows: rows((sample) => sample.largest) },
        ],
      }),
    ];
    this.charts.replaceChildren(...this.small.map((chart) => chart.figure));
    this.small.forEach((chart) => chart.draw());
    this.histogram();
  }

  static external({ free, largest }) {
    return free > 0 ? 1 - largest / free : 0;
  }

  static internal({ rounding, inUse }) {
    return inUse > 0 ? rounding / inUse : 0;
  }

  /** Holes of the sample nearest to the chosen moment; each bar is a power of two. */
  histogram() {
    const { samples, view } = this;
    if (!samples.length) return;
    const box = fit(this.holes, Fragmentation.HOLES_HEIGHT);
    if (!box) return;
    const sample = samples.reduce((best, one) => (Math.abs(one.time - view.moment) < Math.abs(best.time - view.moment) ? one : best));
    this.title.textContent = `Holes by size at ${formatMoment(sample.time, 1e6)}: ${formatCount(sample.count)} with ${formatBytes(sample.free)}, largest ${formatBytes(sample.largest)}`;
    const { context, width, height } = box;
    context.clearRect(0, 0, width, height);
    const bars = sample.histogram;
    const first = Math.max(0, bars.findIndex((count) => count > 0));
    const shown = bars.slice(first);
    const most = Math.max(1, ...shown);
    const step = Math.min(72, (width - GUTTER - MARGIN) / Math.max(1, shown.length));
    context.font = '11px system-ui, sans-serif';
    context.textAlign = 'center';
    shown.forEach((count, i) => {
      const left = GUTTER + i * step;
      const tall = (count / most) * (height - 36);
      context.fillStyle = '#56A64B';
      context.fillRect(left + 2, height - 18 - tall, step - 4, tall);
      context.fillStyle = css('--soft');
      if (count > 0) context.fillText(formatCount(count), left + step / 2, height - 22 - tall);
      context.fillText(step < 52 && i % 2 ? '' : `≥ ${formatBytes(2 ** (first + i)).replace('.0 ', ' ')}`, left + step / 2, height - 4);
    });
  }
}
