// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
//
// node shots.mjs REPORT.html FOLDER: the whole page at 1280 light and 1600 dark, and the timeline zoomed to single events.
import path from 'node:path';
import { launch, open } from './chromium.mjs';

const [file, folder] = process.argv.slice(2).map((argument) => path.resolve(argument));
const name = path.basename(file, '.html');
const browser = await launch();
for (const [width, colorScheme] of [[1280, 'light'], [1600, 'dark']]) {
  const { page, problems } = await open(browser, file, { width, colorScheme });
  await page.waitForFunction(() => window.memoptReport.complete, null, { timeout: 60_000 });
  await page.waitForTimeout(300);
  await page.screenshot({ path: `${folder}/${name}-${width}.png`, fullPage: true });
  await page.keyboard.press('p');
  await page.waitForTimeout(800);
  await page.locator('#time').screenshot({ path: `${folder}/${name}-${width}-near.png` });
  console.log(name, width, problems.length ? problems : 'no problems');
  await page.close();
}
await browser.close();
