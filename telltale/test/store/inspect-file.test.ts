import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { inspectFile } from '../../src/store/sqlite/thread/inspect-file.ts';
import { openInlineStore } from './open-inline-store.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => folder.remove());

const FILES = 500;

/** Makes one file after the other, empty at first; `made` is the one that it is at. */
const MAKER = `
const { workerData: { made, name, page } } = require('node:worker_threads');
const { closeSync, openSync, writeSync } = require('node:fs');
for (let n = 1; n <= ${FILES}; n++) {
  const file = openSync(name + n, 'w');
  Atomics.store(made, 0, n);
  for (let turns = 0; turns < 20_000; turns++) Atomics.load(made, 0);
  writeSync(file, page);
  closeSync(file);
}
Atomics.store(made, 0, -1);
`;

test('a file that another process is making is not taken for a damaged one', async () => {
  const path = folder.path('store.db');
  await (await openInlineStore({ path })).close();
  const page = readFileSync(path).subarray(0, 8192);
  page.writeUInt32BE(1, 28); // all of its pages
  const made = new Int32Array(new SharedArrayBuffer(4));
  const name = folder.path('new');
  const maker = new Worker(MAKER, { eval: true, workerData: { made, name, page } });
  let looks = 0;
  for (let n = 0; n >= 0; n = Atomics.load(made, 0)) {
    if (n === 0) continue;
    inspectFile(`${name}${n}`);
    looks++;
  }
  await maker.terminate();
  expect(looks).toBeGreaterThan(0);
});
