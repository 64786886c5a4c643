import { existsSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { append, outcome } from './appending.ts';
import { eventually, PATIENT } from './eventually.ts';
import { openInlineStore } from './open-inline-store.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

const HEAD = { kind: 'session', name: 'here', status: 'running', title: 'here' } as const;
/** Above the largest pid that Linux gives. */
const NOBODY = 5_000_000;

let folder: TemporaryFolder;
let path: string;
let stores: Store[];

beforeEach(async () => {
  folder = await temporaryFolder();
  path = folder.path('store.db');
  stores = [];
});
afterEach(async () => {
  for (const one of stores) await one.close();
  await folder.remove();
});

const open = (pid = process.pid): Store => {
  const store = openInlineStore({ path, pid, lockTimeoutMs: 20 });
  stores.push(store);
  return store;
};
/** Changes the file behind the stores' backs. */
const meddle = (sql: string) => {
  const db = new DatabaseSync(path);
  const rows = db.prepare(sql).all();
  db.close();
  return rows;
};
const doorbell = () => String(meddle('SELECT doorbell FROM owners ORDER BY id')[0]?.doorbell);

test('a process that was given the pid of a dead owner is not taken for him', async () => {
  await open().create('s', HEAD);
  await expect(open().acquire('s')).rejects.toMatchObject({ code: 'stream_owned' });
  meddle('UPDATE owners SET started_at = started_at - 1');
  expect((await open().acquire('s')).epoch).toBe(2);
});

test('an owner on another machine or in another container lives as long as his heart beats', async () => {
  await open().create('s', HEAD);
  meddle(`UPDATE owners SET place = 'elsewhere', pid = ${NOBODY}`);
  await expect(open().acquire('s')).rejects.toMatchObject({ code: 'stream_owned' });
  meddle('UPDATE owners SET beat_at = beat_at - 60000');
  await open().acquire('s');
});

test('a store of this process that broke down does not keep its streams for ever', async () => {
  await open().create('s', HEAD);
  meddle('UPDATE owners SET beat_at = beat_at - 60000');
  await open().acquire('s');
});

test('an owner taken for dead by mistake cannot write what was taken, and owns what he makes next', async () => {
  const mistaken = open(NOBODY);
  const late = await mistaken.create('s', HEAD);
  const store = open();
  await store.acquire('s');
  expect(await outcome(late, { expectedSeq: 0, events: ['{}'] })).toMatchObject({ code: 'stream_lost' });
  const next = await mistaken.create('next', HEAD);
  await append(next, { expectedSeq: 0, events: ['{}'] });
  expect(meddle('SELECT count(*) AS n FROM heads JOIN owners ON owners.id = heads.owner')).toEqual([
    { n: 2 },
  ]);
});

test('the socket of a dead owner is cleared away with him', async () => {
  await open(NOBODY).create('s', HEAD);
  const path = doorbell();
  await eventually(() => expect(existsSync(path)).toBe(true));
  await open().acquire('s');
  expect(existsSync(path)).toBe(false);
});

test('whoever becomes an owner clears away the dead ones, whatever they owned', async () => {
  await open(NOBODY).create('s', HEAD);
  const path = doorbell();
  await eventually(() => expect(existsSync(path)).toBe(true));
  await open().create('other', HEAD);
  await eventually(() => expect(existsSync(path)).toBe(false));
  await eventually(() => expect(meddle('SELECT pid FROM owners')).toEqual([{ pid: process.pid }]));
});

test('a message wakes the owner through his socket, before he would look for it', PATIENT, async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }); // he never looks by himself
  onTestFinished(() => void vi.useRealTimers());
  const writer = await open().create('s', HEAD);
  let woken = 0;
  writer.onWake(() => woken++);
  const path = doorbell();
  await eventually(() => expect(existsSync(path)).toBe(true));
  await open().send('s', { kind: 'steer', from: 'tester', body: 1 });
  await eventually(() => expect(woken).toBe(1));
});

test('a message wakes the owner although nobody can ring at his door', PATIENT, async () => {
  const writer = await open().create('s', HEAD);
  let woken = 0;
  writer.onWake(() => woken++);
  const path = doorbell();
  await eventually(() => expect(existsSync(path)).toBe(true));
  rmSync(path);
  await open().send('s', { kind: 'steer', from: 'tester', body: 1 });
  await eventually(() => expect(woken).toBe(1));
});

test('what another program writes into the place of the socket is never rung at or removed', async () => {
  await open(NOBODY).create('s', HEAD);
  meddle(`UPDATE owners SET doorbell = '${path}'`);
  const store = open();
  await store.send('s', { kind: 'steer', from: 'tester', body: 1 });
  await store.acquire('s');
  expect(existsSync(path)).toBe(true);
});

test('the heart of an owner beats every ten seconds, and goes on beating when it could not be written', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  try {
    await open().create('s', HEAD);
    const beatAt = () => Number(meddle('SELECT beat_at FROM owners')[0]?.beat_at);
    meddle('UPDATE owners SET beat_at = 0');
    vi.advanceTimersByTime(9_000);
    expect(beatAt()).toBe(0);
    const db = new DatabaseSync(path);
    db.exec('BEGIN IMMEDIATE');
    vi.advanceTimersByTime(2_000);
    db.exec('ROLLBACK');
    db.close();
    expect(beatAt()).toBe(0);
    vi.advanceTimersByTime(10_000);
    expect(Math.abs(Date.now() - beatAt())).toBeLessThan(10_000);
  } finally {
    vi.useRealTimers();
  }
});

test('a store that owns nothing has no heart that beats, and one that was closed neither', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  try {
    const store = openInlineStore({ path });
    expect(await store.list()).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
    await store.create('s', HEAD);
    expect(vi.getTimerCount()).toBe(2);
    await store.close();
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test('a stream whose owner is noted nowhere can be taken', async () => {
  await open().create('s', HEAD);
  meddle('DELETE FROM owners');
  const store = open();
  expect(await store.info('s')).not.toHaveProperty('owner');
  expect((await store.acquire('s')).epoch).toBe(2);
});
