// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
//
// Bundles the page that render.mjs opens: dist/index.html, main.js, main.css.
import * as esbuild from 'esbuild';
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const dist = fileURLToPath(new URL('dist/', import.meta.url));

export async function build() {
  await esbuild.build({
    absWorkingDir: fileURLToPath(new URL('.', import.meta.url)),
    entryPoints: ['src/main.jsx'],
    outfile: 'dist/main.js',
    bundle: true,
    minify: true,
    format: 'iife',
    jsx: 'automatic',
    conditions: ['import', 'browser', 'module'],
    define: { 'process.env.NODE_ENV': '"production"', 'process.env': '{}', global: 'window' },
    loader: { '.svg': 'dataurl', '.woff': 'dataurl', '.woff2': 'dataurl', '.ttf': 'dataurl', '.png': 'dataurl' },
    logLevel: 'warning',
  });
  mkdirSync(dist, { recursive: true });
  // Grafana's libraries read grafanaBootData while they load, so it must be there before main.js.
  const boot = { settings: { featureToggles: {}, buildInfo: { version: '13.2.3', env: 'production' } }, user: {}, navTree: [], themePaths: {} };
  writeFileSync(
    `${dist}index.html`,
    `<!doctype html><meta charset="utf-8"><title>dashboard</title>
<script>window.grafanaBootData=${JSON.stringify(boot)};window.__grafana_public_path__='';</script>
<link rel="stylesheet" href="main.css"><body style="margin:0"><div id="root"></div><script src="main.js"></script>
`,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();
