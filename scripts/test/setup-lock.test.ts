import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isStale, withSetupLock } from '../launch/setup-lock.js';

describe('a lock is stale', () => {
  const machine = { host: 'here', isAlive: (pid: number) => pid === 1 };

  test.each([
    ['its owner has ended', '2 here\n', 0, true],
    ['its owner runs', '1 here\n', 0, false],
    [
      'its owner has been silent for a minute, so the number is another process by now',
      '1 here\n',
      60_001,
      true,
    ],
    ['its owner has ended, but what worked for it runs on', '2 here 1\n', 0, false],
    ['its owner has ended, and what worked for it', '2 here 3\n', 0, true],
    ['its owner is on another machine and gave a sign of life', '2 there\n', 10_000, false],
    ['its owner is on another machine and has been silent', '2 there\n', 60_001, true],
    ['it is being written', '', 100, false],
    ['it was never filled in', '', 5_001, true],
    ['it holds something else', 'what?', 5_001, true],
  ])('%s: %j, silent for %i ms: %s', (_, text, silentMs, expected) => {
    expect(isStale({ text, silentMs }, machine)).toBe(expected);
  });
});

describe('the set-up lock', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'telltale-lock-'));
    path = join(folder, '.cache', 'setup.lock');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('names the process that works under it', async () => {
    await withSetupLock(
      path,
      () => {},
      async (nameWorker) => {
        nameWorker(4711);
        expect(readFileSync(path, 'utf8')).toBe(`${process.pid} ${hostname()} 4711\n`);
      },
    );
    expect(existsSync(path)).toBe(false);
  });

  test('lets one in at a time, and all in the end', async () => {
    let inside = 0;
    let waited = 0;
    const visit = () =>
      withSetupLock(
        path,
        () => waited++,
        async () => {
          expect(++inside).toBe(1);
          await sleep(20);
          inside--;
          return 'done';
        },
      );
    expect(await Promise.all([visit(), visit(), visit()])).toEqual(['done', 'done', 'done']);
    expect(waited).toBeGreaterThan(0);
    expect(existsSync(path)).toBe(false);
  });

  test('is released when the work fails', async () => {
    const failing = withSetupLock(
      path,
      () => {},
      async () => {
        expect(readFileSync(path, 'utf8')).toBe(`${process.pid} ${hostname()}\n`);
        throw new Error('no disk');
      },
    );
    await expect(failing).rejects.toThrow('no disk');
    expect(existsSync(path)).toBe(false);
  });

  test('of an owner that is gone is taken over', async () => {
    await withSetupLock(
      path,
      () => {},
      async () => {},
    );
    writeFileSync(path, `1 ${hostname()}-elsewhere\n`);
    utimesSync(path, new Date(0), new Date(0));
    expect(
      await withSetupLock(
        path,
        () => {},
        async () => 'in',
      ),
    ).toBe('in');
  });
});
