// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0

'use strict';

/**
 * A small chart over the time axis of the page: lines between samples, or bars of bins, from 0 up. Drawn only for what the
 * window shows; one canvas, no listeners of its own.
 */
class SmallChart {
  static HEIGHT = 72;

  /**
   * @param title what it shows
   * @param label what it says to those who cannot see it
   * @param format writes a value of the axis
   * @param series name, colour and rows [from, to, value], in order of time; a line has from == to
   * @param most the least top of the axis
   */
  constructor(view, { title, label, format, series, most = 0 }) {
    this.view = view;
    this.format = format;
    this.series = series;
    this.most = Math.max(most, ...series.flatMap(({ rows }) => rows.map((row) => row[2]))) || 1;
    this.canvas = el('canvas', { role: 'img', 'aria-label': label });
    this.value = el('span', { class: 'soft' });
    const chips = series.map(({ name, color }) => el('span', { class: 'chip' }, el('i', { class: 'swatch', style: { background: color() } }), name));
    this.figure = el('figure', {}, el('figcaption', { class: 'row' }, el('b', {}, title), el('span', { class: 'legend' }, chips), this.value), this.canvas);
    this.chips = chips;
    this.canvas.addEventListener('pointermove', (event) => this.tell(event.offsetX));
    this.canvas.addEventListener('pointerleave', () => (this.value.textContent = ''));
  }

  /** Colours of a theme are asked for again. */
  recolour() {
    this.chips.forEach((chip, i) => (chip.firstChild.style.background = this.series[i].color()));
  }

  draw() {
    const box = fit(this.canvas, SmallChart.HEIGHT);
    if (!box) return;
    const { context, width, height } = box;
    const { from, to } = this.view;
    const plot = width - GUTTER - MARGIN;
    const x = (time) => GUTTER + ((time - from) / (to - from)) * plot;
    const y = (value) => height - 2 - (value / this.most) * (height - 8);
    context.clearRect(0, 0, width, height);
    context.strokeStyle = css('--grid');
    context.lineWidth = 1;
    context.beginPath();
    for (const value of [0, this.most / 2, this.most]) {
      context.moveTo(GUTTER, Math.round(y(value)) + 0.5);
      context.lineTo(width - MARGIN, Math.round(y(value)) + 0.5);
    }
    context.stroke();
    context.fillStyle = css('--soft');
    context.font = '11px system-ui, sans-serif';
    context.textAlign = 'right';
    context.fillText(this.format(this.most), GUTTER - 8, 12);
    context.fillText('0', GUTTER - 8, height - 3);
    context.save();
    context.beginPath();
    context.rect(GUTTER, 0, plot, height);
    context.clip();
    for (const { color, rows } of this.series) {
      if (rows.length > 0 && rows[0][0] !== rows[0][1]) this.bars(context, rows, color(), x, y);
      else this.line(context, rows, color(), x, y);
    }
    context.restore();
  }

  /** What of {@code rows} the window shows, and one more on either side. */
  shown(rows) {
    const { from, to } = this.view;
    const first = rows.findIndex((row) => row[1] >= from);
    const last = rows.findLastIndex((row) => row[0] <= to);
    return rows.slice(Math.max(0, (first < 0 ? rows.length : first) - 1), last + 2);
  }

  line(context, rows, color, x, y) {
    const seen = this.shown(rows);
    context.strokeStyle = color;
    context.fillStyle = color;
    context.lineWidth = 1.5;
    context.beginPath();
    for (const [time, , value] of seen) context.lineTo(x(time), y(value));
    context.stroke();
    if (seen.length < 60) for (const [time, , value] of seen) context.fillRect(x(time) - 1.5, y(value) - 1.5, 3, 3);
  }

  bars(context, rows, color, x, y) {
    context.fillStyle = color;
    for (const [from, to, value] of this.shown(rows)) context.fillRect(x(from), y(value), Math.max(1, x(to) - x(from)), y(0) - y(value));
  }

  /** Values of the row nearest to the pointer. */
  tell(left) {
    const { from, to } = this.view;
    const time = from + ((left - GUTTER) / (this.canvas.clientWidth - GUTTER - MARGIN)) * (to - from);
    const said = this.series
      .map(({ name, rows }) => [name, rows.reduce((best, row) => (Math.abs((row[0] + row[1]) / 2 - time) < Math.abs((best[0] + best[1]) / 2 - time) ? row : best), rows[0])])
      .filter(([, row]) => row);
    const moment = said.length ? formatMoment(said[0][1][0], (to - from) / 1000) : '';
    this.value.textContent = said.length ? `${moment}: ${said.map(([name, row]) => `${name} ${this.format(row[2])}`).join(' · ')}` : '';
  }
}
