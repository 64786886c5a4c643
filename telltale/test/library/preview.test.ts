import { mkdtempSync } from 'node:fs';
import { platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRuntime, defineAgent } from '../../src/index.ts';
import { createSimulatedClock } from '../../src/testing/index.ts';
import { capturingModel, systemOf } from './capturing-model.ts';

const SPEECH = {
  tags: [{ type: 'text-delta', id: '0', delta: '<response final="true">Done.</response>' }],
  tools: [
    {
      type: 'tool-call',
      toolCallId: 'c1',
      toolName: 'respond',
      input: '{"text":"Done."}',
      providerExecuted: false,
    },
  ],
  step: [
    {
      type: 'tool-call',
      toolCallId: 'c1',
      toolName: 'step',
      input: '{"thought":"Done.","is_complete":true,"notes":"Done."}',
    },
  ],
} as const;

const folderOf = () => mkdtempSync(join(tmpdir(), 'telltale-preview-'));

describe.each(['tags', 'tools', 'step'] as const)('the preview of a prompt in %s', (dialect) => {
  const agentOn = (folder: string, model: ReturnType<typeof capturingModel>['model']) =>
    defineAgent(
      {
        name: 'coder',
        model,
        dialect,
        instructions: 'You fix bugs.',
        tools: ['builtin:filesystem', 'builtin:shell'],
        metadata: { fields: { status: { values: ['IDLE', 'CODING'], default: 'IDLE' } } },
      },
      { folder },
    );

  it('is what a session sends, part by part', async () => {
    const { model, asked } = capturingModel(SPEECH[dialect]);
    const folder = folderOf();
    const agent = await agentOn(folder, model);
    const clock = createSimulatedClock();
    const runtime = await createRuntime({ store: 'memory', cwd: folder, clock });
    try {
      const preview = await runtime.preview(agent);
      const { status } = await runtime.start(agent, { input: 'Hi.' }).result;
      expect(status).toBe('completed');
      const [request] = asked;
      expect(preview.system.map(({ text }) => text).join('')).toBe(systemOf(request as never));
      const offered = (request?.tools ?? []).map(({ name }) => name);
      expect(preview.tools.map(({ name }) => name)).toEqual(offered);
      expect(preview.system[0]).toMatchObject({ name: 'instructions', text: 'You fix bugs.\n\n' });
      const sum = [...preview.system, ...preview.tools].reduce((all, { tokens }) => all + tokens, 0);
      expect(preview.tokens).toBe(sum);
    } finally {
      await runtime.close();
    }
  });

  it('tells the date, the folder and the platform as they were when the session began', async () => {
    const { model, asked } = capturingModel([{ type: 'text-delta', id: '0', delta: '' }]);
    const folder = folderOf();
    const agent = await agentOn(folder, model);
    const clock = createSimulatedClock(Date.parse('2026-11-19T23:59:59.900Z'));
    const runtime = await createRuntime({ store: 'memory', cwd: folder, clock });
    try {
      const session = runtime.start(agent, { input: 'Hi.', maxTurns: 1 });
      await session.result;
      await clock.advance(60_000);
      await (await runtime.resume(session.id, { agent, maxTurns: 2 })).result;
      const [before, after] = [asked[0], asked.at(-1)].map((request) => systemOf(request as never));
      expect(asked.length).toBeGreaterThan(1);
      expect(after).toBe(before);
      expect(before).toContain('Thursday, 2026-11-19');
      expect(before).toContain(folder);
      expect(before).toContain(
        platform() === 'linux' ? 'Linux' : platform() === 'darwin' ? 'macOS' : 'Windows',
      );
    } finally {
      await runtime.close();
    }
  });
});
