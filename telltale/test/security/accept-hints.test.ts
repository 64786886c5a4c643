import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { main } from '../../src/cli/main.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { agentFolder } from '../agent/run-agent.ts';
import { recordedIo } from '../cli/recorded-io.ts';
import { Scene, steps } from './changes-scene.ts';

/** What a command prints, on both outputs. */
async function printed(cwd: string, ...argv: readonly string[]): Promise<string> {
  const io = { ...recordedIo({ cwd }), clock: createSystemClock() };
  await main([...argv, '--store', 'sqlite:runs.db'], io);
  return io.out() + io.err();
}

const ASKS = steps('{ name: ask, type: approval, prompt: "Sure?" }');
const RESUME_RUN = 'telltale workflow resume run_pay --accept-changes --store sqlite:runs.db';

describe('the command that has a changed run go on', () => {
  const changed = async () => {
    const scene = new Scene(ASKS);
    await scene.waitIn();
    scene.write(`${ASKS}\n# Somebody else's words.\ndescription: Asks.\n`);
    return scene.folder;
  };

  it('is named with --accept-changes by reviews approve', async () => {
    expect(await printed(await changed(), 'reviews', 'approve', 'last')).toContain(RESUME_RUN);
  });

  it('is named with --accept-changes by workflow signal', async () => {
    expect(await printed(await changed(), 'workflow', 'signal', 'run_pay', 'custom')).toContain(RESUME_RUN);
  });

  it('is named without it where nothing has changed', async () => {
    const scene = new Scene(ASKS);
    await scene.waitIn();
    const text = await printed(scene.folder, 'reviews', 'approve', 'last');
    expect(text).toContain('telltale workflow resume run_pay --store sqlite:runs.db');
    expect(text).not.toContain('--accept-changes');
  });

  it('is the one of the caller where the run was called', async () => {
    const other = 'kind: Workflow\nname: other\nsteps:\n  - { name: ask, type: approval, prompt: "Sure?" }\n';
    const scene = new Scene(steps('{ name: call, type: workflow, target: other }'), other);
    await scene.waitIn();
    scene.write(`${other}description: Asks.\n`, 'other');
    expect(await printed(scene.folder, 'reviews', 'approve', 'last')).toContain(RESUME_RUN);
  });
});

describe('a session that came to a limit of its manifest', () => {
  it.each([
    ['limits: { tokens: 1 }\n', 'limits.tokens'],
    ['limits: { cost_usd: 0 }\n', 'limits.cost_usd'],
  ])('names the command that accepts the manifest with a higher one (%s)', async (limits, key) => {
    const folder = agentFolder(limits);
    const runtime = await createRuntime({ store: 'memory', cwd: folder });
    try {
      const agent = await loadAgent('agent.yml', { cwd: folder });
      const session = runtime.start(agent, {
        input: 'Go.',
        model: scripted(['<thought>One.</thought>', '<response>Two.</response>'], { id: 'scripted:test' }),
      });
      const { error } = await session.result;
      expect(error?.hint).toBe(
        `Raise "${key}" in the manifest, then resume: telltale resume ${session.id} --accept-changes`,
      );
    } finally {
      await runtime.close();
    }
  });
});

describe('a session whose changed manifest was accepted', () => {
  it('is pinned to it: the next resume needs no word', async () => {
    const folder = agentFolder('');
    const runtime = await createRuntime({ store: 'memory', cwd: folder });
    try {
      const model = scripted(['<response>One.</response>'], { id: 'scripted:test' });
      const session = runtime.start(await loadAgent('agent.yml', { cwd: folder }), {
        input: 'Go.',
        model,
        chat: true,
      });
      await expect.poll(async () => (await runtime.state(session.id)).idle).toBe(true);
      await session.interrupt();
      appendFileSync(join(folder, 'agent.yml'), 'description: Another.\n');
      const agent = await loadAgent('agent.yml', { cwd: folder });
      await expect(runtime.resume(session.id, { agent, model })).rejects.toMatchObject({
        code: 'manifest_changed',
        hint: expect.stringContaining(`telltale resume ${session.id} --accept-changes`),
      });
      await (await runtime.resume(session.id, { agent, model, acceptChanges: true })).interrupt();
      await (await runtime.resume(session.id, { agent, model })).interrupt();
      expect((await runtime.state(session.id)).manifest.hash).toBe(agent.hash);
    } finally {
      await runtime.close();
    }
  });
});
