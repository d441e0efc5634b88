// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
//
// node measure.mjs REPORT.html: prints as JSON when the first picture was there and how long frames take while someone
// pans and zooms at several distances.
import path from 'node:path';
import { launch, open } from './chromium.mjs';

const file = path.resolve(process.argv[2]);
const browser = await launch();
const { page, problems } = await open(browser, file);
const firstPaintMs = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
const firstPictureMs = await page.evaluate(() => performance.getEntriesByName('memopt-first-picture')[0].startTime);
await page.waitForFunction(() => window.memoptReport.complete && document.readyState === 'complete', null, { timeout: 120_000 });
const parsedMs = await page.evaluate(() => performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd);

/** Milliseconds between animation frames, the window being moved in each. */
const frames = (from, to, step) =>
  page.evaluate(
    async ([from, to, step]) => {
      const { view } = window.memoptReport;
      const frame = () => new Promise(requestAnimationFrame);
      view.show(from * view.end, to * view.end);
      for (let i = 0; i < 40; i++) await frame();
      await new Promise((resolve) => setTimeout(resolve, 800));
      const times = [];
      let last = await frame();
      for (let i = 0; i < 90; i++) {
        if (step === 'zoom') view.zoom(i < 45 ? 0.93 : 1 / 0.93);
        else view.pan(i < 45 ? 0.01 : -0.01);
        const now = await frame();
        times.push(now - last);
        last = now;
      }
      const sorted = times.slice(1).sort((a, b) => a - b);
      return { medianMs: sorted[sorted.length >> 1], p95Ms: sorted[Math.floor(sorted.length * 0.95)], worstMs: sorted.at(-1), framesPerSecond: Math.round(1000 / (times.reduce((a, b) => a + b, 0) / times.length)), events: window.memoptReport.timeline.columns.exact ? 'single' : 'bins' };
    },
    [from, to, step],
  );
const moving = {};
for (const [name, from, to, step] of [
  ['whole, zoom', 0, 1, 'zoom'],
  ['a fifth, pan', 0.4, 0.6, 'pan'],
  ['1/50, pan', 0.5, 0.52, 'pan'],
  ['1/200, pan', 0.5, 0.505, 'pan'],
  ['1/200, zoom', 0.5, 0.505, 'zoom'],
  ['1/5000, pan', 0.5, 0.5002, 'pan'],
]) {
  moving[name] = await frames(from, to, step);
}
const heapMiB = await page.evaluate(() => Math.round(performance.memory.usedJSHeapSize / 2 ** 20));
console.log(JSON.stringify({ file: path.basename(file), firstPaintMs, firstPictureMs, parsedMs, heapMiB, moving, problems }, null, 1));
await browser.close();
process.exitCode = problems.length ? 1 : 0;
