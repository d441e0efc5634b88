// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
//
// memopt-training: one training run on one host.
//
// Peaks are gauges that start afresh at each scrape. A graph with fewer points than scrapes would skip some, so they
// are always read by max_over_time.
import {
  annotation, barGauge, byName, cell, choiceVariable, colored, coloredPrefix, colors, dashboard, datasourceVariable,
  instant, joined, labelVariable, layout, limitLine, line, range, rows, stat, table, thresholds, timeseries,
} from './panels.mjs';

// Which series belong to the run; what has a network or a memory space is filtered by that too.
const run = 'job="$job",instance="$instance"';
const select = (...more) => `{${[run, ...more].join(',')}}`;
const network = 'network=~"$network"';
const space = 'space=~"$space"';

const live = `memopt_live_bytes${select(network, space)}`;
const livePeak = `memopt_live_peak_bytes${select(space)}`;
const reserved = `memopt_reserved_bytes${select(space)}`;
const resident = `memopt_process_resident_bytes${select()}`;
const limit = (names) => `memopt_limit_bytes${select(`limit=~"${names}"`)}`;
// A limit far above the data would press the data flat: it is drawn only within four times the highest value.
const limitNear = (names, highest) => `${limit(names)} < scalar(4 * max(max_over_time(${highest}[$__range] @ end())))`;
const rate = (metric, ...more) => `rate(${metric}${select(...more)}[$__rate_interval])`;

// ---- first row: the numbers one looks for from across the room

const numbers = [
  stat('Live now',
    'Bytes in use by arrays now. Between iterations this is the floor (parameters, updater state, detached arrays); during one it swings up to the peak. A floor that climbs is a leak: see "Growth".',
    'bytes', [range(`sum(${live})`, 'live')], { color: colors.live }),
  stat('Peak in range',
    'Largest sum of live bytes in the time range. This, not the average, decides what fits: lower the batch size, or switch on a strategy, until it stays below the limit with a tenth to spare.',
    'bytes', [instant(`max by (space) (max_over_time(${livePeak}[$__range]))`, '{{space}}')], { color: colors.peak }),
  stat('Reserved',
    'Bytes held from the operating system or the driver, used or not. Far above the peak: workspaces are larger than needed, see "Workspaces".',
    'bytes', [range(`sum(${reserved})`, 'reserved')], { color: colors.reserved }),
  stat('Limit used',
    'The fullest limit: reserved host bytes of JavaCPP\'s maximum, or resident bytes of the smallest process limit. Above 90 % the next larger batch may fail: raise -Dorg.bytedeco.javacpp.maxbytes / maxphysicalbytes, or lower the peak.',
    'percentunit',
    [range(
      'max('
        + `label_replace(sum(memopt_reserved_bytes${select('space="host"')}) / min(${limit('javacpp_max_bytes')}), "of", "javacpp", "", "")`
        + ` or label_replace(max(${resident}) / min(${limit('container|physical|javacpp_max_physical_bytes')}), "of", "process", "", ""))`,
      'used')],
    { steps: thresholds('green', [0.75, 'orange'], [0.9, 'red']), decimals: 0 }),
  stat('Unattributed',
    'Resident bytes that neither the JVM nor the recorder accounts for: native temporaries, memory kept by malloc, libraries. Steady is fine. If it grows, set MALLOC_ARENA_MAX=2 and look for native libraries outside ND4J.',
    'bytes', [range(`memopt_unattributed_bytes${select()}`, 'unattributed')], { color: colors.unattributed }),
  stat('Step time',
    'Mean time of an iteration. A step up together with spills, resizes or forced collections below means that memory management costs speed.',
    's',
    [range(`sum(${rate('memopt_iteration_seconds_sum', network)}) / sum(${rate('memopt_iteration_seconds_count', network)})`, 'mean')],
    { color: colors.resident }),
  stat('Iteration',
    'Number of the running iteration. If it stands still, the run is over, evaluates, or hangs: compare "Time by phase".',
    'none', [range(`max(memopt_iteration${select(network)})`, 'iteration')], { color: colors.neutral, decimals: 0 }),
  stat('Overhead',
    'Share of the time that recording takes (events times measured cost). Above 2 %: switch off the trace file or record fewer events.',
    'percentunit', [range(`sum(${rate('memopt_recorder_overhead_seconds_total')})`, 'overhead')],
    { steps: thresholds('green', [0.02, 'orange'], [0.05, 'red']), decimals: 2 }),
];

// ---- where the memory is

// What stays lies at the bottom of the stack, what comes and goes with each iteration on top.
const staying = 'parameters|updater_state|constants|helper_scratch';
const passing = 'activations|activation_gradients|working_memory';
const stackOrder = [`category=~"${staying}"`, `category!~"${staying}|${passing}"`, `category=~"${passing}"`];

const liveByCategory = timeseries('Live bytes by category',
  'What the memory is used for. The line is the true peak since the previous scrape: the stack only shows the moment of a scrape and misses most peaks. Mostly activations: smaller batch, or recompute activations. Mostly updater state: another updater (SGD keeps none, Adam twice the parameters). "other" climbing: arrays outside workspaces, close them. Limits are drawn when they are within four times the peak.',
  'bytes',
  [
    ...stackOrder.map((categories) => range(`sum by (category) (memopt_live_bytes${select(network, space, categories)})`, '{{category}}')),
    range(`max by (space) (max_over_time(${livePeak}[$__rate_interval]))`, 'peak {{space}}'),
    range(limitNear('javacpp_max_bytes', livePeak), 'limit {{limit}}'),
  ],
  { stacked: true, legend: 'right', overrides: [...colored(colors.category), line('peak', colors.peak), limitLine] });

const levels = timeseries('Live, reserved and resident',
  'The distance from live peak to reserved is idle workspace memory; from reserved to resident it is the JVM and what nobody accounts for (next panels). Resident near a limit: the container is about to be killed. Reserved high and peak low: shrink workspaces.',
  'bytes',
  [
    range(`sum(max_over_time(${livePeak}[$__rate_interval]))`, 'live peak'),
    range(`sum(max_over_time(memopt_reserved_peak_bytes${select(space)}[$__rate_interval]))`, 'reserved peak'),
    range(resident, 'resident'),
    range(limitNear('container|physical|javacpp_max_physical_bytes', resident), 'limit {{limit}}'),
  ],
  { overrides: [...colored({ 'live peak': colors.live, 'reserved peak': colors.reserved, resident: colors.resident }), limitLine] });

const process = timeseries('What the process consists of',
  'Resident memory split into JVM heap, JVM metadata and code, off-heap bytes that the recorder knows, and the rest. A large heap beside a small live set: lower -Xmx, the freed space serves the network. A growing rest: see "Unattributed".',
  'bytes',
  [
    range(`sum(memopt_reserved_bytes${select('space="host"')})`, 'off-heap, known'),
    range(`sum by (area) (memopt_jvm_committed_bytes${select()})`, 'JVM {{area}}'),
    range(`memopt_unattributed_bytes${select()}`, 'unattributed'),
    range(resident, 'resident'),
  ],
  {
    stacked: true, legend: 'right',
    overrides: [
      ...colored({ 'off-heap, known': colors.reserved, 'JVM heap': '#F2CC0C', 'JVM nonheap': '#1AA6A6', unattributed: colors.unattributed }),
      line('resident', colors.resident),
    ],
  });

const reservedByKind = timeseries('Reserved by kind',
  'Who holds memory. workspace_block: the blocks of workspaces. spill: arrays that did not fit, should vanish after warm-up. pinned_spill: the same, kept until the next cycle. detached: arrays outside workspaces, should be flat once training runs.',
  'bytes', [range(`sum by (kind) (${reserved})`, '{{kind}}')], { stacked: true, legend: 'right', overrides: colored(colors.kind) });

const growth = timeseries('Growth per second, over $window',
  'Slope of a straight line through the last $window. Near zero is healthy after warm-up. gc-owned above zero for many minutes: somebody drops detached arrays without close(). live above zero: arrays are kept, look at listeners, caches and lists of scores. unattributed above zero: a native leak.',
  'binBps',
  [
    range(`sum(deriv(memopt_gc_owned_bytes${select(space)}[$window]))`, 'gc-owned'),
    range(`sum(deriv(memopt_live_bytes${select(network, space)}[$window]))`, 'live'),
    range(`deriv(memopt_unattributed_bytes${select()}[$window])`, 'unattributed'),
  ],
  { min: null, overrides: colored({ 'gc-owned': '#F2CC0C', live: colors.live, unattributed: colors.unattributed }) });

const collectable = timeseries('GC-owned bytes and waste',
  'gc-owned: detached arrays that only close() or the Java collector frees; saw teeth mean that one waits for the collector, so close arrays or use a workspace. wasted: workspace bytes that no array used even at the fullest moment of the last cycle; lower the initial size of that workspace.',
  'bytes',
  [
    range(`sum by (space) (memopt_gc_owned_bytes${select(space)})`, 'gc-owned {{space}}'),
    range(`sum by (space) (memopt_wasted_bytes${select(space)})`, 'wasted {{space}}'),
  ],
  { overrides: coloredPrefix({ 'gc-owned': '#F2CC0C', wasted: colors.reserved }) });

// ---- layers

const layerPeak = `max_over_time(memopt_layer_peak_bytes${select(network)}[$__range])`;
const layerHeat = table('Peak by layer and phase',
  'Most bytes a layer had in use in each phase, over the time range. Red cells are where a strategy pays: recompute or offload the activations of that layer, or make it narrower. Backward much above forward: the helper or its workspace is large, try another algorithm mode.',
  'bytes', [rows(`max by (layer, phase) (${layerPeak})`)],
  {
    transformations: [
      { id: 'groupingToMatrix', options: { rowField: 'layer', columnField: 'phase', valueField: 'Value', emptyValue: 'null' } },
      { id: 'organize', options: { renameByName: { 'layer\\phase': 'layer' } } },
    ],
    defaults: {
      min: 0,
      color: { mode: 'continuous-BlYlRd' },
      noValue: '–',
      custom: { align: 'right', cellOptions: { type: 'color-background', mode: 'basic' }, filterable: false },
    },
    overrides: [byName('layer', { id: 'custom.cellOptions', value: { type: 'auto' } }, { id: 'custom.align', value: 'left' }, cell.width(150))],
    sortBy: 'backward',
  });

const layerTop = barGauge('Largest layers',
  'The layers with the highest peak in any phase. Begin here: halving the first bar helps more than anything done to the last.',
  'bytes', [instant(`sort_desc(topk(10, max by (layer) (${layerPeak})))`, '{{layer}}')], { scheme: 'continuous-BlYlRd' });

// ---- workspaces

const perWorkspace = (metric) => `${metric}${select(space)}`;
const increaseBy = (metric) => `round(sum by (workspace) (increase(${metric}${select()}[$__range])))`;
const usedMost = `sum by (workspace) (max_over_time(${perWorkspace('memopt_workspace_used_bytes')}[$__range]))`;
const reservedMost = `sum by (workspace) (max_over_time(${perWorkspace('memopt_workspace_reserved_bytes')}[$__range]))`;
const workspaceTable = table('Workspaces',
  'Reserved against the fullest cycle in the time range. Fill under 50 %: lower the initial size or the overallocation limit of that workspace. Spills after warm-up: raise its initial size to reserved plus spilled. Many resizes: batches differ in size, fix the batch size or let it learn the maximum over time.',
  'bytes',
  [
    rows(reservedMost),
    rows(usedMost),
    rows(`${usedMost} / ${reservedMost}`),
    rows(increaseBy('memopt_workspace_spills_total')),
    rows(increaseBy('memopt_workspace_spilled_bytes_total')),
    rows(increaseBy('memopt_workspace_resizes_total')),
  ],
  {
    transformations: joined({ workspace: 'workspace' }, ['reserved', 'fullest cycle', 'fill', 'spills', 'spilled', 'resizes']),
    overrides: [
      byName('workspace', cell.width(200)),
      byName('fill', cell.unit('percentunit'), ...cell.range(0, 1), cell.decimals(0), cell.gauge, ...cell.steps('red', [0.5, 'orange'], [0.75, 'green'])),
      byName('spills', cell.unit('short'), cell.decimals(0), cell.width(75), cell.text, ...cell.steps('green', [1, 'orange'], [100, 'red'])),
      byName('resizes', cell.unit('short'), cell.decimals(0), cell.width(75), cell.text, ...cell.steps('green', [1, 'orange'], [10, 'red'])),
    ],
    sortBy: 'reserved',
  });

const workspaceTime = timeseries('Workspaces over time',
  'Fullest cycle since the previous scrape (filled) under the block size (dashes). A used area far below its line is memory nobody else can have. Used touching the line again and again: spills follow, raise the initial size.',
  'bytes',
  [
    range(`sum by (workspace) (max_over_time(${perWorkspace('memopt_workspace_used_bytes')}[$__rate_interval]))`, 'used {{workspace}}'),
    range(`sum by (workspace) (${perWorkspace('memopt_workspace_reserved_bytes')})`, 'reserved {{workspace}}'),
  ],
  {
    legend: 'right',
    fill: 0,
    overrides: [
      { matcher: { id: 'byRegexp', options: '/^used/' }, properties: [{ id: 'custom.fillOpacity', value: 22 }] },
      { matcher: { id: 'byRegexp', options: '/^reserved/' }, properties: [{ id: 'custom.lineStyle', value: { fill: 'dash', dash: [6, 4] } }, { id: 'color', value: { mode: 'fixed', fixedColor: colors.category.other } }] },
    ],
  });

const spills = timeseries('Spilled bytes',
  'Bytes a second that did not fit their workspace and were allocated one by one. Normal in the first iterations, while workspaces learn their size. Later: raise the initial size of the workspace named, or keep the batch size constant.',
  'binBps', [range(`sum by (workspace) (${rate('memopt_workspace_spilled_bytes_total')})`, '{{workspace}}')], { fill: 30, calcs: ['mean', 'max'] });

const resizes = timeseries('Resizes and spills',
  'How often blocks were allocated again, and how often an array did not fit. Each resize frees and asks for a whole block, which fragments memory: give the workspace its final size at the start.',
  'ops',
  [
    range(`sum(${rate('memopt_workspace_spills_total')})`, 'spills'),
    range(`sum(${rate('memopt_workspace_resizes_total')})`, 'resizes'),
    range(`sum(${rate('memopt_allocations_total', space, 'kind="detached"')})`, 'detached allocations'),
  ],
  { calcs: ['mean', 'max'], overrides: colored({ spills: colors.kind.spill, resizes: colors.kind.workspace_block, 'detached allocations': colors.kind.detached }) });

const forcedGc = timeseries('Waiting for forced collections',
  'Share of the time spent in System.gc() called to free native memory, and collections a second. Above 1 %: close detached arrays early, use workspaces, have those of batch normalisation freed (MemOptConfig.builder().reuse(Reuse.RELEASED)), or raise JavaCPP\'s limit.',
  'percentunit',
  [
    range(`sum(${rate('memopt_gc_forced_seconds_sum')})`, 'time share'),
    range(`sum(${rate('memopt_gc_forced_seconds_count')})`, 'collections'),
  ],
  {
    calcs: ['mean', 'max'],
    overrides: [
      ...colored({ 'time share': colors.limit, collections: colors.neutral }),
      byName('collections', cell.unit('ops'), { id: 'custom.axisPlacement', value: 'right' }, { id: 'custom.fillOpacity', value: 0 }),
    ],
  });

// ---- speed

const quantile = (q) => `histogram_quantile(${q}, sum by (le) (${rate('memopt_iteration_seconds_bucket', network)}))`;
const stepTime = timeseries('Step time',
  'How long iterations take: median, 95th and 99th percentile, and the slowest. Wide gaps between them: some iterations wait, for data (see "Time by phase") or for memory (spills, resizes, forced collections at the same moment).',
  's',
  [
    range(quantile('0.5'), 'p50'),
    range(quantile('0.95'), 'p95'),
    range(quantile('0.99'), 'p99'),
    range(`max(memopt_iteration_seconds_max${select(network)})`, 'slowest'),
  ],
  { fill: 0, overrides: colored({ p50: '#56A64B', p95: '#F2CC0C', p99: '#FF8833', slowest: '#E02F44' }) });

const phaseTime = timeseries('Time by phase',
  'Seconds a second that the training thread spends in each phase; what is missing to 1 is waiting, mostly for data. Much waiting: a larger prefetch queue or faster data pipeline. Strategies that recompute make forward grow: that is their price.',
  'percentunit', [range(`sum by (phase) (${rate('memopt_phase_seconds_sum', network)})`, '{{phase}}')],
  { stacked: true, legend: 'right', calcs: ['mean', 'max'], overrides: colored(colors.phase) });

const transfers = timeseries('Transfers',
  'Bytes copied between host and device (or between buffers), and the share of time that the caller waits for it. Waiting above a few percent: use pinned staging, copy larger pieces, keep data on the device.',
  'binBps',
  [
    range(`sum by (direction) (${rate('memopt_transfer_bytes_total')})`, '{{direction}}'),
    range(`sum(${rate('memopt_transfer_seconds_total')})`, 'waiting'),
  ],
  {
    calcs: ['mean', 'max'],
    overrides: [byName('waiting', cell.unit('percentunit'), { id: 'custom.axisPlacement', value: 'right' }, { id: 'custom.fillOpacity', value: 0 })],
  });

// ---- threads, health

const threads = table('Threads',
  'Workspaces belong to threads and stay when a thread idles. A thread that idles for ten minutes with much memory: call Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread() at its end, or use fewer worker threads.',
  'bytes',
  [
    rows(`max by (thread) (memopt_thread_workspace_bytes${select()})`),
    rows(`max by (thread) (memopt_thread_idle_seconds${select()})`),
  ],
  {
    transformations: joined({ thread: 'thread' }, ['workspace bytes', 'idle']),
    overrides: [
      byName('thread', cell.width(170)),
      byName('workspace bytes', cell.gauge, { id: 'min', value: 0 }, cell.scheme('continuous-BlYlRd')),
      byName('idle', cell.unit('s'), cell.width(110), cell.decimals(0), cell.text, ...cell.steps('green', [120, 'orange'], [600, 'red'])),
    ],
    sortBy: 'workspace bytes',
  });

const failures = stat('Allocation failures',
  'Refused allocations (out of memory) in the time range. Not zero: read the report that the run wrote; it names the largest holders and what to try.',
  'none', [instant(`round(sum(increase(memopt_allocation_failures_total${select(space)}[$__range])))`, 'failures')],
  { steps: thresholds('green', [1, 'red']), decimals: 0 });

const prefetchers = stat('Prefetch leaks',
  'Prefetch threads whose iterator nobody reads any more; each keeps its queue of batches. Not zero: call shutdown() on AsyncDataSetIterator when leaving an epoch early.',
  'none', [range(`max(memopt_leaked_prefetchers${select()})`, 'prefetchers')],
  { steps: thresholds('green', [1, 'red']), decimals: 0 });

const allocationRate = timeseries('Allocated bytes by kind',
  'Bytes a second asked from the operating system or driver. In a steady state only detached should remain, and little of it: what is allocated every iteration belongs into a workspace.',
  'binBps', [range(`sum by (kind) (${rate('memopt_allocated_bytes_total', space)})`, '{{kind}}')],
  { stacked: true, legend: 'right', calcs: ['mean', 'max'], overrides: colored(colors.kind) });

const recorder = timeseries('Recorder',
  'Events recorded and lost a second, and the memory of the recorder. Lost above zero: the trace file is too slow, so use a larger ring, a faster disk, or no trace file. The metrics stay exact.',
  'cps',
  [
    range(`sum(${rate('memopt_recorder_events_total')})`, 'events'),
    range(`sum(${rate('memopt_recorder_lost_events_total')})`, 'lost'),
    range(`memopt_recorder_memory_bytes${select()}`, 'memory'),
  ],
  {
    legend: 'right',
    overrides: [
      ...colored({ events: colors.neutral, lost: colors.limit, memory: colors.unattributed }),
      byName('memory', cell.unit('bytes'), { id: 'custom.axisPlacement', value: 'right' }, { id: 'custom.fillOpacity', value: 0 }),
    ],
  });

export const training = dashboard({
  uid: 'memopt-training',
  title: 'Deeplearning4j memory: training run',
  description: 'Where the memory of one training run goes, what it costs in time, and what to change.',
  time: '15m',
  links: [{ type: 'link', title: 'All runs', url: '/d/memopt-fleet', icon: 'dashboard', keepTime: true, includeVars: false, targetBlank: false, tags: [], asDropdown: false, tooltip: '' }],
  variables: [
    datasourceVariable,
    labelVariable('job', 'Job', 'Scrape job', 'label_values(memopt_process_resident_bytes, job)', false),
    labelVariable('instance', 'Instance', 'The training process', 'label_values(memopt_process_resident_bytes{job="$job"}, instance)', false),
    labelVariable('network', 'Network', 'Networks attached to the recorder', 'label_values(memopt_live_bytes{job="$job",instance="$instance"}, network)', true),
    labelVariable('space', 'Memory', 'Host, device or pinned memory', 'label_values(memopt_live_bytes{job="$job",instance="$instance"}, space)', true),
    choiceVariable('window', 'Trend over', 'Window of the growth panel', ['1m', '5m', '15m', '1h', '6h'], '5m'),
  ],
  annotations: [
    annotation('Epochs', 'rgba(138, 184, 255, 0.8)', `changes(memopt_epoch${select(network)}[$__rate_interval]) > 0`, 'Epoch', 'A new epoch of {{network}}'),
    annotation('Out of memory', 'red', `increase(memopt_allocation_failures_total${select(space)}[$__rate_interval]) > 0`, 'Out of memory', 'Allocation refused in {{space}} memory'),
  ],
  panels: layout([
    { title: null, lines: [{ height: 4, panels: numbers.map((panel) => [3, panel]) }, { height: 12, panels: [[15, liveByCategory], [9, levels]] }] },
    { title: 'Layers', lines: [{ height: 12, panels: [[15, layerHeat], [9, layerTop]] }] },
    {
      title: 'Workspaces',
      lines: [
        { height: 8, panels: [[12, workspaceTable], [12, workspaceTime]] },
        { height: 9, panels: [[8, spills], [8, resizes], [8, forcedGc]] },
      ],
    },
    { title: 'Speed', lines: [{ height: 10, panels: [[7, stepTime], [10, phaseTime], [7, transfers]] }] },
    {
      title: 'Process and growth',
      lines: [{ height: 9, panels: [[12, process], [12, reservedByKind]] }, { height: 9, panels: [[12, growth], [12, collectable]] }],
    },
    {
      title: 'Threads, allocations, recorder',
      lines: [
        { height: 8, panels: [[8, threads], [3, failures], [3, prefetchers], [10, allocationRate]] },
        { height: 7, panels: [[24, recorder]] },
      ],
    },
  ]),
});
