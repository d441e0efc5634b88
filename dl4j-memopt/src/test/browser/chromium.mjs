// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
import { chromium } from 'playwright-core';

/** Starts Chromium so that it asks the network for nothing of its own. */
export const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });

/** Opens a report; collects errors and requests that leave the machine. */
export async function open(browser, file, { width = 1280, height = 900, colorScheme = 'light' } = {}) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme });
  const problems = [];
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('console', (message) => message.type() === 'error' && problems.push(`console: ${message.text()}`));
  page.on('request', (request) => /^(file|data|blob):/.test(request.url()) || problems.push(`request: ${request.url()}`));
  await page.goto(`file://${file}`, { waitUntil: 'commit' });
  await page.waitForFunction(() => window.memoptReport?.ready, null, { timeout: 60_000 });
  return { page, problems };
}
