// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
//
// Dashboard JSON -> scene.
import {
  CustomVariable, EmbeddedScene, QueryVariable, SceneDataTransformer, SceneGridItem, SceneGridLayout, SceneGridRow,
  SceneQueryRunner, SceneTimeRange, SceneVariableSet, VariableValueSelectors, VizPanel, sceneGraph,
} from '@grafana/scenes';
import { dataSourceRef } from './prometheus';

function variable(model, values) {
  const chosen = values.get(`var-${model.name}`) ?? model.current?.value;
  const common = { name: model.name, label: model.label, ...(chosen !== undefined && { value: chosen, text: chosen }) };
  if (model.type === 'custom') return new CustomVariable({ ...common, query: model.query });
  return new QueryVariable({
    ...common, datasource: dataSourceRef, query: model.query, refresh: model.refresh, sort: model.sort, isMulti: model.multi,
    includeAll: model.includeAll, allValue: model.allValue,
    ...(model.current?.value?.[0] === '$__all' && !values.has(`var-${model.name}`) && { value: ['$__all'], text: ['All'] }),
  });
}

const gridItem = (model) =>
  new SceneGridItem({
    key: `item-${model.id}`,
    x: model.gridPos.x, y: model.gridPos.y, width: model.gridPos.w, height: model.gridPos.h,
    body: new VizPanel({
      key: `panel-${model.id}`,
      pluginId: model.type,
      title: model.title,
      description: model.description,
      options: model.options,
      fieldConfig: model.fieldConfig,
      $data: new SceneDataTransformer({
        transformations: model.transformations ?? [],
        $data: new SceneQueryRunner({
          datasource: dataSourceRef,
          queries: model.targets.map((target) => ({ ...target, datasource: dataSourceRef })),
          maxDataPoints: 400,
        }),
      }),
    }),
  });

/** Panels after a row belong to it, up to the next row. */
function gridChildren(panels) {
  const children = [];
  let row;
  for (const model of panels) {
    if (model.type === 'row') {
      row = new SceneGridRow({ key: `row-${model.id}`, title: model.title, y: model.gridPos.y, children: [] });
      children.push(row);
    } else if (row) {
      row.setState({ children: [...row.state.children, gridItem(model)] });
    } else {
      children.push(gridItem(model));
    }
  }
  return children;
}

/** The scene of a dashboard; `values` (URL parameters) may give from, to and var-NAME. */
export function dashboardScene(model, values) {
  return new EmbeddedScene({
    $timeRange: new SceneTimeRange({ from: values.get('from') ?? model.time.from, to: values.get('to') ?? model.time.to }),
    $variables: new SceneVariableSet({
      variables: model.templating.list.filter(({ type }) => type !== 'datasource').map((v) => variable(v, values)),
    }),
    controls: [new VariableValueSelectors({})],
    body: new SceneGridLayout({ children: gridChildren(model.panels) }),
  });
}

/** What each panel shows now: {title, type, state, errors, series}. */
export const panelStates = (scene) =>
  sceneGraph.findAllObjects(scene, (o) => o instanceof VizPanel).map((panel) => {
    const { data } = sceneGraph.getData(panel).state;
    return {
      title: sceneGraph.interpolate(panel, panel.state.title),
      type: panel.state.pluginId,
      state: data?.state ?? 'NotStarted',
      errors: [panel.state._pluginLoadError, ...(data?.errors ?? []).map((e) => e.message)].filter(Boolean),
      hasValues: (data?.series ?? []).some(({ fields }) =>
        fields.some(({ type, values }) => type === 'number' && values.some((v) => v !== null && !Number.isNaN(v))),
      ),
    };
  });
