import { describe, expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { openStore } from '../../src/store/open-store.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { seen } from '../recovery/stage.ts';
import { agentFolder, runAgent, tool } from './run-agent.ts';

const manifest = 'import: { tools: [./tools/*.yml] }\n';
const files = {
  ...tool('make', 'return "made";'),
  ...tool('boom', 'throw new Error("no");'),
  ...tool('undo', 'await new Promise((resolve) => setTimeout(resolve, 20)); return "undone";'),
};
const made = '<action id="a" mode="sync">{"name":"make","compensate":{"name":"undo"}}</action>';
const failed = '<action id="b" mode="sync">{"name":"boom","on_error":"fail"}</action>';

describe('an action with on_error: fail', () => {
  it('has what was done undone even where the session has reached a limit', async () => {
    const { result, of } = await runAgent({
      manifest: `${manifest}limits: { turns: 1 }\n`,
      files,
      turns: [made + failed],
    });
    expect(result.error?.code).toBe('action_failed');
    expect(of('action.compensated')).toHaveLength(1);
  });

  it('has all of it undone although its time is up meanwhile', async () => {
    const { result, of } = await runAgent({
      manifest: `${manifest}limits: { wall: 300ms }\n`,
      files: {
        ...files,
        ...tool('undo', 'await new Promise((resolve) => setTimeout(resolve, 400)); return "undone";'),
      },
      turns: [`${made}${made.replace('"a"', '"a2"')}${failed}`],
    });
    expect(result.error?.code).toBe('action_failed');
    expect(of('action.compensated').map(({ id }) => id)).toEqual(['a2', 'a']);
  });

  it('says what could not be undone, and nothing of that where all was', async () => {
    const run = (undo: string, n: number) =>
      runAgent({
        manifest,
        files: { ...files, ...tool('undo', undo) },
        turns: [Array.from({ length: n }, (_, at) => made.replace('"a"', `"a${at}"`)).join('') + failed],
      });
    const message = async (undo: string, n: number) => (await run(undo, n)).result.error?.message ?? '';
    expect(await message('return 1;', 2)).not.toContain('undone');
    const broken = 'if (context.idempotencyKey.endsWith("a1")) return 1; throw new Error("gone");';
    expect(await message(broken.replace('"a1"', '"undo_a1"'), 3)).toMatch(/is not: a2, a0\.$/);
    expect(await message('throw new Error("gone");', 12)).toMatch(/is not: a11, a10, .*a2 and 2 more\.$/);
  });

  it('lets no further turn begin, whatever the model said behind it', async () => {
    const { result, of } = await runAgent({
      manifest,
      files,
      turns: [`${made}${failed}<response>done</response>`, '<response>again</response>'],
    });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'action_failed' } });
    expect(of('turn.started')).toHaveLength(1);
    expect(of('action.compensated')).toHaveLength(1);
  });

  it('ends the session after a restart, too, if there was no time to', async () => {
    const folder = agentFolder(manifest, files);
    const agent = await loadAgent('agent.yml', { cwd: folder });
    const clock = createSystemClock();
    const store = await openStore('memory', { cwd: folder, clock, durability: 'process' });
    const model = createScriptedModel({ turns: [made + failed, '<response>went on</response>'] });
    const runtime = await createRuntime({ store, cwd: folder });
    const first = runtime.start(agent, { input: 'Go.', model });
    await first.result;
    const events = await runtime.events(first.id);
    const at = events.find(({ type }) => type === 'action.failed')?.seq ?? 0;
    const fork = await runtime.fork(first.id, at);
    const again = await runtime.resume(fork, { agent, model });
    expect(await again.result).toMatchObject({ status: 'failed', error: { code: 'action_failed' } });
    const types = (await runtime.events(fork)).map(({ type }) => type);
    expect(types).toContain('action.compensated');
    // Who resumes a session that has ended for it wants it to go on.
    const resumed = await runtime.resume(fork, { agent, model });
    expect((await resumed.result).status).toBe('completed');
    await runtime.close();
    await store.close();
  });

  it('fails the session although nobody waited for it, and the final response was given', async () => {
    const { agent, runtime, session } = await lastMoments();
    expect(await session.result).toMatchObject({ status: 'failed', error: { code: 'action_failed' } });
    const events = await runtime.events(session.id);
    const types = events.map(({ type }) => type);
    expect(types.indexOf('response')).toBeLessThan(types.indexOf('action.failed'));
    expect(types).toContain('action.compensated');
    expect(types).not.toContain('session.completed');
    // And so after a restart.
    const at = events.find(({ type }) => type === 'action.failed')?.seq ?? 0;
    const again = await runtime.resume(await runtime.fork(session.id, at), { agent });
    expect(await again.result).toMatchObject({ status: 'failed', error: { code: 'action_failed' } });
  });

  it('and leaves a session that is cancelled in that moment cancelled', async () => {
    const { runtime, session } = await lastMoments(untilAborted);
    await seen(session, 'action.failed');
    await session.cancel('enough');
    expect((await session.result).status).toBe('cancelled');
    expect((await runtime.events(session.id)).at(-1)?.type).toBe('session.cancelled');
  });
});

/** A session that has given its final response when an action fails for which nobody waits. */
async function lastMoments(undo: (signal: AbortSignal) => Promise<string> = async () => 'undone') {
  let fail = () => {};
  const isOut = new Promise<void>((resolve) => {
    fail = resolve;
  });
  const agent = await defineAgent({
    name: 'late',
    protocol: { final_with_actions: 'accept' },
    model: scripted([
      `${made}<action id="f" mode="fire_and_forget">{"name":"late","on_error":"fail"}</action><response>Done.</response>`,
    ]),
    tools: [
      defineTool({ name: 'make', run: () => 'made' }),
      defineTool({ name: 'undo', run: (_, { signal }) => undo(signal) }),
      defineTool({ name: 'late', run: () => isOut.then(() => Promise.reject(new Error('no'))) }),
    ],
  });
  const runtime = await createRuntime({ store: 'memory' });
  onTestFinished(() => runtime.close());
  const session = runtime.start(agent, { input: 'Go.' });
  await seen(session, 'response');
  fail();
  return { agent, runtime, session };
}

const untilAborted = (signal: AbortSignal) =>
  new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
