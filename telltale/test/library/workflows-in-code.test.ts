import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type } from 'arktype';
import * as v from 'valibot';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import {
  type ArtifactDefinition,
  type DefinedWorkflow,
  defineArtifact,
  defineTool,
  defineWorkflow,
  type StepDefinition,
} from '../../src/agent/define/definitions.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { findWorkflow } from '../../src/agent/runs/find-workflow.ts';
import type { Json } from '../../src/lib/json.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { expectEvents } from '../../src/testing/expect-events.ts';
import { createMemoryStore, runAgent, runWorkflow } from '../../src/testing/run-agent.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { testArtifact } from '../../src/testing/test-artifact.ts';

// Tools rather than scripts: each sandbox takes a third of a second to start.
const say = defineTool({ name: 'say', run: ({ what }) => what });
const saying = (name: string, what: Json): StepDefinition => ({
  name,
  type: 'tool',
  target: 'say',
  parameters: { what },
});
const echo = saying('echo', '${input}');

const load = async <Input>(workflow: DefinedWorkflow<Input>) =>
  findWorkflow(await defineAgent({ name: 'bot', tools: [say], workflows: [workflow] }), workflow);

const HOUR_MS = 3_600_000;
const late = (name: string, what = 1): readonly StepDefinition[] => [
  { name: `${name}_rest`, type: 'wait', for: '90m' },
  saying(name, what),
];

describe('a workflow in code', () => {
  it('runs what it defines, with the tools of its agent', async () => {
    const double = defineTool({
      name: 'double',
      parameters: z.object({ n: z.number() }),
      run: ({ n }) => n * 2,
    });
    const sums = defineWorkflow({
      name: 'sums',
      input: z.object({ numbers: z.array(z.number()) }),
      steps: [
        {
          name: 'all',
          type: 'foreach',
          in: '${input.numbers}',
          as: 'n',
          body: [{ name: 'one', type: 'tool', target: 'double', parameters: { n: '${n}' } }],
        },
      ],
    });
    const agent = await defineAgent({ name: 'bot', tools: [double], workflows: [sums] });
    const { result, events } = await runWorkflow(findWorkflow(agent, sums), { input: { numbers: [1, 2] } });
    expect(result).toMatchObject({ status: 'completed', output: [2, 4] });
    expectEvents(events)
      .inOrder('workflow.started', { type: 'step.completed', step: 'all', output: [2, 4] })
      .never('step.failed');
  });

  it('is called by its agent, and by an agent in a file that is given it', async () => {
    const greet = defineWorkflow({
      name: 'greet',
      description: 'Greets.',
      input: z.object({ who: z.string(), how: z.string().default('Good day') }),
      steps: [saying('text', '${input.how}, ${input.who}!')],
    });
    const turn =
      '<action id="g" type="workflow">{"name":"greet","parameters":{"who":"Ann"}}</action><response>$g</response>';
    const inCode = await defineAgent({
      name: 'bot',
      model: scripted([turn]),
      tools: [say],
      workflows: [greet],
    });
    expect((await runAgent(inCode, { input: 'Go.' })).result.result).toBe('Good day, Ann!');
    writeFileSync(join(folder, 'turns.yml'), JSON.stringify({ turns: [turn] }));
    const inFile = await loadAgent('agent.yml', { cwd: folder, tools: [say], workflows: [greet] });
    expect((await runAgent(inFile, { input: 'Go.' })).result.result).toBe('Good day, Ann!');
  });

  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'telltale-workflows-in-code-'));
    writeFileSync(join(folder, 'telltale.yml'), '# here\n');
    writeFileSync(join(folder, 'agent.yml'), 'kind: Agent\nname: bot\nmodel: scripted:turns.yml\n');
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is resumed only by a program that has it', async () => {
    const store = createMemoryStore();
    const clock = createSimulatedClock();
    const workflow = await load(defineWorkflow({ name: 'slow', steps: late('end') }));
    const first = await createRuntime({ store, clock });
    const run = first.workflows.start(workflow);
    expect((await run.result).status).toBe('waiting');
    await first.close();
    await clock.advance(2 * HOUR_MS);
    const second = await createRuntime({ store, clock });
    const stranger = await second.workflows.resume(run.id);
    await expect(stranger.result).rejects.toMatchObject({ code: 'agent_in_code' });
    const resumed = await second.workflows.resume(run.id, { workflow });
    expect(await resumed.result).toMatchObject({ status: 'completed', output: 1 });
    await second.close();
  });

  it('pins its runs to what it says', async () => {
    const hashWith = async (what: number) =>
      (await load(defineWorkflow({ name: 'w', steps: late('a', what) }))).agent.hash;
    expect(await hashWith(1)).toBe(await hashWith(1));
    expect(await hashWith(1)).not.toBe(await hashWith(2));
  });

  it.each<readonly [string, object, string, RegExp]>([
    ['no steps', {}, '', /"steps"/],
    ['a slip', { steps: [{ ...echo, timout: 3 }] }, '/steps/0/timout', /Unknown key "timout"/],
    [
      'a slip in a state',
      { initial: 'a', states: { a: { final: true, steps: [{ ...echo, if: 1 }] } } },
      '/states/a/steps/0/if',
      /"if"/,
    ],
    ['a step that is not there', { steps: [{ ...echo, needs: ['ech'] }] }, '/steps/0/needs/0', /ech/],
    [
      'a tool that is not there',
      { steps: [{ name: 't', type: 'tool', target: 'nix' }] },
      '/steps/0/target',
      /nix/,
    ],
    ['a schema that no model can read', { input: v.object({}), steps: [echo] }, '/input', /JSON Schema/],
    [
      'a JSON Schema that is none',
      { input: { type: 'objct' }, steps: [echo] },
      '/input/type',
      /objct|allowed|equal/,
    ],
    [
      'one beside the schema that is none',
      { input: v.object({}), jsonSchema: { type: 'objct' }, steps: [echo] },
      '/jsonSchema/type',
      /objct|allowed|equal/,
    ],
  ])('with %s is refused', async (_, definition, path, message) => {
    const workflow = defineWorkflow({ name: 'w', ...definition } as Parameters<typeof defineWorkflow>[0]);
    const failed = await defineAgent({ name: 'x', tools: [say], workflows: [workflow] }).catch(
      (error) => error,
    );
    expect(failed.diagnostics).toContainEqual(
      expect.objectContaining({ file: 'defineWorkflow("w")', path, message: expect.stringMatching(message) }),
    );
  });

  it('is not what is no workflow, nor what was not awaited', async () => {
    const lists = { workflows: [{ name: 'w' }, Promise.resolve()], artifacts: [{ name: 'a' }] };
    const failed = await defineAgent({ name: 'x', ...lists } as never).catch((error) => error);
    expect(failed.diagnostics).toMatchObject([
      { path: '/workflows/0', message: expect.stringContaining('defineWorkflow') },
      { path: '/workflows/1', hint: 'Await it first.' },
      { path: '/artifacts/0', message: expect.stringContaining('defineArtifact') },
    ]);
    await expect(loadAgent('agent.yml', { cwd: folder, workflows: [{}] as never })).rejects.toMatchObject({
      code: 'bad_option',
      message: expect.stringContaining('/workflows/0'),
    });
  });
});

describe('the input of a workflow in code', () => {
  it('is what its schema makes of it, on the log and in the steps', async () => {
    const date = defineWorkflow({
      name: 'w',
      input: z.object({ day: z.iso.date().transform((day) => new Date(day)), guests: z.number().default(4) }),
      steps: [echo],
    });
    const { result, events } = await runWorkflow(await load(date), { input: { day: '2026-03-01' } });
    const input = { day: '2026-03-01T00:00:00.000Z', guests: 4 };
    expect(result.output).toEqual(input);
    expect(events[0]).toMatchObject({ type: 'workflow.started', input });
  });

  it('may be judged by any library', async () => {
    const ark = defineWorkflow({ name: 'w', input: type({ n: 'number = 3' }), steps: [echo] });
    expect((await runWorkflow(await load(ark))).result.output).toEqual({ n: 3 });
    const valibot = defineWorkflow({
      name: 'w',
      input: v.object({ n: v.pipe(v.string(), v.transform(Number)) }),
      jsonSchema: { type: 'object', properties: { n: { type: 'string' } } },
      steps: [echo],
    });
    expect((await runWorkflow(await load(valibot), { input: { n: '7' } })).result.output).toEqual({ n: 7 });
    const json = defineWorkflow({
      name: 'w',
      input: { type: 'object', properties: { n: { type: 'number' } } },
      steps: [echo],
    });
    expect((await runWorkflow(await load(json), { input: { n: 7 } })).result.output).toEqual({ n: 7 });
    await expect(runWorkflow(await load(json), { input: { n: '7' } })).rejects.toMatchObject({
      code: 'bad_input',
    });
  });

  it.each<readonly [string, z.ZodType, object, object]>([
    ['does not fit', z.object({ n: z.number() }), { n: 'x' }, { code: 'bad_input', message: /"\/n"/ }],
    [
      'becomes no JSON',
      z.object({}).transform(() => ({ n: NaN })),
      {},
      { code: 'bad_input', message: /NaN/ },
    ],
    ['becomes no object', z.object({}).transform(() => [1]), {}, { code: 'bad_input', message: /no object/ }],
    [
      'is judged later',
      z.object({}).refine(async () => true),
      {},
      { code: 'async_schema', message: /promise/ },
    ],
  ])(
    'that %s begins no run',
    async (_, schema, input, { code, message }: { code?: string; message?: RegExp }) => {
      const workflow = await load(
        defineWorkflow({ name: 'w', input: schema, jsonSchema: { type: 'object' }, steps: [echo] }),
      );
      const runtime = await createRuntime({ store: 'memory' });
      const start = () => runtime.workflows.start(workflow, { input });
      expect(start).toThrow(
        expect.objectContaining({ code, message: expect.stringMatching(message ?? /^$/) }),
      );
      expect(await runtime.store.list()).toEqual([]);
      await runtime.close();
    },
  );
});

describe('a runtime', () => {
  it('begins no run and listens to nothing once it was closed, though its store is open', async () => {
    const store = createMemoryStore();
    const workflow = await load(defineWorkflow({ name: 'w', steps: [echo] }));
    const runtime = await createRuntime({ store });
    const run = runtime.workflows.start(workflow);
    await run.result;
    await runtime.close();
    const { length } = await store.list();
    const closed = expect.objectContaining({ code: 'runtime_closed' });
    expect(() => runtime.workflows.start(workflow)).toThrow(closed);
    expect(() => runtime.workflows.listen(workflow.agent)).toThrow(closed);
    await expect(runtime.workflows.resume(run.id, { workflow })).rejects.toEqual(closed);
    expect(await store.list()).toHaveLength(length);
  });

  it('is told of a workflow that belongs to no agent, and of one in the place of an agent', async () => {
    const defined = defineWorkflow({ name: 'w', steps: [echo] });
    const runtime = await createRuntime({ store: 'memory' });
    for (const wrong of [undefined, defined, (await load(defined)).agent])
      expect(() => runtime.workflows.start(wrong as never)).toThrow(
        expect.objectContaining({ code: 'bad_option', hint: expect.stringContaining('findWorkflow') }),
      );
    const workflow = await load(defined);
    expect(() => runtime.start(workflow as never, { input: 'x' })).toThrow(
      expect.objectContaining({ code: 'bad_option' }),
    );
    await runtime.close();
  });
});

describe('finding a workflow', () => {
  it('takes its name, what defined it, or nothing where it is the only one', async () => {
    const [a, b] = ['a', 'b'].map((name) => defineWorkflow({ name, steps: [echo] })) as [
      DefinedWorkflow,
      DefinedWorkflow,
    ];
    const both = await defineAgent({ name: 'bot', tools: [say], workflows: [a, b] });
    expect(findWorkflow(both, 'b').manifest.name).toBe('b');
    expect(findWorkflow(both, a).manifest.name).toBe('a');
    expect((await load(a)).manifest.name).toBe('a');
    expect(() => findWorkflow(both)).toThrow('has 2 workflows: a, b');
    expect(() => findWorkflow(both, 'c')).toThrow('no workflow named "c"');
  });
});

// What methods call each other by.
declare function twice(text: string): string;
declare const factorial: (n: number) => number;
declare const marked: (n: number) => number;

describe('an artifact in code', () => {
  const pacing = defineArtifact({
    name: 'pacing',
    methods: {
      go_on: (rounds: number, context) => rounds < 3 && context.variables.mood !== 'tired',
      greet(who: string) {
        return `${twice(who)}, ${factorial(3)} ${marked(1)}!`;
      },
      twice: { description: 'Says it twice.', run: (text: string) => `${text} ${text}` },
      factorial: function of(n: number): number {
        return n < 2 ? 1 : n * of(n - 1);
      },
      // What esbuild makes of a function with another one inside, where it keeps names.
      marked: new Function(
        'n',
        'const inner = __name((m) => m + 1, "inner"); return inner(n);',
      ) as () => number,
    },
  });

  it('is made of plain functions, which see each other', async () => {
    const { meant, context } = await testArtifact(pacing, { method: 'greet', args: ['Ann'] });
    expect(meant).toBe('Ann Ann, 6 2!');
    expect(context).toMatchObject({ agent_id: 'test', variables: {} });
  });

  it('decides in the workflows of its agent, and is kept in the store', async () => {
    const workflow = defineWorkflow({
      name: 'w',
      context_variables: { runtime: [{ name: 'mood', default: 'fresh' }] },
      steps: [
        {
          ...echo,
          name: 'some',
          condition: { invoke: 'pacing', method: 'go_on', args: [1], fallback: false },
        },
        {
          ...echo,
          name: 'none',
          condition: { invoke: 'pacing', method: 'go_on', args: [9], fallback: true },
        },
      ],
    });
    const agent = await defineAgent({
      name: 'bot',
      tools: [say],
      workflows: [workflow],
      artifacts: [pacing],
    });
    const { events } = await runWorkflow(findWorkflow(agent, workflow));
    expectEvents(events)
      .inOrder(
        { type: 'invoke', artifact: 'pacing', version: 1, result: true },
        { type: 'step.completed', step: 'some' },
        { type: 'invoke', result: false },
        { type: 'step.skipped', step: 'none' },
      )
      .never((event) => event.type === 'invoke' && event.fallback !== undefined);
  });

  it('may be source text, ask others, and fail as data', async () => {
    const boss = defineArtifact({
      name: 'boss',
      source:
        'export function go(n) { return invoke("pacing", "go_on", n); }\nexport const bad = () => nowhere;',
      methods: { go: { description: 'Asks.' }, bad: {} },
    });
    expect((await testArtifact(boss, { method: 'go', args: [1], others: [pacing] })).meant).toBe(true);
    const lacking = defineArtifact({ name: 'lacking', source: 'function a() {}', methods: { b: {} } });
    await expect(testArtifact(lacking, { method: 'b' })).rejects.toThrow(/"b"/);
    expect((await testArtifact(boss, { method: 'bad' })).answer).toMatchObject({
      ok: false,
      reason: 'threw',
      message: expect.stringContaining('nowhere'),
    });
  });

  it('without methods is text: a prompt', async () => {
    const greeting = defineArtifact({ name: 'greeting', source: 'Greet ${input.who}.' });
    const workflow = defineWorkflow({
      name: 'w',
      steps: [{ name: 'ask', type: 'llm', prompt_artifact_id: 'greeting' }],
    });
    const model = scripted(['Good day!']);
    const agent = await defineAgent({ name: 'bot', model, workflows: [workflow], artifacts: [greeting] });
    await runWorkflow(findWorkflow(agent, workflow), { input: { who: 'Ann' } });
    expect(model.prompts).toEqual(['Greet Ann.']);
  });

  it('that does not end has timed out, in a test, too', async () => {
    const endless = defineArtifact({
      name: 'endless',
      source: 'function go() { for (;;); }',
      methods: { go: {} },
    });
    expect((await testArtifact(endless, { method: 'go' })).answer).toMatchObject({
      ok: false,
      reason: 'timeout',
    });
  });

  it('leaves behind what a function closes over', async () => {
    const limit = 3;
    const closing = defineArtifact({ name: 'closing', methods: { go: (n: number) => n < limit } });
    expect((await testArtifact(closing, { method: 'go', args: [1] })).answer).toMatchObject({
      ok: false,
      reason: 'threw',
      message: expect.stringContaining('limit'),
    });
  });

  it.each<readonly [string, object, string, RegExp]>([
    ['a native function', { methods: { a: Math.max } }, '/methods/a', /native/],
    ['a bound function', { methods: { a: (() => 1).bind(null) } }, '/methods/a', /bound/],
    ['an asynchronous one', { methods: { a: async () => 1 } }, '/methods/a', /asynchronous/],
    ['a class', { methods: { a: class {} } }, '/methods/a', /class/],
    ['no function', { methods: { a: { description: 'a' } } }, '/methods/a', /must be a function/],
    ['a function beside source', { source: 'x', methods: { a: () => 1 } }, '/methods/a', /"source"/],
    ['a name that none can have', { methods: { for: () => 1 } }, '/methods/for', /named "for"/],
    ['nothing in it', {}, '', /neither methods nor source/],
    ['no methods', { methods: {} }, '', /neither methods nor source/],
    ['a module', { module: './a.js', methods: { a: () => 1 } }, '/module', /no "module"/],
    ['a slip', { methods: { a: () => 1 }, cost: 3 }, '/cost', /Unknown key "cost"/],
  ])('with %s is refused', async (_, definition, path, message) => {
    const artifact = defineArtifact({ name: 'a', ...definition } as unknown as ArtifactDefinition);
    const failed = await defineAgent({ name: 'x', artifacts: [artifact] }).catch((error) => error);
    const finding = { file: 'defineArtifact("a")', path, message: expect.stringMatching(message) };
    expect(failed.diagnostics).toContainEqual(expect.objectContaining(finding));
    await expect(testArtifact(artifact, { method: 'a' })).rejects.toMatchObject({ code: 'bad_manifest' });
  });
});

describe('runWorkflow', () => {
  it('does not wait for time, however much there is', async () => {
    const workflow = defineWorkflow({ name: 'w', steps: [...late('a'), ...late('b', 2)] });
    const { result, events } = await runWorkflow(await load(workflow));
    expect(result).toMatchObject({ status: 'completed', output: 2 });
    expectEvents(events).times(2, 'workflow.waiting');
    expect((events.at(-1)?.at ?? 0) - (events[0]?.at ?? 0)).toBeGreaterThanOrEqual(3 * HOUR_MS);
  });

  const asking = defineWorkflow({
    name: 'asking',
    steps: [
      {
        name: 'ask',
        type: 'approval',
        prompt: 'Ship it?',
        options: ['ship', 'hold'],
        timeout: '1d',
        on_timeout: 'hold',
      },
    ],
  });

  it('has questions answered by what it is given, before their time is over', async () => {
    const { result } = await runWorkflow(await load(asking), {
      async during(run, runtime) {
        for await (const event of run.events)
          if (event.type === 'review.requested') {
            await runtime.answer(event.review, { approved: true, by: 'ann' });
            return;
          }
      },
    });
    expect(result).toMatchObject({ status: 'completed', output: { choice: 'ship' } });
    const unheard = await runWorkflow(await load(asking));
    expect(unheard.result).toMatchObject({ status: 'completed', output: { choice: 'hold' } });
  });

  it('says that it waits, where no time helps', async () => {
    const workflow = await load(
      defineWorkflow({
        name: 'w',
        steps: [{ name: 'paid', type: 'wait', event: 'custom', match: { name: 'payment' } }],
      }),
    );
    const seen: string[] = [];
    const { result } = await runWorkflow(workflow, { after: (run) => void seen.push(run) });
    expect(result).toMatchObject({ run: seen[0], status: 'waiting', waiting: { for: expect.any(String) } });
    const paid = await runWorkflow(workflow, {
      during: (run, { workflows }) => workflows.signal(run.id, 'custom', { name: 'payment' }),
    });
    expect(paid.result.status).toBe('completed');
  });

  it('leaves a clock alone that it is given', async () => {
    const clock = createSimulatedClock();
    const workflow = await load(defineWorkflow({ name: 'w', steps: late('a') }));
    const { result } = await runWorkflow(workflow, { runtime: { clock } });
    expect(result).toMatchObject({ status: 'waiting', waiting: { due: clock.now() + 1.5 * HOUR_MS } });
  });
});
