// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
//
// node use.mjs REPORT.html: works with a report as a reader does, by mouse and by keyboard, and prints what failed.
import path from 'node:path';
import { launch, open } from './chromium.mjs';

const file = path.resolve(process.argv[2]);
const browser = await launch();
const failures = [];
let checks = 0;
const check = (what, holds) => {
  checks++;
  if (!holds) failures.push(what);
};

const { page, problems } = await open(browser, file);
await page.waitForFunction(() => window.memoptReport.complete, null, { timeout: 60_000 });
const state = () => page.evaluate(() => { const { from, to, end, moment } = window.memoptReport.view; return { from, to, end, moment }; });
const text = (selector) => page.locator(selector).innerText();
const settled = () => page.waitForTimeout(250);

// The first screen.
check('who holds memory comes first', (await page.locator('#owners table').boundingBox()).y < 900);
check('tiles show the peak', /peak in use\s+[\d.]+ (KiB|MiB|GiB)/.test(await text('#tiles')));
check('something stands out', (await page.locator('#findings li').count()) > 0);
check('no panel is empty', await page.evaluate(() => [...document.querySelectorAll('.panel')].every((panel) => panel.innerText.trim().length > 40)));
check('nothing is wider than the window', await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
check('title is not of the trace', !(await page.title()).includes('pwned'));

// Every control has a name, and images tell what they show.
const nameless = await page.evaluate(() => [...document.querySelectorAll('button, a, input, select, canvas, [role=img]')].filter((e) => e.offsetParent && !e.parentElement.closest('[role=img]') && !(e.getAttribute('aria-label') || e.innerText?.trim() || e.labels?.[0]?.innerText.trim())).map((e) => e.outerHTML.slice(0, 80)));
check(`controls without a name: ${nameless}`, nameless.length === 0);

// Keyboard.
await page.locator('#plot').focus();
await page.keyboard.press('+');
let now = await state();
check('+ zooms in', now.to - now.from < now.end * 0.75);
const before = now.from;
await page.keyboard.press('ArrowRight');
now = await state();
check('arrow right pans', now.from > before);
await page.keyboard.press('0');
now = await state();
check('0 shows all', now.from === 0 && now.to === now.end);
await page.keyboard.press('p');
await settled();
now = await state();
check('p goes to the peak', now.to - now.from < now.end / 2 || now.end < 2e6);
const peak = now.moment;
await page.keyboard.press('.');
await settled();
check('. steps to the next event', (await state()).moment > peak);
await page.keyboard.press(',');
await settled();
check(', steps back', (await state()).moment === peak);
await page.keyboard.press('?');
check('? shows the keys', await page.locator('#keys').isVisible());
await page.keyboard.press('Escape');
check('escape closes them', !(await page.locator('#keys').isVisible()));

// Mouse: drag zooms, wheel zooms, click chooses a moment and fills the explorer.
await page.keyboard.press('0');
await settled();
await page.locator('#plot').scrollIntoViewIfNeeded();
const box = await page.locator('#plot .u-over').boundingBox();
await page.mouse.move(box.x + box.width * 0.3, box.y + 80);
await page.mouse.down();
await page.mouse.move(box.x + box.width * 0.6, box.y + 90, { steps: 6 });
await page.mouse.up();
await settled();
now = await state();
check(`drag zooms to what was marked, ${now.from / now.end} to ${now.to / now.end}`, Math.abs(now.from / now.end - 0.3) < 0.02 && Math.abs(now.to / now.end - 0.6) < 0.02);
await page.mouse.move(box.x + box.width / 2, box.y + 80);
await page.mouse.wheel(0, -400);
await settled();
check('wheel zooms', (await state()).to - (await state()).from < (now.to - now.from) * 0.6);
const title = await text('#moment-title');
await page.mouse.click(box.x + box.width * 0.25, box.y + 100);
await settled();
check('click chooses a moment', (await state()).moment !== peak && (await text('#moment-title')) !== title);
check('the legend has values under the pointer', /[\d.]+ (B|KiB|MiB|GiB)/.test(await text('#legend')));
const shown = await page.evaluate(async () => {
  const { view, model, timeline } = window.memoptReport;
  const x = timeline.columnAt(timeline.leftOf(view.moment));
  const composition = await model.compositionAt(view.moment, view.space);
  return [timeline.columns.used[x], composition.owners.reduce((sum, row) => sum + row.bytes, 0)];
});
check(`the moment has the bytes of its column: ${shown}`, shown[0] === shown[1]);

// Lifetimes answer to the pointer.
await page.keyboard.press('0');
await settled();
await page.locator('#lifetimes').scrollIntoViewIfNeeded();
await settled();
const lives = await page.locator('#lifetimes').boundingBox();
let answered = false;
for (let y = 5; y < lives.height && !answered; y += 7) {
  await page.mouse.move(lives.x + lives.width * 0.5, lives.y + y);
  answered = (await page.locator('#tip').isVisible()) && /address 0x[0-9a-f]+|mostly/.test(await text('#tip'));
}
check('hovering a lifetime tells its owner', answered);

// Search marks everywhere, sorting sorts, the icicle enters, themes change.
await page.keyboard.press('/');
await page.keyboard.type('activations');
await settled();
check('search finds owners', /\d+ owners/.test(await text('#found')));
check('search dims the rest', (await page.locator('#composed tr.dim').count()) > 0 && (await page.locator('#icicle .dim').count()) > 0);
await page.keyboard.press('Escape');
await settled();
check('escape clears the search', (await text('#found')) === '');
await page.locator('#layers-table th button', { hasText: 'layer' }).first().click();
check('a heading sorts', (await page.locator('#layers-table th').first().getAttribute('aria-sort')) === 'ascending');
await page.locator('#icicle button:not(.root)').first().click();
check('a part of the icicle can be entered', (await text('#icicle .root')).startsWith('‹'));
await page.locator('#icicle .root').click();
await page.locator('#first').fill('1');
await page.locator('#first').press('Enter');
await settled();
check('iterations are compared', /peak [\d.]+ \w+/.test(await text('#compare-note')));

// Charts below the timeline share its window and answer to the pointer.
await page.locator('#fragmentation').scrollIntoViewIfNeeded();
check('fragmentation has two charts', (await page.locator('#fragmentation-charts canvas').count()) === 2);
const chart = await page.locator('#fragmentation-charts canvas').first().boundingBox();
await page.mouse.move(chart.x + chart.width / 2, chart.y + 30);
check('a chart tells its values', /external \d\.\d+ · internal \d\.\d+/.test(await text('#fragmentation-charts figure:first-child')));
check('holes have a size', /Holes by size at .*: \d+ with [\d.]+ \w+, largest/.test(await text('#holes-title')));
const drawn = () => page.evaluate(() => document.querySelector('#fragmentation-charts canvas').toDataURL());
const whole = await drawn();
await page.evaluate(() => window.memoptReport.view.zoom(0.3));
await settled();
check('the window moves the charts too', (await drawn()) !== whole);
await page.evaluate(() => window.memoptReport.view.show(0, window.memoptReport.view.end));
const copies = await page.evaluate(() => window.memoptReport.model.transfers.length);
check('transfers have a row for each direction', (await page.locator('#transfers-table tbody tr').count()) === copies);
check('transfers have charts when there are some', (await page.locator('#transfers-charts canvas').count()) === (copies ? 2 : 0));
const light = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
await page.keyboard.press('Escape');
await page.locator('#theme').click();
await settled();
check('the theme changes', (await page.evaluate(() => getComputedStyle(document.body).backgroundColor)) !== light);
failures.push(...problems);
console.log(JSON.stringify({ checks, failures }));
await browser.close();
process.exitCode = failures.length ? 1 : 0;
