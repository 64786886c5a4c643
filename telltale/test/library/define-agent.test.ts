import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import type { AgentDefinition } from '../../src/agent/define/define-agent.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { createMemoryStore, runAgent } from '../../src/testing/run-agent.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { capturingModel } from './capturing-model.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'telltale-define-'));
  mkdirSync(join(folder, 'tools'));
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  write('telltale.yml', '# the project begins here\n');
  write('agent.yml', 'kind: Agent\nname: written\nmodel: scripted:turns.yml\nlimits: { turns: 7 }\n');
  write('turns.yml', 'turns:\n  - <action id="a">{"name":"greet"}</action>\n  - <response>$a</response>\n');
  mkdirSync(join(folder, 'inner'));
  write('inner/child.yml', 'turns: [<response>I am here.</response>]\n');
  write('tools/hello.yml', 'kind: Tool\nname: hello\nimplementation: { module: ./hello.mjs }\n');
  write('tools/hello.mjs', 'export const run = () => "hello";\n');
});
afterAll(() => rmSync(folder, { recursive: true }));

const greet = defineTool({ name: 'greet', run: () => 'good day' });
const ANSWER = ['<response>Done.</response>'];
const failing = (definition: object, options = {}) =>
  defineAgent(definition as AgentDefinition<undefined>, options).then(
    () => expect.fail('it was accepted'),
    (error) => error,
  );

describe('an agent in code', () => {
  it('is the same as one that was read: manifest, defaults and quantities', async () => {
    const read = await loadAgent('agent.yml', { cwd: folder });
    const made = await defineAgent(
      { name: 'written', model: 'scripted:turns.yml', limits: { turns: 7 } },
      { folder },
    );
    expect(made.manifest).toEqual({ ...read.manifest });
    expect(made).toMatchObject({ path: 'defineAgent("written")', folder });
    expect(Object.isFrozen(made.manifest)).toBe(true);
  });

  it('takes durations and sizes as texts and as numbers', async () => {
    const { manifest } = await defineAgent({
      name: 'x',
      limits: { wall: '5m', action_timeout: 20 },
      protocol: { max_body: '64KiB' },
    });
    expect(manifest.limits).toMatchObject({ wall: { ms: 300_000 }, action_timeout: { ms: 20_000 } });
    expect(manifest.protocol.max_body).toEqual({ bytes: 65_536 });
  });

  it('takes lists and maps that are read-only', async () => {
    const values = ['IDLE', 'BUSY'] as const;
    const { manifest } = await defineAgent({
      name: 'x',
      metadata: { fields: { status: { values, default: 'IDLE' } } },
      permissions: { paths: ['.'] as const },
    } as const);
    expect(manifest.metadata.fields.status).toMatchObject({ type: 'enum', values: ['IDLE', 'BUSY'] });
  });

  it('leaves ${…} as it is: a program has its own variables', async () => {
    const { manifest } = await defineAgent({ name: 'x', instructions: 'Work in ${WORKSPACE}.' });
    expect(manifest.instructions).toBe('Work in ${WORKSPACE}.');
  });

  it('runs on a model of its own, and on the one of a call in place of it', async () => {
    const agent = await defineAgent({ name: 'x', model: scripted(ANSWER) });
    expect((await runAgent(agent, { input: 'Go.' })).result.result).toBe('Done.');
    const other = scripted(['<response>Other.</response>']);
    expect((await runAgent(agent, { input: 'Go.', model: other })).result.result).toBe('Other.');
  });

  it.each(['v2', 'v3', 'v4'] as const)(
    'takes models of the AI SDK as they are, in all three places: specification %s',
    async (version) => {
      const saying = (text: string) =>
        capturingModel([{ type: 'text-delta', id: '0', delta: text }], version);
      const own = saying(
        '<action id="s" type="llm">{"name":"brief","parameters":{"text":"long"}}</action><response>$s</response>',
      );
      const fast = saying('Short.');
      const agent = await defineAgent({
        name: 'x',
        model: own.model,
        models: { fast: fast.model },
        prompts: { brief: { template: 'Shorten: {text}', model: 'fast' } },
      });
      const { result } = await runAgent(agent, { input: 'Go.' });
      expect(result).toMatchObject({ status: 'completed', result: 'Short.' });
      expect([own.asked.length, fast.asked.length]).toEqual([1, 1]);
      const other = saying('<response>Other.</response>');
      const started = await runAgent(agent, { input: 'Go.', model: other.model });
      expect(started.result).toMatchObject({ status: 'completed', result: 'Other.' });
    },
  );

  it('asks the models it names, be they of the same id', async () => {
    const fast = scripted(['Short.']);
    const agent = await defineAgent({
      name: 'x',
      model: scripted([
        '<action id="s" type="llm">{"name":"brief","parameters":{"text":"long"}}</action><response>$s</response>',
      ]),
      models: { fast },
      prompts: { brief: { template: 'Shorten: {text}', model: 'fast' } },
    });
    expect((await runAgent(agent, { input: 'Go.' })).result.result).toBe('Short.');
    expect(fast.prompts).toEqual(['Shorten: long']);
  });
});

describe('what is wrong with an agent in code', () => {
  it('is said all at once, each with its path', async () => {
    const error = await failing({
      name: 'x',
      limits: { turns: 0, wal: 3 },
      instructons: 'typo',
      metadata: { fields: { status: { values: ['A'], default: 'B' } } },
      tools: ['builtin:clock', greet, 'builtin:clok'],
    });
    expect(error).toMatchObject({ name: 'RuntimeError', code: 'bad_manifest' });
    expect(error.message).toMatch(
      /^defineAgent\("x"\) has 5 errors:\nerror: .*\n {2}defineAgent\("x"\): \/limits\/turns\n {2}→ /,
    );
    expect(error.hint).toContain('"diagnostics"');
    const places = error.diagnostics.map(({ path, code }: { path: string; code: string }) => [path, code]);
    expect(places.sort()).toEqual([
      ['/instructons', 'unknown_key'],
      ['/limits/turns', 'not_allowed'],
      ['/limits/wal', 'unknown_key'],
      ['/metadata/fields/status/default', 'bad_default'],
      ['/tools/2', 'not_allowed'],
    ]);
  });

  it.each<readonly [string, object, string, RegExp]>([
    ['import', { import: { tools: [] } }, '/import', /no "import"/],
    ['a tool that is a promise', { tools: [Promise.resolve(greet)] }, '/tools/0', /must be a tool/],
    ['a relic among the tools', { tools: [{ kind: 'Relic', name: 'r' }] }, '/tools/0', /must be a tool/],
    ['tools that are no list', { tools: greet }, '/tools', /list/],
    ['a model that is none', { model: { id: 'x' } }, '/model', /no model/],
    ['models that are none', { models: { fast: { id: 'x' } } }, '/models/fast', /no model/],
    [
      'a model with a price that is none',
      { model: { id: 'x', stream: () => undefined, price: { input: Number.NaN, output: 1 } } },
      '/model/price/input',
      /"price\.input" of a model is NaN/,
    ],
    [
      'a model that can read nothing',
      { models: { fast: { id: 'x', stream: () => undefined, contextWindow: '200k' } } },
      '/models/fast/contextWindow',
      /is "200k"/,
    ],
    ['a model reference that is none', { model: 'gpt' }, '/model', /"gpt"/],
    ['a function where JSON should be', { instructions: () => 'x' }, '/instructions', /function/],
    ['an output without schema', { output: {} }, '/output', /needs "schema"/],
    ['an output schema that is none', { output: { schema: { type: 'nmber' } } }, '/output/schema/type', /./],
    ['a name that is none', { name: 'a b' }, '/name', /"a b"/],
    [
      'an alias of no model',
      { prompts: { p: { template: '', model: 'fast' } } },
      '/prompts/p/model',
      /"fast"/,
    ],
    [
      'a template of no tool',
      { action_templates: { t: { name: 'nothing' } } },
      '/action_templates/t/name',
      /no tool/,
    ],
  ])('may be %s', async (_, definition, path, message) => {
    const { diagnostics } = await failing({ name: 'x', ...definition });
    expect(diagnostics).toContainEqual(
      expect.objectContaining({ path, message: expect.stringMatching(message) }),
    );
  });

  it('may be its tool: then that is what is named', async () => {
    const tool = defineTool({ name: 'slow', timeout: 'soon', run: () => 1 });
    const { diagnostics } = await failing({ name: 'x', tools: [tool] });
    expect(diagnostics).toMatchObject([
      { file: 'defineTool("slow")', path: '/timeout', code: 'bad_duration' },
    ]);
  });

  it('may be that two tools have one name', async () => {
    const twin = defineTool({ name: 'greet', run: () => 'hi' });
    const { diagnostics } = await failing({ name: 'x', tools: [greet, twin, greet] });
    expect(diagnostics).toMatchObject([
      { code: 'name_taken', path: '/name', message: expect.stringContaining('already named "greet"') },
    ]);
  });

  it('is said of something that is no object, too', async () => {
    expect(await failing({})).toMatchObject({ code: 'bad_manifest' });
  });
});

describe('the result', () => {
  const Verdict = z.object({ ok: z.boolean(), at: z.string().transform((text) => new Date(text)) });

  it('is what the output schema gives; the log has what the model wrote', async () => {
    const model = scripted(['<response>{"ok":true,"at":"2026-01-02T03:04:05Z"}</response>']);
    const agent = await defineAgent({ name: 'x', model, output: { schema: Verdict } });
    const { result, events } = await runAgent(agent, { input: 'Go.' });
    expect(result.result).toEqual({ ok: true, at: new Date('2026-01-02T03:04:05Z') });
    expect(events.at(-1)).toMatchObject({ result: { ok: true, at: '2026-01-02T03:04:05Z' } });
  });

  it('that the schema refuses is a soft error with the path, and another turn', async () => {
    const model = scripted([
      '<response>{"ok":"yes","at":""}</response>',
      '<response>{"ok":true,"at":"2026"}</response>',
    ]);
    const agent = await defineAgent({ name: 'x', model, output: { schema: Verdict } });
    const { result } = await runAgent(agent, { input: 'Go.' });
    expect(result).toMatchObject({ status: 'completed', turns: 2 });
    expect(model.prompts[1]).toContain('"/ok"');
  });

  it('cannot wait for a schema that answers later', async () => {
    const schema = z.object({ ok: z.boolean().refine(async () => true) });
    const agent = await defineAgent({
      name: 'x',
      model: scripted(['<response>{"ok":true}</response>']),
      output: { schema },
    });
    const { result } = await runAgent(agent, { input: 'Go.' });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'async_schema' } });
  });
});

describe('the hash of an agent in code', () => {
  const hash = async (more: Partial<AgentDefinition<undefined>>) =>
    (await defineAgent({ name: 'x', model: scripted([]), ...more })).hash;
  const tool = (more: object) => defineTool({ name: 't', run: () => 1, ...more });

  it('is the same for the same definition', async () => {
    expect(await hash({ tools: [tool({})] })).toBe(await hash({ tools: [tool({})] }));
  });

  it('changes with all that the definition says', async () => {
    const hashes = await Promise.all([
      hash({}),
      hash({ instructions: 'Be brief.' }),
      hash({ model: scripted([], { id: 'scripted:other' }) }),
      hash({ tools: [tool({})] }),
      hash({ tools: [tool({ version: '2' })] }),
      hash({ tools: [tool({ description: 'd' })] }),
      hash({ tools: [tool({ parameters: z.object({ a: z.string() }) })] }),
      hash({ tools: [tool({ idempotent: true })] }),
      hash({ tools: [tool({ output: z.string() })] }),
    ]);
    expect(new Set(hashes).size).toBe(hashes.length);
  });
});

describe('code and files', () => {
  it('an agent in code imports tools from files', async () => {
    const agent = await defineAgent(
      {
        name: 'x',
        model: scripted([
          '<action id="a">{"name":"hello"}</action><action id="b">{"name":"greet"}</action><response>$a, $b</response>',
        ]),
        tools: ['./tools/*.yml', greet],
      },
      { folder },
    );
    expect((await runAgent(agent, { input: 'Go.' })).result.result).toBe('hello, good day');
  });

  it('an agent in a file is given tools from code', async () => {
    const agent = await loadAgent('agent.yml', { cwd: folder, tools: [greet] });
    expect((await runAgent(agent, { input: 'Go.' })).result.result).toBe('good day');
    expect(agent.hash).not.toBe((await loadAgent('agent.yml', { cwd: folder })).hash);
  });

  it('loadAgent takes nothing but what was made', async () => {
    await expect(loadAgent('agent.yml', { cwd: folder, tools: ['x.yml' as never] })).rejects.toMatchObject({
      code: 'bad_option',
      message: expect.stringContaining('"/tools/0"'),
    });
  });

  it('agents import agents, from code and from files, with the tools that they share', async () => {
    const child = await defineAgent({ name: 'child', model: scripted(ANSWER), tools: [greet] });
    const read = await loadAgent('agent.yml', { cwd: folder, tools: [greet] });
    const parent = await defineAgent(
      { name: 'parent', model: scripted(ANSWER), tools: [greet], agents: [child, read] },
      { folder },
    );
    const { manifests } = parent.project;
    expect(manifests.map(({ id }) => id).sort()).toEqual([
      'Agent/child',
      'Agent/parent',
      'Agent/written',
      'Tool/greet',
    ]);
    const importsOf = (id: string) =>
      manifests
        .find((each) => each.id === id)
        ?.imports.flatMap((each) => ('manifests' in each ? each.manifests : []));
    expect(importsOf('Agent/parent')).toEqual(['Tool/greet', 'Agent/child', 'Agent/written']);
    expect(importsOf('Agent/child')).toEqual(['Tool/greet']);
    expect(importsOf('Agent/written')).toEqual(['Tool/greet']);
    const loaded = await loadAgent('agent.yml', { cwd: folder, agents: [child] });
    expect(loaded.project.manifests.map(({ id }) => id)).toContain('Agent/child');
  });

  it.each(['code', 'a file'])(
    'an agent in code that one in %s calls works in its own folder',
    async (from) => {
      const child = await defineAgent(
        { name: 'child', model: 'scripted:child.yml' },
        { folder: join(folder, 'inner') },
      );
      const model = scripted([
        '<action id="a" type="agent">{"name":"child","parameters":{"input":"Go."}}</action><response>$a</response>',
      ]);
      const parent =
        from === 'code'
          ? await defineAgent({ name: 'parent', agents: [child] }, { folder })
          : await loadAgent('agent.yml', { cwd: folder, agents: [child] });
      const run = await runAgent(parent, { input: 'Go.', model });
      expect(run.result).toMatchObject({ status: 'completed', result: 'I am here.' });
    },
  );

  it('a file that an agent in code imports must be there', async () => {
    const { diagnostics } = await failing({ name: 'x', tools: [greet, './tools/none.yml'] }, { folder });
    expect(diagnostics).toMatchObject([{ path: '/tools/1', file: 'defineAgent("x")', code: 'file_missing' }]);
  });
});

describe('resuming a session of an agent in code', () => {
  const hanging = defineTool({
    name: 'hang',
    idempotent: true,
    run: (_, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  });
  const quick = defineTool({ name: 'hang', idempotent: true, run: () => 'quick' });
  const define = (tools: readonly [typeof quick], instructions = '') =>
    defineAgent({
      name: 'x',
      model: scripted(['<action id="a">{"name":"hang"}</action><response>$a</response>']),
      instructions,
      tools,
    });

  const interrupted = async () => {
    const store = createMemoryStore();
    const runtime = await createRuntime({ store });
    const session = runtime.start(await define([hanging]), { input: 'Go.' });
    for await (const event of session.events) if (event.type === 'action.started') break;
    await session.interrupt();
    return { runtime, id: session.id };
  };

  it('needs the agent, and says so', async () => {
    const { runtime, id } = await interrupted();
    await expect(runtime.resume(id)).rejects.toMatchObject({
      code: 'agent_in_code',
      message: `The agent of ${id} was written in code (defineAgent("x")), at least in part.`,
      hint: expect.stringContaining('{ agent }'),
    });
    await runtime.close();
  });

  it('goes on with the same definition: functions are known by their names and versions', async () => {
    const { runtime, id } = await interrupted();
    const session = await runtime.resume(id, { agent: await define([quick]) });
    expect(await session.result).toMatchObject({ status: 'completed', result: 'quick' });
    await runtime.close();
  });

  it('refuses another definition, unless told to accept it', async () => {
    const { runtime, id } = await interrupted();
    const agent = await define([quick], 'Be brief.');
    await expect(runtime.resume(id, { agent })).rejects.toMatchObject({
      code: 'manifest_changed',
      hint: expect.stringContaining('acceptChanges: true'),
    });
    const session = await runtime.resume(id, { agent, acceptChanges: true });
    expect(await session.result).toMatchObject({ status: 'completed' });
    await runtime.close();
  });

  it('of a file with tools from code needs the agent, too', async () => {
    const runtime = await createRuntime({ store: 'memory' });
    const agent = await loadAgent('agent.yml', { cwd: folder, tools: [greet] });
    const { session } = await runtime.start(agent, { input: 'Go.' }).result;
    await expect(runtime.resume(session)).rejects.toMatchObject({ code: 'agent_in_code' });
    await runtime.close();
  });
});
