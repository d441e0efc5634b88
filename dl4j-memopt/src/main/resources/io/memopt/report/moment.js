// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0

'use strict';

/** What is in use at the chosen moment: composition by any grouping, an icicle of owners, the largest arrays. */
class Moment {
  static DIMENSIONS = ['category', 'layer', 'phase', 'workspace', 'network'];

  constructor(view, boxes) {
    this.view = view;
    Object.assign(this, boxes);
    this.groups = new Set(['category', 'layer', 'phase']);
    this.icicleView = new Icicle(view, this.icicle);
    for (const name of Object.keys(Icicle.ORDERS)) this.order.append(el('option', {}, name));
    this.order.addEventListener('change', () => this.icicleView.reorder(this.order.value));
    for (const dimension of Moment.DIMENSIONS) this.choices.append(this.choice(dimension));
    view.on('moment', () => this.load());
    view.on('search', () => this.tables());
  }

  choice(dimension) {
    const box = el('input', { type: 'checkbox', checked: this.groups.has(dimension) });
    box.addEventListener('change', () => {
      this.groups[box.checked ? 'add' : 'delete'](dimension);
      this.tables();
    });
    return el('label', {}, box, ` ${dimension}`);
  }

  /** The peak is known at once; its single arrays, and all other moments, must be unpacked. */
  async load() {
    const { model, space, moment } = this.view;
    if (moment === space.peakInUseAt) this.show(model.peakComposition(space));
    const mine = (this.latest = {});
    this.largest.classList.add('busy');
    const composition = await model.compositionAt(moment, space);
    if (this.latest === mine) this.show(composition);
    this.largest.classList.remove('busy');
  }

  show(composition) {
    this.composition = composition;
    const { model, moment, space } = this.view;
    const total = composition.owners.reduce((sum, row) => sum + row.bytes, 0);
    const iteration = model.iterationAt(moment);
    const where = iteration < model.iterations.count ? `iteration ${model.iterations.numbers[iteration]}` : model.iterations.count ? 'after training' : '';
    const isPeak = moment === space.peakInUseAt;
    this.title.textContent = `${isPeak ? 'At the peak' : 'At the chosen moment'}: ${formatBytes(total)} in use`;
    this.note.textContent = [`${formatMoment(moment, 1)} after the start`, where, isPeak || model.isDetailed(moment) ? '' : 'from afar: the fullest moment nearby',
      isPeak ? formatExact(total) : `${formatExact(total)}, ${formatShare(total, space.peakInUse)} of the peak`].filter(Boolean).join(' · ');
    this.icicleView.show(composition.owners);
    this.tables();
  }

  tables() {
    if (!this.composition) return;
    const groups = new Map();
    const dimensions = Moment.DIMENSIONS.filter((dimension) => this.groups.has(dimension));
    let total = 0;
    for (const { owner, bytes, arrays } of this.composition.owners) {
      total += bytes;
      const key = dimensions.map((dimension) => owner[dimension]).join('\n');
      const group = groups.get(key) ?? { owner, bytes: 0, arrays: 0, matched: false };
      group.bytes += bytes;
      group.arrays += arrays;
      group.matched ||= this.view.isMatch(owner);
      groups.set(key, group);
    }
    table(
      this.composed,
      [
        ...dimensions.map((dimension) => ({ name: dimension, value: ({ owner }) => owner[dimension], cell: ({ owner }) => dimensionCell(dimension, owner) })),
        { name: 'bytes', number: true, value: (row) => row.bytes, cell: (row) => bytesCell(row.bytes, total) },
        { name: 'share', number: true, value: (row) => row.bytes, cell: (row) => formatShare(row.bytes, total) },
        { name: 'arrays', number: true, value: (row) => row.arrays, cell: (row) => formatCount(row.arrays) },
      ],
      [...groups.values()],
      { sort: dimensions.length, limit: 14, dim: (row) => !row.matched },
    );
    this.arrays();
  }

  arrays() {
    const { largest } = this.composition;
    if (!largest) {
      this.largest.replaceChildren(el('p', { class: 'soft' }, 'Reading single arrays …'));
      return;
    }
    const { model, moment, space } = this.view;
    if (!model.isDetailed(moment)) {
      this.largest.replaceChildren(el('p', { class: 'soft' }, `Single arrays are in this page up to ${formatMoment(model.detailedUntil, 1e6)}.`));
      return;
    }
    table(
      this.largest,
      [
        { name: 'bytes', number: true, value: (row) => row.bytes, cell: (row) => formatBytes(row.bytes) },
        { name: 'owner', value: (row) => row.owner.text, cell: (row) => ownerCell(row.owner) },
        { name: 'age then', number: true, value: (row) => moment - row.birth, cell: (row) => formatDuration(moment - row.birth) },
        { name: 'lived', number: true, value: (row) => row.death - row.birth, cell: (row) => (row.death === Infinity ? 'to the end' : formatDuration(row.death - row.birth)) },
        { name: 'address', value: (row) => row.place, cell: (row) => el('code', {}, row.place < 0 ? '–' : addressOf(space, row.place).toString(16)) },
      ],
      largest,
      { sort: 0, limit: 14, dim: (row) => !this.view.isMatch(row.owner), total: largest.length === 200 ? 'the 200 largest' : undefined },
    );
  }
}
