// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
//
// Draws a dashboard with Grafana's own libraries in Chromium and writes it as PNG. See ../README.md for the options.
// Exit status: 0 all panels show data; 1 some panel shows an error or no data (they are listed); 64 wrong usage.
import { existsSync, readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { build, dist } from './build.mjs';

const usage = `node render.mjs --dashboard FILE --out FILE.png [options]
  --prometheus URL   server to query (default: $PROMETHEUS_URL)
  --theme dark|light (default: dark)
  --from now-5m, --to now   time range (default: the dashboard's)
  --var name=value   value of a variable; may be repeated
  --scrape SECONDS   scrape interval of the server (default: 1)
  --width PIXELS     (default: 1600)
  --wait SECONDS     longest wait for the data (default: 60)
  --strict           also fail when a single query of a panel has no result
  --chromium PATH    browser (default: $CHROMIUM or /usr/bin/chromium)`;

const { values: options } = parseArgs({
  options: {
    dashboard: { type: 'string' },
    out: { type: 'string' },
    prometheus: { type: 'string', default: process.env.PROMETHEUS_URL },
    theme: { type: 'string', default: 'dark' },
    from: { type: 'string' },
    to: { type: 'string' },
    var: { type: 'string', multiple: true, default: [] },
    scrape: { type: 'string', default: '1' },
    width: { type: 'string', default: '1600' },
    wait: { type: 'string', default: '60' },
    strict: { type: 'boolean', default: false },
    chromium: { type: 'string', default: process.env.CHROMIUM ?? '/usr/bin/chromium' },
  },
});
if (!options.dashboard || !options.out || !options.prometheus) {
  console.error(usage);
  process.exit(64);
}

const types = { '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.json': 'application/json', '.html': 'text/html' };
const icons = fileURLToPath(new URL('node_modules/@grafana/ui/dist/public/img/', import.meta.url));

/** The page, the dashboard, Grafana's icons, and Prometheus under /prometheus (same origin, so no CORS is needed). */
function serve() {
  const server = createServer((incoming, outgoing) => {
    const url = new URL(incoming.url, 'http://localhost');
    if (url.pathname.startsWith('/prometheus/')) {
      const target = options.prometheus.replace(/\/$/, '') + url.pathname.slice('/prometheus'.length) + url.search;
      request(target, (answer) => {
        outgoing.writeHead(answer.statusCode, { 'content-type': answer.headers['content-type'] ?? 'application/json' });
        answer.pipe(outgoing);
      })
        .on('error', (error) => outgoing.writeHead(502).end(JSON.stringify({ status: 'error', error: String(error) })))
        .end();
      return;
    }
    const path = normalize(decodeURIComponent(url.pathname));
    const file =
      path === '/dashboard.json' ? options.dashboard
        : path.startsWith('/public/build/img/') ? join(icons, path.slice('/public/build/img/'.length))
          : join(dist, path === '/' ? 'index.html' : path);
    if (!existsSync(file)) {
      outgoing.writeHead(404).end();
      return;
    }
    outgoing.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' }).end(readFileSync(file));
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

const query = new URLSearchParams({ theme: options.theme, scrape: options.scrape });
for (const name of ['from', 'to']) if (options[name]) query.set(name, options[name]);
for (const assignment of options.var) query.set(`var-${assignment.split('=')[0]}`, assignment.slice(assignment.indexOf('=') + 1));

if (!existsSync(join(dist, 'main.js'))) await build();
const server = await serve();
const browser = await chromium.launch({
  executablePath: options.chromium,
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const problems = [];
try {
  const page = await browser.newPage({ viewport: { width: Number(options.width), height: 1000 } });
  page.on('pageerror', (error) => problems.push(`page: ${String(error.stack ?? error).slice(0, 500)}`));
  // Grafana's font is not in its libraries; the page falls back to an installed Inter, or Helvetica.
  page.on('response', (r) => r.status() === 404 && !r.url().includes('/public/fonts/') && console.error(`not found: ${new URL(r.url()).pathname}`));
  await page.goto(`http://127.0.0.1:${server.address().port}/?${query}`);
  await page
    .waitForFunction(
      () => window.memopt.pageErrors.length || (window.memopt.panels().length && window.memopt.panels().every(({ state }) => ['Done', 'Error'].includes(state))),
      undefined,
      { timeout: Number(options.wait) * 1000, polling: 250 },
    )
    .catch(() => problems.push(`page: no end of loading after ${options.wait} s`));
  // Tables paint only what is in view, so the window becomes as high as the page.
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  await page.setViewportSize({ width: Number(options.width), height });
  await page.waitForTimeout(1500); // layout and fonts settle
  const { panels, queries, pageErrors } = await page.evaluate(() => ({
    panels: window.memopt.panels(), queries: window.memopt.queries, pageErrors: window.memopt.pageErrors,
  }));
  problems.push(...pageErrors.map((error) => `page: ${error}`));
  for (const { title, type, errors, hasValues } of panels) {
    if (errors.length) problems.push(`panel "${title}" (${type}): ${errors.join('; ')}`);
    else if (!hasValues) problems.push(`panel "${title}" (${type}): No data`);
  }
  const empty = queries.filter(({ series }) => series === 0).map(({ expr }) => `query without result: ${expr}`);
  if (options.strict) problems.push(...empty);
  else empty.forEach((line) => console.error(line));
  await page.screenshot({ path: options.out });
  console.log(`${options.out}: ${panels.length} panels, ${queries.length} queries`);
} finally {
  await browser.close();
  server.close();
}
problems.forEach((problem) => console.error(problem));
process.exitCode = problems.length ? 1 : 0;
