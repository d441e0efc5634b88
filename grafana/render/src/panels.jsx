// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
//
// The panel types. The drawing is Grafana's (@grafana/ui); the thin wrappers around it are part of Grafana's application,
// which is AGPL and not a library, so they are written anew. Options that a dashboard does not set have Grafana's defaults.
import * as data from '@grafana/data';
import { sceneUtils } from '@grafana/scenes';
import * as ui from '@grafana/ui';
import { TableNG } from '@grafana/ui/unstable';
import { useMemo } from 'react';
import { noEditor } from './grafana';
import { annotations } from './prometheus';

const timeSeriesDefaults = {
  drawStyle: 'line', lineInterpolation: 'linear', lineWidth: 1, lineStyle: undefined, fillOpacity: 0, fillBelowTo: undefined,
  gradientMode: 'none', showPoints: 'auto', pointSize: 5, spanNulls: false, insertNulls: false, transform: undefined,
  stacking: { mode: 'none', group: 'A' }, barAlignment: 0, barWidthFactor: 0.6, axisPlacement: 'auto', axisLabel: '',
  axisSoftMin: undefined, axisSoftMax: undefined, axisCenteredZero: false, axisBorderShow: false, axisColorMode: 'text',
  scaleDistribution: { type: 'linear' }, hideFrom: { legend: false, tooltip: false, viz: false }, thresholdsStyle: { mode: 'off' },
};
const tableDefaults = {
  align: 'auto', cellOptions: { type: 'auto' }, width: undefined, minWidth: undefined, filterable: false, inspect: false,
  wrapText: false, wrapHeaderText: false, hideFrom: { viz: false },
};

const customOptions = (defaults) => ({
  useCustomConfig: (builder) => {
    for (const [id, defaultValue] of Object.entries(defaults)) {
      builder.addCustomEditor({
        id, path: id, name: id, defaultValue, editor: noEditor, override: noEditor, process: data.identityOverrideProcessor,
        shouldApply: () => true, hideFromDefaults: false,
      });
    }
  },
});

const NoData = () => <div>No data</div>;

/** Annotation lines; in Grafana a plugin of the application draws them. */
function drawAnnotations(plot) {
  const { ctx, bbox } = plot;
  ctx.save();
  for (const { time, color } of annotations) {
    const x = plot.valToPos(time, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.strokeStyle = ctx.fillStyle = color;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const mark = 4 * devicePixelRatio;
    ctx.beginPath();
    ctx.moveTo(x - mark, bbox.top + bbox.height + mark);
    ctx.lineTo(x + mark, bbox.top + bbox.height + mark);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.fill();
  }
  ctx.restore();
}

function TimeSeriesPanel({ data: panelData, width, height, timeRange, timeZone, options }) {
  const frames = useMemo(
    () =>
      panelData.series.map((frame, i) => ({
        ...frame,
        fields: frame.fields.map((field) =>
          field.type === data.FieldType.number
            ? { ...field, config: { ...field.config }, state: { ...field.state, seriesIndex: field.state?.seriesIndex ?? i } }
            : field,
        ),
      })),
    [panelData],
  );
  if (!frames.length) return <NoData />;
  return (
    <ui.TimeSeries frames={frames} structureRev={panelData.structureRev} timeRange={timeRange} timeZone={timeZone} width={width}
      height={height} legend={options.legend} options={options}>
      {(config) => {
        if (!config.memoptAnnotated) {
          config.memoptAnnotated = true; // the builder is kept between renderings
          config.addHook('draw', drawAnnotations);
        }
        return <ui.TooltipPlugin2 config={config} hoverMode={0} render={() => null} />;
      }}
    </ui.TimeSeries>
  );
}

const displayValues = (props, theme) =>
  data.getFieldDisplayValues({
    fieldConfig: props.fieldConfig, reduceOptions: props.options.reduceOptions, replaceVariables: props.replaceVariables, theme,
    data: props.data.series, timeZone: props.timeZone, sparkline: props.options.graphMode === 'area',
  });

function StatPanel(props) {
  const theme = ui.useTheme2();
  if (!props.data.series.length) return <NoData />;
  const values = displayValues(props, theme);
  return (
    <ui.VizRepeater getValues={() => values} width={props.width} height={props.height} source={props.data}
      renderCounter={props.renderCounter} orientation={props.options.orientation}
      renderValue={({ value, width, height, count }) => (
        <ui.BigValue value={value.display} count={count} sparkline={value.sparkline} colorMode={props.options.colorMode}
          graphMode={props.options.graphMode} justifyMode={props.options.justifyMode} textMode={props.options.textMode} text={props.options.text}
          theme={theme} width={width} height={height} />
      )} />
  );
}

function BarGaugePanel(props) {
  const theme = ui.useTheme2();
  if (!props.data.series.length) return <NoData />;
  const values = displayValues(props, theme);
  const { options } = props;
  return (
    <ui.VizRepeater getValues={() => values} width={props.width} height={props.height} source={props.data} itemSpacing={8}
      renderCounter={props.renderCounter} orientation={options.orientation} minVizHeight={options.minVizHeight}
      getAlignmentFactors={data.getDisplayValueAlignmentFactors}
      renderValue={({ value, width, height, orientation, alignmentFactors }) => (
        <ui.BarGauge value={value.display} field={value.field} text={options.text} theme={theme} width={width} height={height}
          display={value.view?.getFieldDisplayProcessor?.(value.colIndex)} orientation={orientation}
          displayMode={options.displayMode} itemSpacing={8} lcdCellWidth={10} alignmentFactors={alignmentFactors}
          showUnfilled={options.showUnfilled} valueDisplayMode={options.valueMode} namePlacement={options.namePlacement} />
      )} />
  );
}

function TablePanel({ data: panelData, width, height, timeRange, options, fieldConfig }) {
  const frame = panelData.series[0];
  useMemo(() => data.cacheFieldDisplayNames(panelData.series), [panelData]); // headers show renamed columns
  if (!frame?.length) return <NoData />;
  return (
    <TableNG data={frame} width={width} height={height} timeRange={timeRange} noHeader={!options.showHeader}
      sortBy={options.sortBy ?? []} cellHeight={options.cellHeight} fieldConfig={fieldConfig} structureRev={panelData.structureRev}
      enableVirtualization={false} />
  );
}

export function initPanels() {
  const register = (pluginId, component, config = {}) =>
    sceneUtils.registerRuntimePanelPlugin({ pluginId, plugin: new data.PanelPlugin(component).useFieldConfig(config) });
  register('timeseries', TimeSeriesPanel, customOptions(timeSeriesDefaults));
  register('table', TablePanel, customOptions(tableDefaults));
  register('stat', StatPanel);
  register('bargauge', BarGaugePanel);
}
