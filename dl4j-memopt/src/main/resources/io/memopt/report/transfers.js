// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0

'use strict';

const DIRECTIONS = {
  HOST_TO_DEVICE: { name: 'host to device', color: '#3274D9' },
  DEVICE_TO_HOST: { name: 'device to host', color: '#FF8833' },
  DEVICE_TO_DEVICE: { name: 'device to device', color: '#8F3BB8' },
  HOST_TO_HOST: { name: 'host to host', color: '#9EA3AD' },
};

/** Copies by direction: a table of all, bytes and bandwidth over time. */
class Transfers {
  constructor(view, { note, table: tableBox, charts }) {
    this.view = view;
    this.note = note;
    this.tableBox = tableBox;
    this.charts = charts;
    this.small = [];
    view.on('drawn', () => this.small.forEach((chart) => chart.draw()));
  }

  draw() {
    const { model } = this.view;
    const rows = model.transfers.map(([direction, copies, bytes, nanos, overlapped, pinned]) => ({ direction, copies, bytes, nanos, overlapped, pinned }));
    if (!rows.length) {
      this.note.textContent = 'Nothing was copied while the trace was recorded: on the CPU arrays stay where they are.';
      return;
    }
    const total = rows.reduce((sum, row) => sum + row.bytes, 0);
    const unknown = () => el('span', { class: 'soft' }, 'unknown');
    table(
      this.tableBox,
      [
        { name: 'direction', value: (row) => row.direction, cell: (row) => [el('i', { class: 'swatch', style: { background: DIRECTIONS[row.direction].color } }), DIRECTIONS[row.direction].name] },
        { name: 'bytes', number: true, value: (row) => row.bytes, cell: (row) => bytesCell(row.bytes, total) },
        { name: 'copies', number: true, value: (row) => row.copies, cell: (row) => formatCount(row.copies) },
        { name: 'bytes a copy', number: true, value: (row) => row.bytes / row.copies, cell: (row) => formatBytes(Math.round(row.bytes / row.copies)) },
        { name: 'waited', number: true, value: (row) => row.nanos, cell: (row) => formatDuration(row.nanos), title: 'time that callers waited, summed over threads' },
        { name: 'bandwidth', number: true, value: (row) => row.bytes / (row.nanos || 1), cell: (row) => (row.nanos ? `${formatBytes(Math.round((row.bytes * 1e9) / row.nanos))}/s` : unknown()) },
        { name: 'overlapped', number: true, value: (row) => row.overlapped / row.bytes, cell: (row) => formatShare(row.overlapped, row.bytes), title: 'copied while another thread computed' },
        { name: 'page-locked', number: true, value: (row) => row.pinned, cell: (row) => (row.pinned < 0 ? unknown() : formatShare(row.pinned, row.bytes)), title: 'copies whose end in host memory is page-locked; the rest is staged by the driver' },
      ],
      rows,
      { sort: 1 },
    );
    this.note.textContent = `${formatBytes(total)} in ${formatCount(rows.reduce((sum, row) => sum + row.copies, 0))} copies · same window as the timeline`;
    const series = (value) =>
      rows.map(({ direction }) => ({
        name: DIRECTIONS[direction].name,
        color: () => DIRECTIONS[direction].color,
        rows: model.transferBins.filter((bin) => bin[0] === direction).map(([, from, to, , bytes, nanos]) => [from, to, value(bytes, nanos, to - from)]),
      }));
    const bytes = series((copied) => copied);
    const bandwidth = series((copied, nanos) => (nanos ? (copied * 1e9) / nanos : 0)).map((one) => ({ ...one, rows: one.rows.map(([from, to, value]) => [(from + to) / 2, (from + to) / 2, value]) }));
    const stacked = Transfers.stack(bytes);
    this.small = [
      new SmallChart(this.view, { title: 'Copied', label: `bytes copied over time, ${formatBytes(total)} in all`, format: formatBytes, series: stacked }),
      new SmallChart(this.view, { title: 'Bandwidth while waiting', label: 'bytes per second of waiting over time', format: (value) => `${formatBytes(Math.round(value))}/s`, series: bandwidth }),
    ];
    this.charts.replaceChildren(...this.small.map((chart) => chart.figure));
    this.small.forEach((chart) => chart.draw());
  }

  /** Each direction on top of those after it, so that drawing them in order shows all. */
  static stack(series) {
    const tops = new Map();
    const stacked = [];
    for (const one of [...series].reverse()) {
      stacked.unshift({
        ...one,
        rows: one.rows.map(([from, to, value]) => {
          const top = (tops.get(from) ?? 0) + value;
          tops.set(from, top);
          return [from, to, top];
        }),
      });
    }
    return stacked;
  }
}
