import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createProcessView } from '../../src/store/sqlite/process-view.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

let folder: TemporaryFolder;
let proc: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  proc = folder.path('proc');
});
afterEach(() => folder.remove());

const LEASE_MS = 30_000;
const SELF = 7;
const owner = { id: 1, pid: 8, startedAt: 500, place: 'b/pid:[1]', beatAgeMs: 0, epoch: 1 };

/** A process as the kernel shows it: the 22nd field is when it began. */
const show = (pid: number, state: string, startedAt: number, command = 'node') => {
  mkdirSync(`${proc}/${pid}`, { recursive: true });
  const fields = [state, ...Array.from({ length: 18 }, (_, n) => n), startedAt, 4096];
  writeFileSync(`${proc}/${pid}/stat`, `${pid} (${command}) ${fields.join(' ')}\n`);
};

describe('where the kernel shows its processes', () => {
  beforeEach(() => {
    show(SELF, 'R', 400);
    mkdirSync(`${proc}/sys/kernel/random`, { recursive: true });
    writeFileSync(`${proc}/sys/kernel/random/boot_id`, 'b\n');
    symlinkSync(String(SELF), `${proc}/self`);
    mkdirSync(`${proc}/${SELF}/ns`);
    symlinkSync('pid:[1]', `${proc}/${SELF}/ns/pid`);
  });

  test('a process is known by its pid, its start, the boot and the container', () => {
    expect(createProcessView({}, proc).self).toEqual({ pid: SELF, startedAt: 400, place: 'b/pid:[1]' });
    expect(createProcessView({ processStartedAt: 3 }, proc).self.startedAt).toBe(400);
  });

  test('an owner lives as long as the process that he began as, however long his heart is silent', () => {
    const { isAlive } = createProcessView({}, proc);
    const silent = { ...owner, beatAgeMs: 10 * LEASE_MS };
    expect(isAlive(silent)).toBe(false);
    show(owner.pid, 'S', 500, 'a (bad) R 1 2 name');
    expect(isAlive(silent)).toBe(true);
    expect(isAlive({ ...silent, startedAt: 499 })).toBe(false);
    for (const dead of ['Z', 'X']) {
      show(owner.pid, dead, 500);
      expect(isAlive(owner)).toBe(false);
    }
  });

  test.each([-LEASE_MS, LEASE_MS])(
    'elsewhere, and in this process, he lives by his heart: %i ms is silence',
    (beatAgeMs) => {
      const { isAlive } = createProcessView({}, proc);
      const almost = beatAgeMs - Math.sign(beatAgeMs);
      for (const one of [
        { ...owner, place: 'b/pid:[2]' },
        { ...owner, pid: SELF, startedAt: 400 },
      ]) {
        expect(isAlive({ ...one, beatAgeMs })).toBe(false);
        expect(isAlive({ ...one, beatAgeMs: almost })).toBe(true);
      }
      expect(isAlive({ ...owner, pid: SELF, startedAt: 399 })).toBe(false);
    },
  );
});

describe('where there is no such place', () => {
  test('a process is known by what it says of itself, and by its machine', () => {
    expect(createProcessView({ pid: 3, processStartedAt: 9 }, proc).self).toEqual({
      pid: 3,
      startedAt: 9,
      place: hostname(),
    });
    expect(createProcessView({}, proc).self).toMatchObject({ pid: 0, startedAt: 0 });
  });

  test('an owner lives as long as his heart beats and his pid is there', () => {
    const here = { ...owner, place: hostname() };
    for (const there of [true, false]) {
      const { isAlive } = createProcessView({ pid: 3, pidExists: (pid) => pid === owner.pid && there }, proc);
      expect(isAlive(here)).toBe(there);
      expect(isAlive({ ...here, beatAgeMs: LEASE_MS })).toBe(false);
    }
    expect(createProcessView({ pid: 3 }, proc).isAlive(here)).toBe(true);
  });
});
