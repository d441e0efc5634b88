// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0

'use strict';

/**
 * Every array as a rectangle: time to the right, address upwards. Painted pixel by pixel, which is much faster than a
 * canvas path for each. Far away, cells of a grid stand for the arrays in them.
 */
class Lifetimes {
  static HEIGHT = 250;
  /** A window with more arrays than this is shown as cells. */
  static MOST = 80_000;

  constructor(view, canvas, caption) {
    this.view = view;
    this.canvas = canvas;
    this.caption = caption;
    this.low = 0;
    this.high = 1;
    view.on('drawn', () => this.draw());
    view.on('moment', () => this.draw());
    view.on('space', () => this.showAddresses(0, 1));
    canvas.addEventListener('pointermove', (event) => this.hover(event));
    canvas.addEventListener('pointerleave', () => hideTip());
    canvas.addEventListener('wheel', (event) => event.altKey && this.zoomAddresses(event), { passive: false });
  }

  showAddresses(low, high) {
    const width = Math.min(1, Math.max(1e-7, high - low));
    this.low = Math.max(0, Math.min(1 - width, low));
    this.high = this.low + width;
  }

  zoomAddresses(event) {
    event.preventDefault();
    event.stopPropagation();
    const share = this.low + (1 - event.offsetY / Lifetimes.HEIGHT) * (this.high - this.low);
    const factor = Math.exp((event.deltaY || event.deltaX) / 300);
    this.showAddresses(share - (share - this.low) * factor, share + (this.high - share) * factor);
    this.draw();
  }

  async prepare() {
    await this.view.model.loadGrid(this.view.space);
    this.draw();
  }

  draw() {
    const { view } = this;
    const space = view.space;
    if (!space.cells) {
      this.loading ??= this.prepare().then(() => (this.loading = null));
      return;
    }
    const box = fit(this.canvas, Lifetimes.HEIGHT);
    if (!box) return;
    const { context, width, height, ratio } = box;
    const pixels = { left: Math.round(GUTTER * ratio), width: Math.max(1, Math.round((width - GUTTER - MARGIN) * ratio)), height: Math.round(height * ratio) };
    if (this.image?.width !== pixels.width || this.image?.height !== pixels.height) this.image = new ImageData(pixels.width, pixels.height);
    const blocks = view.model.blocksIn(view.from, view.to);
    const few = view.model.weight(blocks) <= Lifetimes.MOST && view.model.isDetailed(Math.min(view.to, view.model.end));
    this.shown = few ? view.model.unpacked(blocks) : null;
    if (few && !this.shown) view.model.lifetimes(blocks).then(() => view.emit('loaded'));
    const raster = new Raster(this.image, this.palette(), view, this.low * space.height, this.high * space.height);
    if (this.shown) raster.single(this.shown);
    else raster.cells();
    context.clearRect(0, 0, width, height);
    context.putImageData(this.image, pixels.left, 0);
    this.labels(context, height);
    this.marker(context, width, height);
    this.caption.textContent = this.shown
      ? `One rectangle for each array; grey frames are workspace blocks. ${this.low > 0 || this.high < 1 ? 'Alt + wheel zooms addresses. ' : ''}`
      : `Far view: a cell shows the category that filled most of it, pale where little was filled. Zoom in for single arrays${view.matches ? ' and for what the search finds' : ''}.`;
  }

  palette() {
    const theme = css('--panel');
    const key = theme + this.view.search;
    if (this.colors?.key !== key) {
      const ground = parseColor(theme);
      const full = this.view.model.categories.map((name) => parseColor(CATEGORY_COLORS[name]));
      this.colors = {
        key,
        ground: pack(ground),
        block: pack(mix(ground, parseColor(css('--soft')), 0.22)),
        full: full.map(pack),
        dim: full.map((color) => pack(mix(ground, color, 0.16))),
        shares: full.map((color) => Array.from({ length: 17 }, (_, i) => pack(mix(ground, color, i === 0 ? 0 : 0.25 + (0.75 * i) / 16)))),
      };
    }
    return this.colors;
  }

  labels(context, height) {
    context.fillStyle = css('--soft');
    context.font = '11px ui-monospace, monospace';
    context.textAlign = 'right';
    const { space } = this.view;
    const scale = height / ((this.high - this.low) * space.height || 1);
    let last = Infinity;
    for (const [start, size, place] of space.regions) {
      const y = height - (place - this.low * space.height) * scale;
      const visible = y > 8 && y <= height + 1 && y - size * scale < height;
      if (!visible || last - y < 13) continue;
      context.fillText(start.toString(16), GUTTER - 6, y - 2);
      context.fillRect(GUTTER - 4, Math.max(0, y - size * scale), 2, Math.max(1, Math.min(y, size * scale) - 1));
      last = y;
    }
  }

  marker(context, width, height) {
    const { from, to, moment } = this.view;
    const x = GUTTER + ((moment - from) / (to - from)) * (width - GUTTER - MARGIN);
    if (x < GUTTER || x > width - MARGIN) return;
    context.strokeStyle = css('--ink');
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(Math.round(x) + 0.5, 0);
    context.lineTo(Math.round(x) + 0.5, height);
    context.stroke();
    context.setLineDash([]);
  }

  /** The array under the pointer, or what the cell says. */
  hover(event) {
    const { view } = this;
    const { space } = view;
    const width = this.canvas.clientWidth - GUTTER - MARGIN;
    const x = (event.offsetX - GUTTER) / width;
    if (x < 0 || x > 1 || !space.cells) return hideTip();
    const time = view.from + x * (view.to - view.from);
    const place = (this.low + (1 - event.offsetY / Lifetimes.HEIGHT) * (this.high - this.low)) * space.height;
    if (!this.shown) {
      const column = Math.min(space.gridColumns - 1, Math.floor((time / view.model.end) * space.gridColumns));
      const row = Math.min(space.gridRows - 1, Math.floor((place / space.height) * space.gridRows));
      const cell = row * space.gridColumns + column;
      const category = space.cells.category[cell];
      if (!category) return hideTip();
      return showTip(event, [`mostly ${words(view.model.categories[category - 1])}`, `${Math.round((100 * space.cells.share[cell]) / 255)} % of this cell is filled`, 'zoom in for single arrays']);
    }
    const found = this.find(time, place, ((view.to - view.from) / width) * 2, ((this.high - this.low) * space.height * 2) / Lifetimes.HEIGHT);
    if (!found) return hideTip();
    const { owner } = found;
    const lived = found.death === Infinity ? 'still live at the end' : `lived ${formatDuration(found.death - found.birth)}`;
    showTip(event, [
      `${formatBytes(found.bytes)} (${formatExact(found.bytes)})`,
      `${words(owner.category)}${owner.layer ? ` of ${owner.layer}` : ''}, ${words(owner.phase)}`,
      `${words(found.kind)}${owner.workspace ? ` in ${owner.workspace}` : ''}`,
      `${found.continued ? 'got this owner' : 'allocated'} at ${formatMoment(found.birth, (view.to - view.from) / 1000)}, ${lived}`,
      `address 0x${addressOf(space, found.place).toString(16)}`,
    ]);
  }

  find(time, place, nearTime, nearPlace) {
    const { space, model } = this.view;
    let best = null;
    let bestDistance = Infinity;
    for (const block of this.shown) {
      for (let i = 0; i < block.count; i++) {
        if (block.birth[i] > time + nearTime) break;
        if (block.death[i] < time - nearTime || (block.flags[i] & 7) === KIND.block || ((block.flags[i] >> 3) & 3) !== space.ordinal) continue;
        const below = block.place[i] - place;
        const above = place - block.place[i] - block.bytes[i];
        const distance = Math.max(0, below, above) / nearPlace + Math.max(0, block.birth[i] - time, time - block.death[i]) / nearTime;
        if (below < nearPlace && above < nearPlace && distance < bestDistance) {
          bestDistance = distance;
          best = lifetimeOf(model, block, i);
        }
      }
    }
    return best;
  }
}

/** Fills an image with rectangles or cells. */
class Raster {
  constructor(image, palette, view, low, high) {
    this.pixels = new Uint32Array(image.data.buffer);
    this.width = image.width;
    this.height = image.height;
    this.palette = palette;
    this.view = view;
    this.low = low;
    this.perTime = image.width / (view.to - view.from);
    this.perByte = image.height / (high - low || 1);
    this.pixels.fill(palette.ground);
  }

  single(blocks) {
    const { model, space, matches } = this.view;
    for (const outline of space.outlines) this.rectangle(outline.birth, outline.death, outline.place, outline.bytes, this.palette.block);
    const { full, dim } = this.palette;
    for (const { count, birth, death, place, bytes, owner, flags } of blocks) {
      for (let i = 0; i < count; i++) {
        if ((flags[i] & 7) === KIND.block || ((flags[i] >> 3) & 3) !== space.ordinal || place[i] < 0) continue;
        const category = model.categoryOf[owner[i]];
        this.rectangle(birth[i], death[i], place[i], bytes[i], matches && !matches[owner[i]] ? dim[category] : full[category]);
      }
    }
  }

  /** At least a pixel large; with a gap to its neighbours when there is room. */
  rectangle(birth, death, place, bytes, color) {
    const { width, height, pixels } = this;
    let left = Math.floor((birth - this.view.from) * this.perTime);
    let right = Math.floor((death - this.view.from) * this.perTime);
    if (right < 0 || left >= width) return;
    let bottom = height - Math.floor((place - this.low) * this.perByte);
    let top = height - Math.floor((place + bytes - this.low) * this.perByte);
    if (bottom < 0 || top > height) return;
    if (right - left > 3) right--;
    else if (right === left) right++;
    if (bottom - top > 3) top++;
    else if (top === bottom) top--;
    left = Math.max(0, left);
    right = Math.min(width, right);
    top = Math.max(0, top);
    bottom = Math.min(height, bottom);
    for (let y = top; y < bottom; y++) pixels.fill(color, y * width + left, y * width + right);
  }

  cells() {
    const { model, space, from, matches } = this.view;
    const { category, share } = space.cells;
    const { gridColumns, gridRows } = space;
    const { ground, dim, shares } = this.palette;
    const wanted = model.categories.map((_, c) => !matches || [...model.owners.values()].some((owner) => matches[owner.id] && model.categoryOf[owner.id] === c));
    const columns = Int32Array.from({ length: this.width }, (_, x) => Math.floor(((from + (x + 0.5) / this.perTime) / model.end) * gridColumns));
    for (let y = 0; y < this.height; y++) {
      const place = this.low + (this.height - y - 0.5) / this.perByte;
      const row = Math.min(gridRows - 1, Math.floor((place / space.height) * gridRows)) * gridColumns;
      const line = y * this.width;
      for (let x = 0; x < this.width; x++) {
        if (columns[x] >= gridColumns) continue;
        const cell = row + columns[x];
        const c = category[cell];
        if (c > 0) this.pixels[line + x] = wanted[c - 1] ? shares[c - 1][(share[cell] + 15) >> 4] : dim[c - 1];
        else this.pixels[line + x] = ground;
      }
    }
  }
}

const parseColor = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
const mix = (a, b, share) => a.map((value, i) => Math.round(value + (b[i] - value) * share));
const pack = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

function showTip(event, lines) {
  const tip = byId('tip');
  tip.replaceChildren(...lines.map((line, i) => el(i === 0 ? 'b' : 'span', {}, line)));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(innerWidth - width - 8, event.clientX + 14))}px`;
  tip.style.top = `${event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18}px`;
}

function hideTip() {
  byId('tip').hidden = true;
}
