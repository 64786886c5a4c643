import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Model } from '../../src/models/model.ts';
import { agentFolder, runAgent, tool } from './run-agent.ts';

const bad = tool('bad', 'throw new Error("No luck.");');
const CALL = '<action id="a">{"name":"bad"}</action>';

/** A model that calls a tool that fails, and then never comes to an end. */
const endless: Model = {
  id: 'scripted:endless',
  stream: ({ signal }, sink) =>
    new Promise((_, reject) => {
      sink.text(CALL);
      signal.addEventListener('abort', () => reject(new Error('aborted')));
    }),
};

const manifest = (command: string) =>
  `permissions: { sandbox: "off" }
import: { tools: [./tools/*.yml] }
hooks: { on_error: [{ command: [sh, -c, ${JSON.stringify(command)}], fallback: true }] }
`;
const runtime = { env: { PATH: process.env.PATH } };

describe('a hook that is under way when its session ends', () => {
  it('by being cancelled is stopped, and the session ends when it has', async () => {
    const began = join(agentFolder(''), 'began');
    const command = `trap 'sleep 0.2; touch stopped; exit 0' TERM; touch ${began}; while :; do sleep 0.02; done`;
    const ran = await runAgent({
      manifest: manifest(command),
      files: bad,
      turns: [],
      model: endless,
      runtime,
      async during(session) {
        await expect.poll(() => existsSync(began)).toBe(true);
        await session.cancel('Enough.');
      },
    });
    const stopped = existsSync(join(ran.folder, 'stopped'));
    expect(ran.result.status).toBe('cancelled');
    expect(stopped).toBe(true);
    expect(ran.types.at(-1)).toBe('session.cancelled');
    expect(ran.of('hook.ran')).toEqual([]);
    rmSync(ran.folder, { recursive: true });
  });

  it('by failing is waited for: what it came to is on the log before the end', async () => {
    const { types, result, of } = await runAgent({
      manifest: manifest('sleep 0.1'),
      files: bad,
      runtime,
      turns: ['<action id="a" mode="sync">{"name":"bad","on_error":"fail"}</action>'],
    });
    expect(result.status).toBe('failed');
    expect(of('hook.ran')).toMatchObject([{ hook: 'on_error', action: 'a' }]);
    expect(types.slice(-2)).toEqual(['hook.ran', 'session.failed']);
  });

  it('by completing is waited for: what it came to is on the log before the end', async () => {
    const { types, result } = await runAgent({
      manifest: manifest('sleep 0.3'),
      files: bad,
      runtime,
      turns: [`<action id="f" mode="fire_and_forget">{"name":"bad"}</action><response>Done.</response>`],
    });
    expect(result.status).toBe('completed');
    expect(types.slice(-2)).toEqual(['hook.ran', 'session.completed']);
  });
});
