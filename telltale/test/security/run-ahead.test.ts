import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { createRuntime } from '../../src/index.ts';
import { MAX_AHEAD } from '../../src/lib/clock.ts';

const VICTIM = join(import.meta.dirname, 'run-ahead-victim.ts');

let folder = '';
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Effects that happened, and starts that the log knows of, after the process killed itself in the middle of a call. */
async function killedAt(kind: 'session' | 'run', call: number) {
  folder = mkdtempSync(join(tmpdir(), 'telltale-ahead-'));
  const args = [...process.execArgv, VICTIM, folder, kind, String(call)];
  const { signal, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 });
  expect({ signal, stderr }).toEqual({ signal: 'SIGKILL', stderr: '' });
  const runtime = await createRuntime({ store: 'sqlite:store.db', cwd: folder });
  try {
    const stream = kind === 'session' ? 'ses_busy' : 'run_busy';
    const started = kind === 'session' ? 'action.started' : 'step.started';
    const info = await runtime.store.info(stream);
    const events = info === undefined || info.head === 0 ? [] : await eventsOf(runtime, kind, stream);
    const logged = events.filter((event) => event.type === started && event.step !== 'all').length;
    return { effects: statSync(join(folder, 'effects')).size, logged };
  } finally {
    await runtime.close();
  }
}

async function eventsOf(
  runtime: Awaited<ReturnType<typeof createRuntime>>,
  kind: 'session' | 'run',
  stream: string,
): Promise<readonly { readonly type: string; readonly step?: string }[]> {
  return kind === 'session' ? runtime.events(stream) : runtime.workflows.events(stream);
}

describe('an idempotent tool that never yields', () => {
  test.each([
    ['session', 40],
    ['session', 700],
    ['run', 40],
    ['run', 700],
  ] as const)(
    `leaves at most ${MAX_AHEAD} calls of a %s off the log when the process is killed at call %i`,
    async (kind, call) => {
      const { effects, logged } = await killedAt(kind, call);
      expect(effects).toBe(call);
      expect(effects - logged).toBeLessThanOrEqual(MAX_AHEAD);
    },
  );
});
