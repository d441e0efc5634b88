// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0

'use strict';

/**
 * Fills {@code box} with a table that is sorted by its headings. A column has a name, a value to sort by and a cell to
 * show; numbers stand on the right and sort from the largest.
 */
function table(box, columns, rows, options = {}) {
  const state = (box.state ??= {});
  if (state.names !== columns.map((column) => column.name).join()) {
    state.names = columns.map((column) => column.name).join();
    state.sort = options.sort ?? 0;
    state.down = columns[state.sort].number ?? false;
    state.all = false;
  }
  const again = () => table(box, columns, rows, options);
  const sorted = [...rows].sort((a, b) => compare(columns[state.sort].value(a), columns[state.sort].value(b)) * (state.down ? -1 : 1));
  const limit = state.all ? 2000 : (options.limit ?? Infinity);
  const heads = columns.map((column, i) =>
    el(
      'th',
      { class: column.number ? 'number' : '', scope: 'col', 'aria-sort': i === state.sort ? (state.down ? 'descending' : 'ascending') : undefined, title: column.title },
      el('button', { 'data-sort': i, onclick: () => sortBy(i) }, column.name, el('span', { class: 'arrow', 'aria-hidden': true }, i === state.sort ? (state.down ? ' ▾' : ' ▴') : '')),
    ),
  );
  const body = sorted.slice(0, limit).map((row) => el('tr', { class: options.dim?.(row) ? 'dim' : '' }, columns.map((column) => el('td', { class: column.number ? 'number' : '' }, column.cell(row)))));
  const parts = [el('div', { class: 'scroll' }, el('table', {}, el('thead', {}, el('tr', {}, heads)), el('tbody', {}, body)))];
  if (rows.length === 0) parts.push(el('p', { class: 'soft' }, options.empty ?? 'None.'));
  if (rows.length > (options.limit ?? Infinity)) {
    const hidden = rows.length - (options.limit ?? 0);
    parts.push(el('button', { class: 'more', onclick: () => ((state.all = !state.all), again()) }, state.all ? 'show fewer' : `show ${formatCount(hidden)} more`));
  }
  if (options.total) parts.push(el('span', { class: 'soft' }, ` ${options.total}`));
  box.replaceChildren(...parts);

  function sortBy(i) {
    state.down = state.sort === i ? !state.down : (columns[i].number ?? false);
    state.sort = i;
    again();
    box.querySelector(`[data-sort="${i}"]`).focus();
  }
}

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

function swatch(category) {
  return el('i', { class: 'swatch', style: { background: CATEGORY_COLORS[category] }, 'aria-hidden': true });
}

function dimensionCell(dimension, owner) {
  const name = nameOf(dimension, owner[dimension]);
  return dimension === 'category' ? [swatch(owner.category), name] : owner[dimension] === '' ? el('span', { class: 'soft' }, name) : name;
}

function ownerCell(owner) {
  const details = [owner.phase === 'none' ? '' : words(owner.phase), owner.workspace].filter(Boolean).join(' · ');
  return [swatch(owner.category), `${words(owner.category)}${owner.layer ? ` of ${owner.layer}` : ''} `, el('span', { class: 'soft' }, details)];
}

/** A size with a bar for its part of the whole behind it. */
function bytesCell(bytes, whole) {
  return el('span', { class: 'bar', title: formatExact(bytes), style: { backgroundSize: `${Math.min(100, (100 * bytes) / (whole || 1))}% 100%` } }, formatBytes(bytes));
}

/** A line of values, 120 by 20 pixels, from 0 to the largest. */
function sparkline(values) {
  const canvas = el('canvas', { class: 'spark', width: 240, height: 40, role: 'img', 'aria-label': `from ${formatBytes(values[0] ?? 0)} to ${formatBytes(values.at(-1) ?? 0)}` });
  const context = canvas.getContext('2d');
  const most = Math.max(1, ...values);
  context.strokeStyle = css('--accent');
  context.lineWidth = 3;
  context.beginPath();
  values.forEach((value, i) => context.lineTo(2 + (i / Math.max(1, values.length - 1)) * 236, 37 - (value / most) * 34));
  context.stroke();
  return canvas;
}

/** Live bytes at the end by owner, with age and slope. */
class Owners {
  constructor(view, box) {
    this.view = view;
    this.box = box;
    view.on('search space theme', () => this.draw());
  }

  async draw() {
    const { model, space } = this.view;
    const samples = await model.loadSamples();
    const rows = model.usage
      .map(([owner, spaceOf, live, peak, allocations, allocated, oldest, slope, low, high, step], i) => ({ owner: model.owner(owner), spaceOf, live, peak, allocations, allocated, oldest, slope, low, high, step, values: samples.rows[i] }))
      .filter((row) => row.spaceOf === space.ordinal && row.owner && (row.live > 0 || (this.view.matches && this.view.isMatch(row.owner))));
    const total = rows.reduce((sum, row) => sum + row.live, 0);
    const per = rows.find((row) => row.step)?.step ?? 'iteration';
    table(
      this.box,
      [
        { name: 'owner', value: (row) => row.owner.text, cell: (row) => ownerCell(row.owner) },
        { name: 'live', number: true, value: (row) => row.live, cell: (row) => bytesCell(row.live, total), title: 'in use at the end of the trace' },
        { name: 'peak', number: true, value: (row) => row.peak, cell: (row) => formatBytes(row.peak), title: 'most in use at once' },
        { name: 'oldest', number: true, value: (row) => (row.oldest < 0 ? -1 : model.end - row.oldest), cell: (row) => (row.oldest < 0 ? '–' : formatDuration(model.end - row.oldest)), title: 'age of the oldest array that is still live' },
        { name: `slope / ${per}`, number: true, value: (row) => (row.low > 0 || row.high < 0 ? row.slope : 0), cell: (row) => this.slope(row), title: 'median slope; bold when its whole 95 % interval is on one side of zero' },
        { name: 'history', value: (row) => row.live, cell: (row) => sparkline(row.values) },
      ],
      rows,
      { sort: 1, limit: 9, dim: (row) => !this.view.isMatch(row.owner), empty: 'Nothing is live at the end of the trace.' },
    );
  }

  slope({ slope, low, high, values }) {
    const flat = values.every((value) => value === values[0]);
    if (slope === undefined) return el('span', { class: 'soft' }, flat ? 'flat' : '–');
    if (Math.abs(slope) < 0.5) return el('span', { class: 'soft', title: `${formatBytes(Math.round(low))} to ${formatBytes(Math.round(high))}` }, 'flat');
    const text = `${slope > 0 ? '+' : ''}${formatBytes(Math.round(slope))}`;
    const title = `95 % interval ${formatBytes(Math.round(low))} to ${formatBytes(Math.round(high))}`;
    return low > 0 || high < 0 ? el('b', { class: slope > 0 ? 'bad' : '', title }, text) : el('span', { class: 'soft', title }, `~ ${text}`);
  }
}

/** Where the reserved bytes of the peak went. */
function wasteTable(model, box) {
  const { reserved, parts } = model.waste;
  const rows = parts.map(([kind, bytes, remark]) => ({ kind: words(kind), bytes, remark })).filter((row) => row.bytes !== 0);
  table(
    box,
    [
      { name: 'part', value: (row) => row.kind, cell: (row) => row.kind },
      { name: 'bytes', number: true, value: (row) => row.bytes, cell: (row) => (row.bytes < 0 ? el('span', { class: 'soft' }, 'unknown') : bytesCell(row.bytes, reserved)) },
      { name: 'share', number: true, value: (row) => row.bytes, cell: (row) => (row.bytes < 0 ? '' : formatShare(row.bytes, reserved)) },
      { name: 'how it was found', value: (row) => row.remark, cell: (row) => el('span', { class: 'soft' }, row.remark) },
    ],
    rows,
    { sort: 1, limit: 10 },
  );
}

/** What each layer had in use at most, by phase. */
class Layers {
  constructor(view, box) {
    this.view = view;
    this.box = box;
    view.on('search', () => this.draw());
  }

  draw() {
    const { model } = this.view;
    const layers = new Map();
    for (const [network, layer, phase, peak, peakAt, allocated, allocations] of model.layers) {
      const key = `${network}\n${layer}`;
      const row = layers.get(key) ?? { network, layer, phases: {} };
      if (phase < 0) Object.assign(row, { peak, peakAt, allocated, allocations });
      else row.phases[model.phases[phase]] = { peak, peakAt };
      layers.set(key, row);
    }
    const rows = [...layers.values()];
    const largest = Math.max(1, ...rows.map((row) => row.peak));
    const shown = model.phases.filter((phase) => phase !== 'none' && rows.some((row) => row.phases[phase]));
    const networks = new Set(rows.map((row) => row.network)).size > 1;
    const { search } = this.view;
    table(
      this.box,
      [
        { name: 'layer', value: (row) => row.layer, cell: (row) => (row.layer ? row.layer : el('span', { class: 'soft' }, 'whole network')) },
        ...(networks ? [{ name: 'network', value: (row) => row.network, cell: (row) => row.network || el('span', { class: 'soft' }, 'none known') }] : []),
        { name: 'peak', number: true, value: (row) => row.peak, cell: (row) => bytesCell(row.peak, largest) },
        ...shown.map((phase) => ({ name: phase, number: true, value: (row) => row.phases[phase]?.peak ?? -1, cell: (row) => (row.phases[phase] ? formatBytes(row.phases[phase].peak) : el('span', { class: 'soft' }, '–')), title: `most in use at once that was allocated during ${phase}` })),
        { name: 'allocated in all', number: true, value: (row) => row.allocated, cell: (row) => formatBytes(row.allocated) },
        { name: 'allocations', number: true, value: (row) => row.allocations, cell: (row) => formatCount(row.allocations) },
        { name: 'peak at', number: true, value: (row) => row.peakAt, cell: (row) => el('button', { class: 'link', onclick: () => this.view.pick(row.peakAt), title: 'show this moment' }, formatMoment(row.peakAt, 1e6)) },
      ],
      rows,
      { sort: networks ? 2 : 1, limit: 16, dim: (row) => search && !`${row.network} ${row.layer}`.toLowerCase().includes(search) },
    );
  }
}
