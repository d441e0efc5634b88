// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0

'use strict';

/** Who holds the bytes, as an icicle of buttons: each level splits the one above. */
class Icicle {
  static ORDERS = {
    'category › layer › phase › workspace': ['category', 'layer', 'phase', 'workspace'],
    'layer › phase › category › workspace': ['layer', 'phase', 'category', 'workspace'],
    'phase › layer › category › workspace': ['phase', 'layer', 'category', 'workspace'],
    'workspace › layer › category › phase': ['workspace', 'layer', 'category', 'phase'],
  };
  /** Slices narrower than this share of the row are drawn as one. */
  static NARROW = 0.004;

  constructor(view, box) {
    this.view = view;
    this.box = box;
    this.order = Object.values(Icicle.ORDERS)[0];
    this.path = [];
    view.on('search', () => this.draw());
  }

  show(owners) {
    this.owners = owners;
    this.path = [];
    this.draw();
  }

  reorder(name) {
    this.order = Icicle.ORDERS[name];
    this.path = [];
    this.draw();
  }

  draw() {
    if (!this.owners) return;
    const rows = this.owners.filter((row) => this.path.every((value, level) => row.owner[this.order[level]] === value));
    const total = rows.reduce((sum, row) => sum + row.bytes, 0);
    const root = el('button', { class: 'slice root named', style: { left: '0', width: '100%', top: '0' }, onclick: () => this.up(), 'aria-label': `${this.title()}, ${formatBytes(total)}${this.path.length ? ', back' : ''}` }, `${this.path.length ? '‹ ' : ''}${this.title()} · ${formatBytes(total)}`);
    this.box.replaceChildren(root);
    this.box.style.height = `${(total > 0 ? this.order.length - this.path.length + 1 : 1) * 26}px`;
    if (total > 0) this.split(rows, this.path.length, 0, total, total, []);
  }

  title() {
    return this.path.length ? this.path.map((value, level) => nameOf(this.order[level], value)).join(' › ') : 'in use';
  }

  up() {
    this.path.pop();
    this.draw();
  }

  split(rows, level, offset, bytes, total, path) {
    if (level === this.order.length) return;
    const parts = new Map();
    for (const row of rows) {
      const value = row.owner[this.order[level]];
      const part = parts.get(value) ?? { value, bytes: 0, rows: [] };
      part.bytes += row.bytes;
      part.rows.push(row);
      parts.set(value, part);
    }
    let left = offset;
    let restBytes = 0;
    let restCount = 0;
    for (const part of [...parts.values()].sort((a, b) => b.bytes - a.bytes)) {
      if (part.bytes / total < Icicle.NARROW) {
        restBytes += part.bytes;
        restCount++;
        continue;
      }
      this.slice(part, level, left, total, [...path, part.value]);
      this.split(part.rows, level + 1, left, part.bytes, total, [...path, part.value]);
      left += part.bytes;
    }
    if (restBytes / total >= Icicle.NARROW / 2) {
      this.box.append(el('span', { class: `slice rest${restBytes / total > 0.06 ? ' named' : ''}`, title: `${restCount} smaller ones, ${formatBytes(restBytes)}`, style: this.place(level, left, restBytes, total) }, restBytes / total > 0.06 ? `${restCount} smaller` : ''));
    }
  }

  slice(part, level, left, total, path) {
    const dimension = this.order[level];
    const name = nameOf(dimension, part.value);
    const color = dimension === 'category' ? CATEGORY_COLORS[part.value] : dimension === 'phase' ? PHASE_COLORS[part.value] : null;
    const matched = part.rows.some((row) => this.view.isMatch(row.owner));
    const label = `${dimension} ${name}, ${formatBytes(part.bytes)}, ${formatShare(part.bytes, total)}`;
    const named = part.bytes / total > 0.03;
    const slice = el('button', { class: `slice${named ? ' named' : ''}${matched ? '' : ' dim'}${color ? '' : ' plain'}`, 'aria-label': label, title: label, style: this.place(level, left, part.bytes, total), onclick: () => this.enter(path) });
    if (color) {
      slice.style.background = color;
      slice.style.color = inkOn(color);
    }
    if (named) slice.append(`${name} · ${formatBytes(part.bytes)}`);
    this.box.append(slice);
  }

  place(level, left, bytes, total) {
    return { left: `${(100 * left) / total}%`, width: `calc(${(100 * bytes) / total}% - 1px)`, top: `${(level - this.path.length + 1) * 26}px` };
  }

  enter(path) {
    this.path = [...this.path, ...path].slice(0, this.order.length);
    this.draw();
    this.box.querySelector('button').focus();
  }
}

/** Values may be empty: then nobody in particular. */
function nameOf(dimension, value) {
  if (value !== '') return dimension === 'layer' || dimension === 'workspace' || dimension === 'network' ? value : words(value);
  return dimension === 'layer' ? 'whole network' : dimension === 'workspace' ? 'no workspace' : 'unknown';
}
