// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0

'use strict';

/** Workspaces: a table of all, and the largest over time. */
class Workspaces {
  static SHOWN = 8;
  static HEIGHT = 58;

  constructor(view, tableBox, charts) {
    this.view = view;
    this.tableBox = tableBox;
    this.charts = charts;
    this.lines = [];
    view.on('search', () => this.draw());
    view.on('drawn', () => this.lines.forEach((line) => this.chart(line)));
  }

  isMatch(workspace) {
    return !this.view.search || `${workspace.name} ${workspace.thread}`.toLowerCase().includes(this.view.search);
  }

  async draw() {
    const { model } = this.view;
    const largest = Math.max(1, ...model.workspaces.map((one) => one.peakReserved));
    table(
      this.tableBox,
      [
        { name: 'workspace', value: (row) => row.name, cell: (row) => `${row.name}${row.circular ? ' (circular)' : ''}` },
        { name: 'thread', value: (row) => row.thread, cell: (row) => row.thread },
        { name: 'reserved', number: true, value: (row) => row.peakReserved, cell: (row) => bytesCell(row.peakReserved, largest), title: 'largest block held' },
        { name: 'used at most', number: true, value: (row) => row.peakUsed, cell: (row) => formatBytes(row.peakUsed) },
        { name: 'fill', number: true, value: (row) => row.peakUsed / (row.peakReserved || 1), cell: (row) => formatShare(row.peakUsed, row.peakReserved) },
        { name: 'spilled', number: true, value: (row) => row.spilledBytes, cell: (row) => (row.spills ? `${formatBytes(row.spilledBytes)} in ${formatCount(row.spills)}` : el('span', { class: 'soft' }, 'none')) },
        { name: 'resizes', number: true, value: (row) => row.resizes, cell: (row) => formatCount(row.resizes) },
        { name: 'largest need', number: true, value: (row) => row.maxCycle, cell: (row) => formatBytes(row.maxCycle), title: 'most that the arrays of one scope took: with this initial size nothing would spill' },
        { name: 'scopes', number: true, value: (row) => row.scopes, cell: (row) => formatCount(row.scopes) },
        { name: 'idle at the end', number: true, value: (row) => model.end - row.lastEntered, cell: (row) => (row.lastEntered < 0 ? '–' : formatDuration(model.end - row.lastEntered)) },
      ],
      model.workspaces,
      { sort: 2, limit: 10, dim: (row) => !this.isMatch(row), empty: 'No workspace was used.' },
    );
    const top = [...model.workspaces].sort((a, b) => this.isMatch(b) - this.isMatch(a) || b.peakReserved + b.spilledBytes - a.peakReserved - a.spilledBytes).slice(0, Workspaces.SHOWN);
    await Promise.all(top.map((workspace) => this.load(workspace)));
    this.lines = top.map((workspace) => ({ workspace, canvas: el('canvas', { role: 'img', 'aria-label': `${workspace.name} over time: reserved at most ${formatBytes(workspace.peakReserved)}, used at most ${formatBytes(workspace.peakUsed)}` }) }));
    this.charts.replaceChildren(
      ...this.lines.map(({ workspace, canvas }) =>
        el('figure', { class: this.isMatch(workspace) ? '' : 'dim' }, el('figcaption', {}, el('b', {}, workspace.name), el('span', { class: 'soft' }, ` ${workspace.thread} · reserved ≤ ${formatBytes(workspace.peakReserved)} · used ≤ ${formatBytes(workspace.peakUsed)}${workspace.spills ? ` · spilled ${formatBytes(workspace.spilledBytes)}` : ''}`)), canvas),
      ),
    );
    this.lines.forEach((line) => this.chart(line));
  }

  async load(workspace) {
    if (workspace.series) return;
    const columns = await Columns.unpack(workspace.rows);
    const series = { start: [], used: [], reserved: [], spilled: [] };
    for (let i = 0; i < workspace.count; i++) for (const name of Object.keys(series)) series[name].push(columns.number());
    workspace.series = series;
  }

  /** The most of each pixel column; the same time axis as above. */
  chart({ workspace, canvas }) {
    const box = fit(canvas, Workspaces.HEIGHT);
    if (!box) return;
    const { context, width, height } = box;
    const { start, used, reserved, spilled } = workspace.series;
    const { from, to } = this.view;
    const plot = width - GUTTER - MARGIN;
    const most = Math.max(1, workspace.peakReserved, ...used.map((bytes, i) => bytes + spilled[i]));
    const y = (bytes) => height - 1 - (bytes / most) * (height - 6);
    context.clearRect(0, 0, width, height);
    context.fillStyle = css('--soft');
    context.font = '11px system-ui, sans-serif';
    context.textAlign = 'right';
    context.fillText(formatBytes(most), GUTTER - 8, 12);
    context.fillText('0', GUTTER - 8, height - 2);
    const paint = (value, base, color) => {
      context.fillStyle = color;
      for (let i = Math.max(0, upperBound(start, from) - 1); i < start.length && start[i] < to; i++) {
        const left = GUTTER + (Math.max(0, start[i] - from) / (to - from)) * plot;
        const right = GUTTER + (Math.min(to, start[i + 1] ?? Math.max(start[i], this.view.model.end)) - from) / (to - from) * plot;
        const bottom = y(base ? base[i] : 0);
        context.fillRect(left, y((base ? base[i] : 0) + value[i]), Math.max(1, right - left), Math.max(0, bottom - y((base ? base[i] : 0) + value[i])));
      }
    };
    paint(reserved, null, css('--reservedFill'));
    paint(used, null, CATEGORY_COLORS.activations);
    paint(spilled, used, '#E02F44');
  }
}
