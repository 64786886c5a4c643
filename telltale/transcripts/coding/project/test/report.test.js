import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

/** What the command prints, run as people run it. */
const report = async (...args) => {
  const { stdout } = await promisify(execFile)(process.execPath, ['src/report.js', 'data/july.csv', ...args]);
  return stdout;
};

test('prints a line for each expense, and the total', async () => {
  assert.equal((await report()).trim().split('\n').length, 3);
});

test('prints amounts with two decimals', async () => {
  assert.match(await report(), /coffee\s+3\.80/);
});

test('adds up to the cent', async () => {
  assert.match(await report(), /total\s+16\.30/);
});
