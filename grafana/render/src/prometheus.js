// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
//
// Prometheus over its HTTP API as a data source for scenes. Grafana's own data source package is AGPL, so it is not used
// here; what matters of it for a dashboard is small: intervals, legends, range, instant and table results.
import * as data from '@grafana/data';
import { RuntimeDataSource, sceneGraph, sceneUtils } from '@grafana/scenes';
import { from } from 'rxjs';

export const dataSourceRef = { type: 'prometheus', uid: 'memopt-prometheus' };
/** Vertical lines for panels over time: {time, color, title}, filled by the first query. */
export const annotations = [];
/** Every query that ran: {expr, series} or {expr, error}. */
export const queries = [];

const scrapeSeconds = Number(new URLSearchParams(location.search).get('scrape') || 1);

async function api(path, parameters) {
  // render.mjs forwards /prometheus, so no cross-origin request is needed.
  const response = await fetch(`/prometheus/api/v1/${path}?${new URLSearchParams(parameters)}`);
  const body = await response.json();
  if (body.status !== 'success') throw new Error(body.error ?? `HTTP ${response.status}`);
  return body.data;
}

/** Replaces variables and Grafana's built-in intervals, by the rules of its Prometheus data source. */
function interpolate(request, expr, step) {
  const seconds = (request.range.to.valueOf() - request.range.from.valueOf()) / 1000;
  const text = expr
    .replaceAll('$__rate_interval', `${Math.max(step + scrapeSeconds, 4 * scrapeSeconds)}s`)
    .replaceAll('$__interval', `${step}s`)
    .replaceAll('$__range', `${Math.round(seconds)}s`);
  const sceneObject = request.scopedVars?.__sceneObject?.value?.valueOf?.();
  return sceneObject ? sceneGraph.interpolate(sceneObject, text, request.scopedVars) : text;
}

async function run(request, expr, { instant, step }) {
  const start = request.range.from.valueOf() / 1000;
  const end = request.range.to.valueOf() / 1000;
  const query = interpolate(request, expr, step);
  try {
    const { result } = instant
      ? await api('query', { query, time: end })
      : await api('query_range', { query, start: Math.floor(start / step) * step, end, step });
    queries.push({ expr: query, series: result.length });
    return result;
  } catch (error) {
    queries.push({ expr: query, error: String(error) });
    throw error;
  }
}

const legend = (format, labels) =>
  format ? format.replace(/\{\{\s*(.+?)\s*\}\}/g, (_, label) => labels[label] ?? '') : JSON.stringify(labels);

function seriesFrame(target, { metric, values }, step) {
  const name = legend(target.legendFormat, metric);
  return data.toDataFrame({
    refId: target.refId,
    name,
    fields: [
      { name: 'Time', type: data.FieldType.time, values: values.map(([t]) => t * 1000), config: { interval: step * 1000 } },
      { name: 'Value', type: data.FieldType.number, labels: metric, values: values.map(([, v]) => Number(v)), config: { displayNameFromDS: name } },
    ],
  });
}

function tableFrame(target, result, several) {
  const labels = [...new Set(result.flatMap(({ metric }) => Object.keys(metric)))].sort();
  return data.toDataFrame({
    refId: target.refId,
    fields: [
      { name: 'Time', type: data.FieldType.time, values: result.map(({ value }) => value[0] * 1000) },
      ...labels.map((label) => ({ name: label, type: data.FieldType.string, values: result.map(({ metric }) => metric[label] ?? '') })),
      { name: several ? `Value #${target.refId}` : 'Value', type: data.FieldType.number, values: result.map(({ value }) => Number(value[1])) },
    ],
  });
}

class Prometheus extends RuntimeDataSource {
  constructor(annotationQueries) {
    super(dataSourceRef.type, dataSourceRef.uid);
    this.annotationQueries = annotationQueries;
  }

  query(request) {
    return from(
      this.frames(request)
        .then((frames) => ({ data: frames }))
        .catch((error) => ({ data: [], errors: [{ message: String(error) }] })),
    );
  }

  async frames(request) {
    const step = Math.max(scrapeSeconds, Math.ceil(request.intervalMs / 1000));
    await (this.annotationsLoaded ??= this.loadAnnotations(request, step));
    const frames = [];
    for (const target of request.targets) {
      const result = await run(request, target.expr, { instant: target.instant, step });
      if (target.format === 'table') {
        if (result.length) frames.push(tableFrame(target, result, request.targets.length > 1));
      } else {
        for (const { metric, values, value } of result) frames.push(seriesFrame(target, { metric, values: values ?? [value] }, step));
      }
    }
    return frames;
  }

  async loadAnnotations(request, step) {
    for (const { expr, iconColor, name } of this.annotationQueries) {
      for (const { values } of await run(request, expr, { instant: false, step })) {
        // Neighbouring points are one event, as in Grafana.
        values
          .filter(([t], i) => i === 0 || t - values[i - 1][0] > 1.5 * step)
          .forEach(([t]) => annotations.push({ time: t * 1000, color: iconColor, title: name }));
      }
    }
  }

  /** Values of a variable; only label_values(series, label) is known. */
  async metricFindQuery(variableQuery, { scopedVars } = {}) {
    const sceneObject = scopedVars?.__sceneObject?.value?.valueOf?.();
    const raw = typeof variableQuery === 'string' ? variableQuery : variableQuery.query;
    const text = sceneObject ? sceneGraph.interpolate(sceneObject, raw, scopedVars) : raw;
    const [, series, label] = /^label_values\((.+),\s*(\w+)\)$/.exec(text);
    const values = await api(`label/${label}/values`, { 'match[]': series });
    return values.map((value) => ({ text: value, value }));
  }

  testDatasource() {
    return Promise.resolve({ status: 'success', message: '' });
  }
}

export const initPrometheus = (annotationQueries) =>
  sceneUtils.registerRuntimeDataSource({ dataSource: new Prometheus(annotationQueries) });
