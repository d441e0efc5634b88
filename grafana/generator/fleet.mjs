// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
//
// memopt-fleet: all runs at a glance, one row an instance.
import {
  annotation, byName, cell, choiceVariable, colors, dashboard, datasourceVariable, instant, joined, labelVariable, layout,
  range, rows, stat, table, thresholds, timeseries,
} from './panels.mjs';

const runs = 'job=~"$job",instance=~"$instance"';
const select = (...more) => `{${[runs, ...more].join(',')}}`;
const network = 'network=~"$network"';
const perRun = (aggregate, expr) => `${aggregate} by (job, instance) (${expr})`;

const live = perRun('sum', `memopt_live_bytes${select(network)}`);
const peak = perRun('sum', `max_over_time(memopt_live_peak_bytes${select()}[$__range])`);
const reserved = perRun('sum', `memopt_reserved_bytes${select()}`);
const wasted = perRun('sum', `memopt_wasted_bytes${select()}`);
// The fullest of the limits, as in the training dashboard. label_replace keeps "or" from dropping the second side.
const limitUsed = 'max by (job, instance) ('
  + `label_replace(${perRun('sum', `memopt_reserved_bytes${select('space="host"')}`)} / ${perRun('min', `memopt_limit_bytes${select('limit="javacpp_max_bytes"')}`)}, "of", "javacpp", "", "")`
  + ` or label_replace(${perRun('max', `memopt_process_resident_bytes${select()}`)} / ${perRun('min', `memopt_limit_bytes${select('limit=~"container|physical|javacpp_max_physical_bytes"')}`)}, "of", "process", "", ""))`;
const growth = perRun('sum', `deriv(memopt_live_bytes${select(network)}[$window])`);
const gcGrowth = perRun('sum', `deriv(memopt_gc_owned_bytes${select()}[$window])`);
const failures = `round(${perRun('sum', `increase(memopt_allocation_failures_total${select()}[$__range])`)})`;
const speed = perRun('sum', `rate(memopt_iteration_seconds_count${select(network)}[$__rate_interval])`);

const numbers = [
  stat('Runs',
    'Training processes that report now. Fewer than started: one has ended or was killed, look at its last limit ratio below.',
    'none', [instant(`count(memopt_process_resident_bytes${select()})`, 'runs')], { color: colors.neutral, decimals: 0 }),
  stat('Live, all runs',
    'Bytes in use by arrays, all runs together. Compare with "Reserved": the difference could serve more runs.',
    'bytes', [range(`sum(memopt_live_bytes${select(network)})`, 'live')], { color: colors.live }),
  stat('Reserved, all runs',
    'Bytes held from operating systems and drivers, all runs together. This is what further runs cannot have.',
    'bytes', [range(`sum(memopt_reserved_bytes${select()})`, 'reserved')], { color: colors.reserved }),
  stat('Fullest limit',
    'The run closest to one of its limits. Above 90 %: open that run (click its row) and lower its peak, or raise the limit.',
    'percentunit', [range(`max(${limitUsed})`, 'fullest')], { steps: thresholds('green', [0.75, 'orange'], [0.9, 'red']), decimals: 0 }),
  stat('Wasted, all runs',
    'Workspace bytes that no array used even at the fullest moment. Large: lower the initial workspace sizes of the runs at the top of the table.',
    'bytes', [range(`sum(memopt_wasted_bytes${select()})`, 'wasted')], { color: colors.unattributed }),
  stat('Allocation failures',
    'Refused allocations (out of memory) in the time range, all runs. Not zero: read the report that the run wrote.',
    'none', [instant(`round(sum(increase(memopt_allocation_failures_total${select()}[$__range])))`, 'failures')],
    { steps: thresholds('green', [1, 'red']), decimals: 0 }),
];

const open = {
  id: 'links',
  value: [{
    title: 'Open this run',
    url: '/d/memopt-training?var-datasource=${datasource}&var-job=${__data.fields.job}&var-instance=${__data.fields.instance}&${__url_time_range}',
  }],
};

const overview = table('Runs',
  'One row a process; click an instance to open it. Limit used in red: will fail soon. Growth above zero for long after warm-up: a leak. Wasted large beside reserved: workspaces too big. Iterations per second at zero: finished, evaluating or stuck.',
  'bytes',
  [live, peak, reserved, limitUsed, growth, gcGrowth, wasted, failures, speed].map(rows),
  {
    transformations: joined(
      { instance: 'instance', job: 'job' },
      ['live', 'peak', 'reserved', 'limit used', 'growth', 'gc-owned growth', 'wasted', 'failures', 'iterations'],
    ),
    overrides: [
      byName('instance', open, cell.width(170)),
      byName('job', cell.width(110)),
      byName('limit used', cell.unit('percentunit'), cell.decimals(0), ...cell.range(0, 1), cell.gauge, ...cell.steps('green', [0.75, 'orange'], [0.9, 'red'])),
      byName('growth', cell.unit('binBps'), cell.text, ...cell.steps('green', [1048576, 'orange'], [16777216, 'red'])),
      byName('gc-owned growth', cell.unit('binBps'), cell.text, ...cell.steps('green', [1048576, 'orange'], [16777216, 'red'])),
      byName('failures', cell.unit('short'), cell.decimals(0), cell.width(90), cell.text, ...cell.steps('green', [1, 'red'])),
      byName('iterations', cell.unit('suffix: /s'), cell.decimals(2), cell.width(110)),
    ],
    sortBy: 'limit used',
  });

const perInstance = (title, description, unit, expr, extra) => timeseries(title, description, unit, [range(expr, '{{instance}}')], extra);

export const fleet = dashboard({
  uid: 'memopt-fleet',
  title: 'Deeplearning4j memory: all runs',
  description: 'All training processes at a glance: who is close to a limit, who grows, who wastes, who stands still.',
  time: '1h',
  variables: [
    datasourceVariable,
    labelVariable('job', 'Job', 'Scrape jobs', 'label_values(memopt_process_resident_bytes, job)', true),
    labelVariable('instance', 'Instance', 'Training processes', 'label_values(memopt_process_resident_bytes{job=~"$job"}, instance)', true),
    labelVariable('network', 'Network', 'Networks attached to the recorders', 'label_values(memopt_live_bytes{job=~"$job",instance=~"$instance"}, network)', true),
    choiceVariable('window', 'Trend over', 'Window of the growth columns', ['1m', '5m', '15m', '1h', '6h'], '5m'),
  ],
  annotations: [
    annotation('Out of memory', 'red', `increase(memopt_allocation_failures_total${select()}[$__rate_interval]) > 0`, 'Out of memory', 'Allocation refused: {{instance}}, {{space}} memory'),
  ],
  panels: layout([
    { title: null, lines: [{ height: 4, panels: numbers.map((panel) => [4, panel]) }, { height: 8, panels: [[24, overview]] }] },
    {
      title: 'Over time',
      lines: [
        {
          height: 9,
          panels: [
            [12, perInstance('Peak of live bytes', 'True peaks, from scrape to scrape. Runs of one kind should look alike: one that stands out has another batch size or a leak.', 'bytes', perRun('sum', `max_over_time(memopt_live_peak_bytes${select()}[$__rate_interval])`))],
            [12, perInstance('Limit used', 'The fullest limit of each run. Lines that climb towards 100 % end in an allocation failure or a killed container: act at 90 %.', 'percentunit', limitUsed, { steps: thresholds('transparent', [0.9, 'red']) })],
          ],
        },
        {
          height: 9,
          panels: [
            [12, perInstance('GC-owned bytes', 'Detached arrays that only close() or the Java collector frees. A staircase: find who creates them with the trace of that run.', 'bytes', perRun('sum', `memopt_gc_owned_bytes${select()}`))],
            [12, perInstance('Iterations per second', 'Speed of each run. A dip with no change of load: look for forced collections and spills in that run.', 'suffix: /s', speed, { calcs: ['lastNotNull', 'mean'] })],
          ],
        },
      ],
    },
  ]),
});
