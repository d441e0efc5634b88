// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
//
// node generator/generate.mjs          writes the dashboards
// node generator/generate.mjs --check  fails when a written dashboard differs from what would be written
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fleet } from './fleet.mjs';
import { training } from './training.mjs';

const folder = new URL('../src/main/resources/io/memopt/grafana/dashboards/', import.meta.url);
for (const dashboard of [training, fleet]) {
  const file = new URL(`${dashboard.uid}.json`, folder);
  const text = JSON.stringify(dashboard, null, 2) + '\n';
  if (!process.argv.includes('--check')) {
    writeFileSync(file, text);
  } else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    console.error(`${dashboard.uid}.json differs from the generator: run node generator/generate.mjs`);
    process.exitCode = 1;
  }
}
