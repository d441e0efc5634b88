// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
//
// What Grafana's application sets up before it shows a dashboard, as far as panels need it: the registries of standard
// field options and transformations, and the runtime services.
import * as data from '@grafana/data';
import * as runtime from '@grafana/runtime';
import { map } from 'rxjs';

export const noEditor = () => null;

const editors = [
  'number', 'text', 'boolean', 'select', 'color', 'unit', 'strings', 'timezone', 'radio', 'links', 'mappings', 'thresholds',
  'field-color', 'stats-picker', 'slider', 'multi-select', 'fieldNameMatcher', 'dashboard-uid', 'actions', 'field-name', 'selection',
];

/** [name, processor, default] of the options that every field has. */
const fieldOptions = [
  ['unit', data.unitOverrideProcessor],
  ['min', data.numberOverrideProcessor],
  ['max', data.numberOverrideProcessor],
  ['decimals', data.numberOverrideProcessor],
  ['displayName', data.displayNameOverrideProcessor],
  ['noValue', data.stringOverrideProcessor],
  ['color', data.identityOverrideProcessor, { mode: 'palette-classic' }],
  ['thresholds', data.thresholdsOverrideProcessor, { mode: 'absolute', steps: [{ value: -Infinity, color: 'green' }] }],
  ['mappings', data.valueMappingsOverrideProcessor, []],
  ['links', data.dataLinksOverrideProcessor],
  ['filterable', data.booleanOverrideProcessor],
  ['fieldMinMax', data.booleanOverrideProcessor],
];

const fieldOption = ([id, process, defaultValue]) => ({
  id, path: id, name: id, process, defaultValue, editor: noEditor, override: noEditor, settings: {}, shouldApply: () => true,
  category: ['Standard options'],
});

export function initGrafana() {
  data.standardEditorsRegistry.setInit(() => editors.map((id) => ({ id, name: id, editor: noEditor })));
  data.standardFieldConfigEditorRegistry.setInit(() => fieldOptions.map(fieldOption));
  // The library exports some transformations under two names; the registry refuses the second.
  const transformers = new Map(Object.values(data.standardTransformers).map((t) => [t.id, t]));
  data.standardTransformersRegistry.setInit(() =>
    [...transformers.values()].map((t) => ({ id: t.id, name: t.name, transformation: () => Promise.resolve(t), editor: noEditor })),
  );

  runtime.setPluginImportUtils({
    importPanelPlugin: async (id) => {
      throw new Error(`panel type ${id} is not among Grafana's libraries`);
    },
    getPanelPluginFromCache: () => undefined,
  });
  runtime.setAppEvents(new data.EventBusSrv());
  runtime.setRunRequest((source, request) => {
    request.startTime = Date.now();
    return source.query(request).pipe(
      map((response) => ({
        state: response.errors?.length ? data.LoadingState.Error : data.LoadingState.Done,
        series: response.data, errors: response.errors, annotations: [], timeRange: request.range, request,
      })),
    );
  });
  runtime.setDataSourceSrv({
    get: async () => { throw new Error('only the runtime data source exists'); },
    getList: () => [],
    getInstanceSettings: () => undefined,
    registerRuntimeDataSource() {},
    reload() {},
  });
  runtime.setLocationSrv({ update() {} });
  runtime.setEchoSrv({ addEvent() {}, addBackend() {}, flush() {} });
  runtime.setTemplateSrv({ replace: (s) => s, getVariables: () => [], containsTemplate: () => false, updateTimeRange() {} });
}
