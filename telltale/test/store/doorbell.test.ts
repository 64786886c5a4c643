import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createDoorbell, type Doorbell } from '../../src/store/sqlite/thread/ownership.ts';
import { eventually } from './eventually.ts';
import { temporaryFolder } from './temporary-folder.ts';

const bells: Doorbell[] = [];
const make = (): Doorbell => {
  const bell = createDoorbell();
  bells.push(bell);
  return bell;
};
afterEach(() => {
  for (const bell of bells.splice(0)) bell.close();
});

test('whoever rings is heard by the one he rings at', async () => {
  const [host, guest] = [make(), make()];
  let rung = 0;
  host.listen(() => rung++);
  await eventually(() => expect(existsSync(host.path)).toBe(true));
  guest.ring(host.path);
  guest.ring(host.path);
  await eventually(() => expect(rung).toBe(2));
});

test('a doorbell that cannot be hung up is no failure', async () => {
  const before = process.env.TMPDIR;
  process.env.TMPDIR = '/nowhere';
  const host = make();
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  host.listen(() => undefined);
  make().ring(host.path);
  await new Promise((resolve) => setImmediate(resolve));
  expect(existsSync(host.path)).toBe(false);
});

test('ringing where nobody listens does nothing', async () => {
  const [host, guest] = [make(), make()];
  guest.ring(host.path);
  guest.ring('/nowhere/telltale-0123456789abcdef.sock');
  let rung = 0;
  host.listen(() => rung++);
  await eventually(() => expect(existsSync(host.path)).toBe(true));
  guest.ring(host.path);
  await eventually(() => expect(rung).toBe(1));
});

test('only what is called like a doorbell is rung at, and nobody rings at himself', async () => {
  const folder = await temporaryFolder();
  const path = folder.path('other.sock');
  let calls = 0;
  const other = createServer(() => calls++);
  await new Promise<void>((resolve) => other.listen(path, resolve));
  try {
    const [host, guest] = [make(), make()];
    const heard: string[] = [];
    host.listen(() => heard.push('host'));
    guest.listen(() => heard.push('guest'));
    await eventually(() => expect([existsSync(host.path), existsSync(guest.path)]).toEqual([true, true]));
    guest.ring(path);
    guest.ring(guest.path);
    guest.ring(host.path);
    await eventually(() => expect(heard).toEqual(['host']));
    expect(calls).toBe(0);
  } finally {
    other.close();
    await folder.remove();
  }
});

test('only what is called like a doorbell is cleared away', () => {
  const [own, foreign] = ['telltale-0123456789abcdef.sock', 'telltale-notes.sock'].map((name) =>
    join(tmpdir(), name),
  ) as [string, string];
  for (const path of [own, foreign]) writeFileSync(path, '');
  const bell = make();
  for (const path of [own, foreign]) bell.remove(path);
  expect([existsSync(own), existsSync(foreign)]).toEqual([false, true]);
  bell.remove(own);
  rmSync(foreign);
});
