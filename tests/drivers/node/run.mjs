// SPDX-License-Identifier: Apache-2.0
//
// Runs every *.test.mjs here with Node's own test runner and prints `N passed, N failed`.
import {run} from 'node:test';
import {readdirSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const only = process.argv[2] ?? '';
const files = readdirSync(here)
    .filter(name => name.endsWith('.test.mjs') && name.startsWith(only))
    .map(name => join(here, name));
let passed = 0;
let failed = 0;
const isFile = event => event.nesting === 0 && files.some(file => file.endsWith(event.name));

// A file has as long as a busy machine may need for it.
run({files, concurrency: 1, timeout: 900_000})
    .on('test:pass', event => {
      if (isFile(event) || event.details?.type === 'suite') return;
      ++passed;
      console.log(`ok   ${event.name}`);
    })
    .on('test:fail', event => {
      const cause = event.details?.error?.cause ?? event.details?.error;
      if ((isFile(event) || event.details?.type === 'suite') && cause?.failureType === 'subtestsFailed') {
        return;
      }
      ++failed;
      console.log(`FAIL ${event.name}\n${cause?.stack ?? cause}`);
    })
    .on('end', () => {
      console.log(`${passed} passed, ${failed} failed`);
      process.exit(failed === 0 ? 0 : 1);
    })
    .resume();
