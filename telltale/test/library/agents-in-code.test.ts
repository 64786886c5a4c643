import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { runAgent } from '../../src/testing/run-agent.ts';
import { scripted } from '../../src/testing/scripted.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'telltale-family-'));
  writeFileSync(join(folder, 'telltale.yml'), '# here\n');
  writeFileSync(join(folder, 'note.txt'), 'a note');
  writeFileSync(join(folder, 'parent.yml'), 'kind: Agent\nname: parent\nmodel: scripted:turns.yml\n');
  writeFileSync(
    join(folder, 'turns.yml'),
    `turns: ['<action id="c" type="agent">{"name":"child","parameters":{"input":"Go."}}</action><response>Child: $c</response>']\n`,
  );
  writeFileSync(join(folder, 'child.yml'), 'kind: Agent\nname: child\nmodel: scripted:child-turns.yml\n');
  writeFileSync(join(folder, 'child-turns.yml'), "turns: ['<response>from a file</response>']\n");
});
afterAll(() => rmSync(folder, { recursive: true }));

const call = (name: string, result = 'Child: $c') =>
  scripted([
    `<action id="c" type="agent">{"name":"${name}","parameters":{"input":"Go."}}</action><response>${result}</response>`,
  ]);

const twice = defineTool({
  name: 'twice',
  parameters: z.object({ n: z.number() }),
  run: ({ n }) => n * 2,
});
const child = () =>
  defineAgent(
    {
      name: 'child',
      description: 'Doubles.',
      model: scripted([
        '<action id="t">{"name":"twice","parameters":{"n":21}}</action><action id="f">{"name":"filesystem","parameters":{"operation":"read","path":"note.txt"}}</action>',
        '<response>{"answer":42}</response>',
      ]),
      tools: [twice, 'builtin:filesystem'],
      output: { schema: z.object({ answer: z.number(), unit: z.string().default('none') }) },
    },
    { folder },
  );

describe('an agent in code that is called by another', () => {
  it('runs with its own model, tools, folder and output schema', async () => {
    const parent = await defineAgent({
      name: 'parent',
      model: call('child', '$c.answer'),
      agents: [await child()],
    });
    const runtime = await createRuntime({ store: 'memory' });
    const session = runtime.start(parent, { input: 'Go.' });
    expect(await session.result).toMatchObject({ status: 'completed', result: '42' });
    const called = (await runtime.store.list()).find(({ name }) => name === 'child');
    const events = await runtime.events(called?.stream ?? '');
    const outputs = events.flatMap((event) => (event.type === 'action.completed' ? [event.output] : []));
    expect(outputs).toEqual(expect.arrayContaining([42]));
    expect(JSON.stringify(outputs)).toContain('a note');
    await runtime.close();
  });

  it('may be called by one in a file', async () => {
    const parent = await loadAgent('parent.yml', { cwd: folder, agents: [await child()] });
    const { result } = await runAgent(parent, { input: 'Go.' });
    expect(result).toMatchObject({ status: 'completed', result: expect.stringContaining('42') });
  });

  it('has a session pinned to itself alone, so that it can be resumed on its own', async () => {
    const own = await child();
    const parent = await defineAgent({ name: 'parent', model: call('child'), agents: [own] });
    const { events } = await runAgent(parent, {
      input: 'Go.',
      after: async (_, runtime) => {
        const called = (await runtime.store.list()).find(({ name }) => name === 'child');
        const state = await runtime.state(called?.stream ?? '');
        expect(state.manifest).toEqual({ path: 'defineAgent("child")', hash: own.hash, code: true });
      },
    });
    expect(events[0]).toMatchObject({ manifest: { hash: parent.hash, code: true } });
  });

  it('judges its result by its own schema', async () => {
    const strict = await defineAgent({
      name: 'child',
      model: scripted(['<response>{"answer":1}</response>', '<response>{"answer":12}</response>']),
      output: { schema: z.object({ answer: z.number().refine((n) => n > 10, 'is too small') }) },
    });
    const parent = await defineAgent({ name: 'parent', model: call('child', '$c.answer'), agents: [strict] });
    expect((await runAgent(parent, { input: 'Go.' })).result.result).toBe('12');
  });
});

describe('an agent in a file that is called by one in code', () => {
  it('needs no program to be resumed', async () => {
    const parent = await defineAgent(
      { name: 'parent', model: call('child'), agents: ['./child.yml'] },
      { folder },
    );
    const { result } = await runAgent(parent, {
      input: 'Go.',
      after: async (_, runtime) => {
        const called = (await runtime.store.list()).find(({ name }) => name === 'child');
        const { manifest } = await runtime.state(called?.stream ?? '');
        expect(manifest.code).toBeUndefined();
        expect(manifest.hash).toBe((await loadAgent('child.yml', { cwd: folder })).hash);
      },
    });
    expect(result.result).toBe('Child: from a file');
  });
});
