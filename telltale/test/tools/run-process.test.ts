import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { ProcessRequest } from '../../src/tools/process/command-request.ts';
import { runProcess } from '../../src/tools/process/run-process.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { until } from './agent-targets.ts';

function started(program: string, args: readonly string[], graceMs: number, maxDrainedBytes?: number) {
  const folder = temporaryProject();
  const controller = new AbortController();
  const request: ProcessRequest = {
    what: 'tool "x"',
    program,
    args,
    cwd: folder,
    env: { PATH: process.env.PATH ?? '' },
    maxBytes: 1000,
    signal: controller.signal,
  };
  const ended = runProcess(request, {
    clock: createSystemClock(),
    graceMs,
    ...(maxDrainedBytes === undefined ? {} : { maxDrainedBytes }),
  });
  ended.catch(() => undefined);
  const pid = async (file: string) => {
    const read = () => {
      try {
        return Number(readFileSync(join(folder, file), 'utf8'));
      } catch {
        return 0;
      }
    };
    await until(() => read() > 0);
    return read();
  };
  return { ended, controller, pid };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie answers too until its new parent has waited for it.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

const codeOf = (ended: Promise<unknown>) =>
  ended.then(
    () => 'none',
    (thrown: unknown) => (thrown instanceof RuntimeError ? thrown.code : String(thrown)),
  );

const LONG_GRACE_MS = 60_000;
const SHORT_GRACE_MS = 50;

test('an aborted process gets SIGTERM and its grandchildren with it', async () => {
  const { ended, controller, pid } = started(
    'sh',
    ['-c', 'sleep 1000 & echo $! > grandchild; echo $$ > child; wait'],
    LONG_GRACE_MS,
  );
  const pids = [await pid('child'), await pid('grandchild')];
  expect(pids.map(isAlive)).toEqual([true, true]);
  controller.abort();
  expect(await codeOf(ended)).toBe('cancelled');
  await until(() => !pids.some(isAlive));
});

test('a process that ignores SIGTERM is killed after the grace', async () => {
  const { ended, controller, pid } = started(
    'sh',
    ['-c', "trap '' TERM; echo $$ > child; while :; do sleep 0.01; done"],
    SHORT_GRACE_MS,
  );
  const child = await pid('child');
  controller.abort();
  expect(await codeOf(ended)).toBe('cancelled');
  await until(() => !isAlive(child));
});

test('a grandchild that ignores SIGTERM and has redirected its output dies too', async () => {
  const { ended, controller, pid } = started(
    'sh',
    [
      '-c',
      `(trap '' TERM; sh -c 'echo $PPID > grandchild'; while :; do sleep 0.01; done) > /dev/null 2>&1 & wait`,
    ],
    SHORT_GRACE_MS,
  );
  const grandchild = await pid('grandchild');
  controller.abort();
  expect(await codeOf(ended)).toBe('cancelled');
  await until(() => !isAlive(grandchild));
});

test('a process may clean up within its grace', async () => {
  const { ended, controller, pid } = started(
    'sh',
    ['-c', "trap 'echo 1 > cleaned; exit 0' TERM; echo $$ > child; while :; do sleep 0.01; done"],
    LONG_GRACE_MS,
  );
  await pid('child');
  controller.abort();
  expect(await codeOf(ended)).toBe('cancelled');
  expect(await pid('cleaned')).toBe(1);
});

test('what a process leaves running does not hold the call, and ends', async () => {
  const { ended, pid } = started('sh', ['-c', 'sleep 1000 & echo $! > grandchild; echo done'], LONG_GRACE_MS);
  const { exitCode, stdout } = await ended;
  expect(exitCode).toBe(0);
  expect(stdout.text()).toBe('done\n');
  const grandchild = await pid('grandchild');
  await until(() => !isAlive(grandchild));
});

test('a process that prints without end can be stopped, and is stopped after its share', async () => {
  const aborted = started('sh', ['-c', 'echo $$ > child; exec yes'], LONG_GRACE_MS);
  const child = await aborted.pid('child');
  aborted.controller.abort();
  expect(await codeOf(aborted.ended)).toBe('cancelled');
  await until(() => !isAlive(child));
  const endless = started('yes', [], LONG_GRACE_MS, 1_000_000);
  expect(await codeOf(endless.ended)).toBe('output_too_large');
});

test('nothing is started for a signal that is aborted already', async () => {
  const folder = temporaryProject();
  const reason = new RuntimeError('timeout', 'too late');
  const request: ProcessRequest = {
    what: 'tool "x"',
    program: 'touch',
    args: ['made'],
    cwd: folder,
    env: {},
    maxBytes: 1,
    signal: AbortSignal.abort(reason),
  };
  await expect(runProcess(request, { clock: createSystemClock(), graceMs: 1 })).rejects.toBe(reason);
  expect(() => readFileSync(join(folder, 'made'))).toThrow();
});
