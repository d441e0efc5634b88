// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0

'use strict';

const KEYS = [
  ['← →', 'pan the time axis; with Shift by a whole window'],
  ['+ −', 'zoom in and out'],
  ['0', 'show the whole trace'],
  ['p', 'go to the peak'],
  ['n b', 'next and previous iteration'],
  ['. ,', 'next and previous event of the chosen moment'],
  ['z', 'zoom to the chosen moment'],
  ['/', 'search'],
  ['t', 'light or dark'],
  ['?', 'this list'],
  ['Esc', 'close, or clear the search'],
];

const NETWORK_FACTS = { dl4jVersion: 'Deeplearning4j', backend: 'backend', 'java.version': 'Java', os: 'system', pid: 'process' };

async function start() {
  const model = new Model(JSON.parse(byId('data').textContent));
  await model.load();
  const view = new View(model);
  window.memoptReport = { model, view };
  header(model);
  figures(view);
  findings(view);
  theme(view);
  const timeline = new Timeline(view, byId('plot'));
  const overview = new Overview(view, byId('brush'));
  const strips = new Strips(view, byId('strips'));
  const lifetimes = new Lifetimes(view, byId('lifetimes'), byId('lifetimes-note'));
  legend(view, timeline);
  overview.draw();
  strips.draw();
  lifetimes.draw();
  const moment = new Moment(view, { title: byId('moment-title'), note: byId('moment-note'), icicle: byId('icicle'), order: byId('icicle-order'), choices: byId('groups'), composed: byId('composed'), largest: byId('largest') });
  moment.show(model.peakComposition(view.space));
  await new Owners(view, byId('owners')).draw();
  wasteTable(model, byId('waste'));
  new Layers(view, byId('layers-table')).draw();
  performance.mark('memopt-first-picture');
  navigation(view, timeline);
  keyboard(view);
  addEventListener('resize', () => {
    timeline.schedule();
    overview.draw();
  });
  byId('busy').remove();
  window.memoptReport.timeline = timeline;
  window.memoptReport.ready = true;
  // Not needed for the first picture.
  await new Workspaces(view, byId('workspaces-table'), byId('workspaces-charts')).draw();
  new Fragmentation(view, { note: byId('fragmentation-note'), charts: byId('fragmentation-charts'), title: byId('holes-title'), holes: byId('holes') }).draw();
  new Transfers(view, { note: byId('transfers-note'), table: byId('transfers-table'), charts: byId('transfers-charts') }).draw();
  await moment.load();
  await new Compare(view, { first: byId('first'), second: byId('second'), note: byId('compare-note'), result: byId('compare-result') }).draw();
  window.memoptReport.complete = true;
}

function header(model) {
  const networks = [...new Set([...model.owners.values()].map((owner) => owner.network).filter(Boolean))];
  byId('title').textContent = networks.length ? `Memory of ${networks.slice(0, 3).join(', ')}${networks.length > 3 ? ` and ${networks.length - 3} more` : ''}` : 'Memory of a program';
  document.title = `${byId('title').textContent}: ${model.file}`;
  const facts = model.facts.map(([name, value]) => `${NETWORK_FACTS[name] ?? name} ${value}`);
  const started = `${model.start.replace('T', ' ').slice(0, 19)} UTC`;
  byId('facts').textContent = [model.file, ...facts, `started ${started}`].join(' · ');
}

function figures(view) {
  const { model } = view;
  const draw = () => {
    const { space } = view;
    const tile = (name, value, note, action) => el(action ? 'button' : 'div', { class: 'tile', onclick: action }, el('span', {}, name), el('strong', {}, value), el('small', {}, note));
    const iteration = (time) => {
      const index = model.iterationAt(time);
      return index < model.iterations.count ? `in iteration ${model.iterations.numbers[index]}` : `at ${formatMoment(time, 1e6)}`;
    };
    byId('tiles').replaceChildren(
      tile('peak in use', formatBytes(space.peakInUse), iteration(space.peakInUseAt), () => view.pick(space.peakInUseAt)),
      tile('peak reserved', formatBytes(space.peakReserved), iteration(space.peakReservedAt), () => view.pick(space.peakReservedAt)),
      tile('in use at the end', formatBytes(space.inUse), formatExact(space.inUse)),
      tile('reserved at the end', formatBytes(space.reserved), formatExact(space.reserved)),
      tile('iterations', formatCount(model.iterations.count), `in ${formatDuration(model.end)}`),
      tile('events', formatCount(model.events), `${formatCount(model.lifetimeCount)} lifetimes`),
    );
  };
  view.on('space', draw);
  draw();
  if (model.spaces.length > 1) {
    const choice = el('select', { 'aria-label': 'memory space' }, model.spaces.map((space) => el('option', {}, space.name.toLowerCase())));
    choice.addEventListener('change', () => view.select(model.spaces[choice.selectedIndex]));
    byId('space').append('memory ', choice);
  }
}

function findings(view) {
  const list = view.model.findings.map(({ level, title, text, effect, action, unknowns, search }) =>
    el(
      'li',
      { class: level },
      el('b', {}, title),
      el('span', {}, text),
      search ? el('button', { class: 'link', onclick: () => searchFor(view, search), 'aria-label': `show ${search} in all views` }, 'show') : null,
      effect ? el('p', { class: 'effect' }, effect) : null,
      action ? el('details', {}, el('summary', {}, 'what to do'), el('code', {}, action), unknowns ? el('p', { class: 'soft' }, `Not known: ${unknowns}`) : null) : null,
    ),
  );
  byId('findings').replaceChildren(...(list.length ? list : [el('li', { class: 'info' }, el('b', {}, 'Nothing stands out'), el('span', {}, 'No growth, no spills, no forced collections, no refused allocations.'))]));
}

function searchFor(view, text) {
  byId('search').value = text;
  view.find(text);
}

/** Follows the system until the reader decides. */
function theme(view) {
  const root = document.documentElement;
  const system = matchMedia('(prefers-color-scheme: dark)');
  const apply = (name) => {
    root.dataset.theme = name;
    cssValues.clear();
    byId('theme').textContent = name === 'dark' ? 'light' : 'dark';
    view.emit('theme');
  };
  byId('theme').addEventListener('click', () => apply(root.dataset.theme === 'dark' ? 'light' : 'dark'));
  system.addEventListener('change', () => apply(system.matches ? 'dark' : 'light'));
  apply(system.matches ? 'dark' : 'light');
}

/** Category chips with the bytes under the pointer; a click searches for the category. */
function legend(view, timeline) {
  const { model } = view;
  const shown = [...model.stack].reverse().filter((c) => view.model.spaces.some((space) => space.timeline.byCategory[c].some((bytes) => bytes > 0)));
  const values = new Map();
  const chip = (key, name, color) => {
    const value = el('em', {});
    values.set(key, value);
    const line = key === 'reserved' || key === 'used';
    return el(line ? 'span' : 'button', { class: 'chip', onclick: line ? undefined : () => searchFor(view, view.search === name ? '' : name) }, color ? el('i', { class: `swatch${key === 'reserved' ? ' line' : ''}`, style: { background: color } }) : null, name, value);
  };
  byId('legend').replaceChildren(
    chip('time', '', null),
    chip('reserved', 'reserved', css('--reserved')),
    chip('used', 'in use', null),
    ...shown.map((c) => chip(c, words(model.categories[c]), CATEGORY_COLORS[model.categories[c]])),
  );
  const update = () => {
    const { columns } = timeline;
    const x = view.pointer;
    const at = x !== null && x !== undefined && x < columns.count;
    values.get('time').textContent = at ? formatMoment(columns.fullest[x], (view.to - view.from) / columns.count) : columns.exact ? 'single events' : 'maximum of each pixel';
    values.get('reserved').textContent = at ? formatBytes(columns.reserved[x]) : '';
    values.get('used').textContent = at ? formatBytes(columns.used[x]) : '';
    for (const c of shown) values.get(c).textContent = at ? formatBytes(columns.byCategory[x * model.categories.length + c]) : '';
  };
  view.on('pointer drawn', update);
  update();
}

function goToIteration(view, step) {
  const { iterations } = view.model;
  if (!iterations.count) return;
  const index = Math.max(0, Math.min(iterations.count - 1, view.model.iterationAt(view.moment) + step));
  const from = view.model.iterationStart(index);
  const to = iterations.times[index];
  view.show(from - (to - from) * 0.1, to + (to - from) * 0.1);
  view.pick(to);
}

/** The moment of the event before or after the chosen one. */
async function stepEvent(view, direction) {
  if (!view.model.isDetailed(view.moment + 1)) return stepBin(view, direction);
  const blocks = view.model.blocksIn(view.moment - 1, view.moment + 1);
  let best = null;
  for (const { count, birth, death } of await view.model.lifetimes(blocks)) {
    for (let i = 0; i < count; i++) {
      for (const time of [birth[i], death[i]]) {
        const after = (time - view.moment) * direction;
        if (after > 0 && time !== Infinity && (best === null || after < (best - view.moment) * direction)) best = time;
      }
    }
  }
  if (best === null) return;
  if (best < view.from || best > view.to) view.show(best - (view.to - view.from) / 2, best + (view.to - view.from) / 2);
  view.pick(best);
}

/** From afar: the fullest moment of the bin before or after. */
function stepBin(view, direction) {
  const { starts, fullest, count } = view.space.timeline;
  const bin = upperBound(starts, view.moment) - 1 + direction;
  if (bin >= 0 && bin < count) view.pick(fullest[bin]);
}

function navigation(view, timeline) {
  const actions = {
    'zoom-in': () => view.zoom(0.5),
    'zoom-out': () => view.zoom(2),
    'pan-left': () => view.pan(-0.25),
    'pan-right': () => view.pan(0.25),
    whole: () => view.show(0, view.end),
    peak: () => zoomTo(view, view.space.peakInUseAt),
    'iteration-before': () => goToIteration(view, -1),
    'iteration-after': () => goToIteration(view, 1),
  };
  for (const [id, action] of Object.entries(actions)) byId(id).addEventListener('click', action);
  const time = byId('time-area');
  time.addEventListener(
    'wheel',
    (event) => {
      if (event.altKey || event.ctrlKey) return;
      event.preventDefault();
      const left = event.clientX - byId('plot').getBoundingClientRect().left - GUTTER;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) view.pan((event.deltaX || event.deltaY) / 1000);
      else view.zoom(Math.exp(event.deltaY / 400), timeline.timeAt(Math.max(0, Math.min(timeline.plotWidth, left))));
    },
    { passive: false },
  );
  for (const id of ['lifetimes', 'strips']) drag(view, timeline, byId(id));
  const search = byId('search');
  search.addEventListener('input', () => view.find(search.value));
  view.on('search', () => {
    const found = view.matches ? [...view.model.owners.values()].filter((owner) => view.isMatch(owner)) : [];
    byId('found').textContent = view.matches ? `${formatCount(found.length)} owners` : '';
  });
  byId('keys-button').addEventListener('click', () => byId('keys').showModal());
  byId('keys-list').replaceChildren(...KEYS.flatMap(([key, meaning]) => [el('dt', {}, el('kbd', {}, key)), el('dd', {}, meaning)]));
  view.on('moment', () => (byId('status').textContent = `Moment ${formatMoment(view.moment, 1e6)} chosen`));
}

/** Dragging pans; a click chooses a moment. */
function drag(view, timeline, canvas) {
  let grip = null;
  canvas.addEventListener('pointerdown', (event) => {
    grip = { x: event.clientX, from: view.from, to: view.to, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (!grip) return;
    grip.moved ||= Math.abs(event.clientX - grip.x) > 3;
    const by = ((grip.x - event.clientX) / timeline.plotWidth) * (grip.to - grip.from);
    if (grip.moved) view.show(grip.from + by, grip.to + by);
  });
  canvas.addEventListener('pointerup', (event) => {
    if (grip && !grip.moved && event.offsetX >= GUTTER) view.pick(timeline.timeAt(event.offsetX - GUTTER));
    grip = null;
  });
}

/** Shows about 300 events on both sides. */
function zoomTo(view, time) {
  const around = (view.model.end / Math.max(1, view.model.memoryEvents)) * 300;
  view.show(time - around, time + around);
  view.pick(time);
}

function keyboard(view) {
  const actions = {
    ArrowLeft: (event) => view.pan(event.shiftKey ? -1 : -0.1),
    ArrowRight: (event) => view.pan(event.shiftKey ? 1 : 0.1),
    '+': () => view.zoom(0.7),
    '=': () => view.zoom(0.7),
    '-': () => view.zoom(1 / 0.7),
    0: () => view.show(0, view.end),
    p: () => zoomTo(view, view.space.peakInUseAt),
    z: () => zoomTo(view, view.moment),
    n: () => goToIteration(view, 1),
    b: () => goToIteration(view, -1),
    '.': () => stepEvent(view, 1),
    ',': () => stepEvent(view, -1),
    t: () => byId('theme').click(),
    '?': () => byId('keys').showModal(),
    '/': () => byId('search').focus(),
  };
  addEventListener('keydown', (event) => {
    const typing = ['INPUT', 'SELECT'].includes(event.target.tagName);
    if (event.key === 'Escape' && typing) {
      searchFor(view, '');
      event.target.blur();
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey || byId('keys').open) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action(event);
  });
}

start().catch((problem) => {
  byId('busy').textContent = `This report could not be shown: ${problem.message}. It needs a browser of 2023 or later; if it was cut off while being copied, write it again.`;
  throw problem;
});
