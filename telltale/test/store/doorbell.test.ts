import { existsSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { createDoorbell, type Doorbell } from '../../src/store/sqlite/thread/doorbell.ts';
import { eventually } from './eventually.ts';

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
