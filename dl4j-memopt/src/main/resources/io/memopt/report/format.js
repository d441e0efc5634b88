// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0

'use strict';

/** How numbers are written, and small helpers for the document. */
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

function formatBytes(bytes) {
  let value = Math.abs(bytes);
  let unit = 0;
  while (value >= 1023.95 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = unit === 0 ? 0 : unit < 3 ? 1 : 2;
  return `${bytes < 0 ? '−' : ''}${value.toFixed(digits)} ${UNITS[unit]}`;
}

const grouped = new Intl.NumberFormat('en-US');
const formatCount = (value) => grouped.format(value);
const formatExact = (bytes) => `${formatCount(bytes)} B`;
const formatShare = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : '–');

/** A duration with three digits that matter. */
function formatDuration(nanos) {
  const size = Math.abs(nanos);
  const [value, unit] =
    size < 1e3 ? [nanos, 'ns'] : size < 1e6 ? [nanos / 1e3, 'µs'] : size < 1e9 ? [nanos / 1e6, 'ms'] : [nanos / 1e9, 's'];
  if (unit === 's' && Math.abs(value) >= 120) {
    const minutes = Math.floor(value / 60);
    return minutes < 120 ? `${minutes} min ${Math.round(value % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  }
  return `${unit === 'ns' ? Math.round(value) : value.toPrecision(3).replace(/e\+?.*/, '')} ${unit}`;
}

/** A moment since the start, as exact as a step of {@code step} nanoseconds needs. */
function formatMoment(nanos, step) {
  const [scale, unit] = nanos === 0 ? [1e9, 's'] : nanos < 1e6 && step < 1e3 ? [1e3, 'µs'] : nanos < 1e9 && step < 1e6 ? [1e6, 'ms'] : [1e9, 's'];
  const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(scale / Math.max(1, step)))));
  return `${(nanos / scale).toFixed(digits)} ${unit}`;
}

const words = (name) => name.replaceAll('_', ' ');

/** An element. Text always goes in as text, never as markup. */
function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'style') Object.assign(element.style, value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const byId = (id) => document.getElementById(id);

/** The first index whose value is greater than {@code value}. */
function upperBound(values, value, count = values.length) {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A canvas fitted to its box in device pixels; null while it has no size. */
function fit(canvas, height) {
  const width = canvas.clientWidth;
  if (width === 0) return null;
  const ratio = devicePixelRatio || 1;
  const pixels = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) {
    [canvas.width, canvas.height] = pixels;
  }
  canvas.style.height = `${height}px`;
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { context, width, height, ratio };
}

/** A colour of the current theme; asking the document each time would be slow. Cleared when the theme changes. */
const cssValues = new Map();
function css(name) {
  if (!cssValues.has(name)) cssValues.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return cssValues.get(name);
}

/** Black or white, whichever is easier to read on {@code hex}. */
const inks = new Map();
function inkOn(hex) {
  if (!inks.has(hex)) inks.set(hex, luminance(hex) > 0.3 ? '#111' : '#fff');
  return inks.get(hex);
}

function luminance(hex) {
  const [r, g, b] = [1, 3, 5].map((i) => (parseInt(hex.slice(i, i + 2), 16) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
