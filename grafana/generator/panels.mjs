// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
//
// Building blocks of the dashboards: one colour per meaning, panel constructors, and a layout that cannot overlap.

/** The same thing has the same colour in every panel. All are legible on Grafana's dark and light backgrounds. */
export const colors = {
  category: {
    parameters: '#3274D9',
    updater_state: '#8AB8FF',
    gradients: '#8F3BB8',
    activation_gradients: '#E0559B',
    activations: '#FF8833',
    working_memory: '#F2CC0C',
    input: '#56A64B',
    helper_scratch: '#1AA6A6',
    constants: '#9A7B4F',
    other: '#9EA3AD',
  },
  phase: {
    forward: '#3274D9',
    backward: '#FF8833',
    update: '#8F3BB8',
    score: '#1AA6A6',
    inference: '#56A64B',
    evaluation: '#F2CC0C',
    other: '#9EA3AD',
    none: '#6E7480',
  },
  kind: { workspace_block: '#3274D9', spill: '#E02F44', pinned_spill: '#E0559B', detached: '#F2CC0C' },
  live: '#FF8833',
  peak: 'text', // black on light, white on dark
  reserved: '#3274D9',
  resident: '#56A64B',
  unattributed: '#B877D9',
  limit: '#E02F44',
  neutral: '#8AB8FF',
};

const datasource = { type: 'prometheus', uid: '${datasource}' };

// ---- queries

/** A query drawn over the time range. */
export const range = (expr, legendFormat) => ({ expr, legendFormat, range: true, instant: false, format: 'time_series' });
/** A query for the end of the time range, one series a label set. */
export const instant = (expr, legendFormat) => ({ expr, legendFormat, range: false, instant: true, format: 'time_series' });
/** As instant, but as a table with a column a label. */
export const rows = (expr) => ({ expr, legendFormat: '', range: false, instant: true, format: 'table' });

const targets = (queries) =>
  queries.map((query, i) => ({ refId: String.fromCharCode(65 + i), datasource, editorMode: 'code', ...query }));

// ---- field configuration

export const thresholds = (...steps) => ({
  mode: 'absolute',
  steps: [{ color: steps[0], value: null }, ...steps.slice(1).map(([value, color]) => ({ color, value }))],
});
const fixed = (color) => ({ id: 'color', value: { mode: 'fixed', fixedColor: color } });
export const byName = (name, ...properties) => ({ matcher: { id: 'byName', options: name }, properties });
const byPattern = (pattern, ...properties) => ({ matcher: { id: 'byRegexp', options: pattern }, properties });
/** Fixed colours for the series named like the keys. */
export const colored = (map) => Object.entries(map).map(([name, color]) => byName(name, fixed(color)));
/** Fixed colours for series that start with the keys. */
export const coloredPrefix = (map) =>
  Object.entries(map).map(([prefix, color]) => byPattern(`/^${prefix}/`, fixed(color)));

const onTop = [
  { id: 'custom.stacking', value: { mode: 'none', group: 'A' } },
  { id: 'custom.fillOpacity', value: 0 },
];
/** A line over a stack, not part of it. */
export const line = (prefix, color, width = 2) =>
  byPattern(`/^${prefix}/`, fixed(color), { id: 'custom.lineWidth', value: width }, ...onTop);
/** Limits: red dashes. */
export const limitLine = byPattern(
  '/^limit/',
  fixed(colors.limit),
  { id: 'custom.lineStyle', value: { fill: 'dash', dash: [8, 6] } },
  { id: 'custom.lineWidth', value: 2 },
  ...onTop,
);

// ---- panels (gridPos and id come from layout)

const panel = (type, title, description, unit, queries, { options, defaults = {}, overrides = [], transformations }) => ({
  type,
  title,
  description,
  datasource,
  targets: targets(queries),
  ...(transformations && { transformations }),
  fieldConfig: { defaults: { unit, ...defaults }, overrides },
  options,
});

export const stat = (title, description, unit, queries, { color, steps, decimals, overrides } = {}) =>
  panel('stat', title, description, unit, queries, {
    defaults: {
      ...(decimals !== undefined && { decimals }),
      ...(steps
        ? { color: { mode: 'thresholds' }, thresholds: steps }
        : { color: { mode: 'fixed', fixedColor: color }, thresholds: thresholds(color) }),
    },
    overrides,
    options: {
      reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
      graphMode: 'none',
      colorMode: 'value',
      textMode: 'auto',
      justifyMode: 'center',
      orientation: 'auto',
      wideLayout: false,
      text: { valueSize: 40 },
    },
  });

export const timeseries = (
  title,
  description,
  unit,
  queries,
  { stacked = false, bars = false, fill, legend = 'bottom', calcs = ['lastNotNull', 'max'], overrides, steps, min = 0, width = 2 } = {},
) =>
  panel('timeseries', title, description, unit, queries, {
    defaults: {
      ...(min !== null && { min }),
      color: { mode: 'palette-classic' },
      ...(steps && { thresholds: steps }),
      custom: {
        drawStyle: bars ? 'bars' : 'line',
        lineInterpolation: 'linear',
        lineWidth: stacked ? 1 : width,
        fillOpacity: fill ?? (stacked ? 70 : bars ? 80 : 8),
        gradientMode: 'none',
        showPoints: 'never',
        spanNulls: false,
        axisPlacement: 'auto',
        stacking: { mode: stacked ? 'normal' : 'none', group: 'A' },
        thresholdsStyle: { mode: steps ? 'dashed' : 'off' },
      },
    },
    overrides,
    options: {
      legend: { displayMode: 'table', placement: legend, calcs, showLegend: true },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
  });

export const barGauge = (title, description, unit, queries, { overrides, scheme } = {}) =>
  panel('bargauge', title, description, unit, queries, {
    defaults: { min: 0, color: scheme ? { mode: scheme } : { mode: 'palette-classic' }, thresholds: thresholds('green') },
    overrides,
    options: {
      reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
      orientation: 'horizontal',
      displayMode: 'gradient',
      valueMode: 'color',
      namePlacement: 'left',
      showUnfilled: true,
      sizing: 'auto',
      minVizHeight: 10,
      minVizWidth: 8,
      text: { titleSize: 13, valueSize: 15 },
    },
  });

export const table = (title, description, unit, queries, { transformations, overrides, sortBy, defaults = {} }) =>
  panel('table', title, description, unit, queries, {
    defaults: { custom: { align: 'auto', cellOptions: { type: 'auto' }, filterable: false, minWidth: 70 }, ...defaults },
    overrides,
    transformations,
    options: { showHeader: true, cellHeight: 'sm', ...(sortBy && { sortBy: [{ displayName: sortBy, desc: true }] }) },
  });

export const cell = {
  unit: (unit) => ({ id: 'unit', value: unit }),
  width: (width) => ({ id: 'custom.width', value: width }),
  decimals: (decimals) => ({ id: 'decimals', value: decimals }),
  range: (min, max) => [
    { id: 'min', value: min },
    { id: 'max', value: max },
  ],
  gauge: { id: 'custom.cellOptions', value: { type: 'gauge', mode: 'basic', valueDisplayMode: 'text' } },
  heat: { id: 'custom.cellOptions', value: { type: 'color-background', mode: 'gradient' } },
  text: { id: 'custom.cellOptions', value: { type: 'color-text' } },
  scheme: (mode) => ({ id: 'color', value: { mode } }),
  steps: (...steps) => [
    { id: 'thresholds', value: thresholds(...steps) },
    { id: 'color', value: { mode: 'thresholds' } },
  ],
};

/**
 * Joins instant table queries on their labels. `columns` names the columns in order: labels by their own name, then
 * the values of queries A, B, ...
 */
export const joined = (labels, values) => [
  { id: 'merge', options: {} },
  {
    id: 'organize',
    options: {
      excludeByName: { Time: true },
      indexByName: Object.fromEntries(
        [...Object.keys(labels), ...values.map((_, i) => `Value #${String.fromCharCode(65 + i)}`)].map((name, i) => [name, i]),
      ),
      renameByName: {
        ...labels,
        ...Object.fromEntries(values.map((name, i) => [`Value #${String.fromCharCode(65 + i)}`, name])),
      },
    },
  },
];

// ---- layout

/**
 * Places panels row by row: each section is a title (or null) and lines of [width, panel] with one height a line.
 * The widths of a line add up to 24.
 */
export function layout(sections) {
  const placed = [];
  let id = 1;
  let y = 0;
  for (const { title, lines } of sections) {
    if (title) {
      placed.push({ id: id++, type: 'row', title, collapsed: false, gridPos: { x: 0, y, w: 24, h: 1 }, panels: [] });
      y += 1;
    }
    for (const { height, panels } of lines) {
      let x = 0;
      for (const [w, content] of panels) {
        const { type, title: panelTitle, ...rest } = content;
        placed.push({ id: id++, type, title: panelTitle, gridPos: { x, y, w, h: height }, ...rest });
        x += w;
      }
      if (x !== 24) throw new Error(`a line of "${title}" is ${x} wide`);
      y += height;
    }
  }
  return placed;
}

// ---- variables and annotations

export const datasourceVariable = {
  name: 'datasource',
  label: 'Data source',
  type: 'datasource',
  query: 'prometheus',
  current: {},
  hide: 0,
  includeAll: false,
  multi: false,
  refresh: 1,
  regex: '',
  options: [],
};

export const labelVariable = (name, label, description, query, many) => ({
  name,
  label,
  description,
  type: 'query',
  datasource,
  query: { query, refId: 'variable', qryType: 1 },
  definition: query,
  current: many ? { text: ['All'], value: ['$__all'] } : {},
  hide: 0,
  includeAll: many,
  // ".*" also matches series without the label, which a list of the known values would not.
  ...(many && { allValue: '.*' }),
  multi: many,
  refresh: 2,
  regex: '',
  sort: 1,
  options: [],
});

export const choiceVariable = (name, label, description, values, chosen) => ({
  name,
  label,
  description,
  type: 'custom',
  query: values.join(','),
  current: { text: chosen, value: chosen },
  hide: 0,
  includeAll: false,
  multi: false,
  options: values.map((value) => ({ text: value, value, selected: value === chosen })),
});

export const annotation = (name, color, expr, titleFormat, textFormat) => ({
  name,
  datasource,
  enable: true,
  hide: false,
  iconColor: color,
  expr,
  step: '',
  titleFormat,
  textFormat,
  tagKeys: '',
  useValueForTime: false,
});

export const dashboard = ({ uid, title, description, variables, annotations, panels, time, links = [] }) => ({
  annotations: {
    list: [
      {
        builtIn: 1,
        datasource: { type: 'grafana', uid: '-- Grafana --' },
        enable: true,
        hide: true,
        iconColor: 'rgba(0, 211, 255, 1)',
        name: 'Annotations & Alerts',
        type: 'dashboard',
      },
      ...annotations,
    ],
  },
  description,
  editable: true,
  graphTooltip: 1,
  id: null,
  links,
  panels,
  refresh: '5s',
  schemaVersion: 39,
  tags: ['memopt', 'deeplearning4j', 'memory'],
  templating: { list: variables },
  time: { from: `now-${time}`, to: 'now' },
  timepicker: {},
  timezone: 'browser',
  title,
  uid,
  version: 1,
});
