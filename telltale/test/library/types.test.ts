import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import {
  createRuntime,
  defineAgent,
  defineArtifact,
  defineRelic,
  defineTool,
  defineWorkflow,
  findWorkflow,
  type Json,
  type JsonObject,
  type LoadedAgent,
  type LoadedWorkflow,
  loadAgent,
  loadWorkflow,
  type RunEvent,
  type Runtime,
  type Session,
} from '../../src/index.ts';
import { expectEvents, runWorkflow, scripted } from '../../src/testing/index.ts';

// What is not called here is only compiled: what must not compile stands behind @ts-expect-error.

describe('the types of a tool', () => {
  it('are those of what its schema gives', () => {
    defineTool({
      name: 'zod',
      parameters: z.object({ n: z.coerce.number(), s: z.string().default('x'), d: z.iso.date().optional() }),
      run: (parameters, context) => {
        expectTypeOf(parameters).toEqualTypeOf<{ n: number; s: string; d?: string | undefined }>();
        expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
        expectTypeOf(context.agent).toEqualTypeOf<JsonObject>();
        expectTypeOf(context.idempotencyKey).toEqualTypeOf<string>();
        expectTypeOf(context.progress).parameter(0).toEqualTypeOf<Json>();
      },
    });
    defineTool({
      name: 'valibot',
      parameters: v.object({ n: v.pipe(v.string(), v.transform(Number)) }),
      jsonSchema: { type: 'object' },
      run: (parameters) => expectTypeOf(parameters).toEqualTypeOf<{ n: number }>(),
    });
    defineTool({
      name: 'ark',
      parameters: type({ n: 'number = 3', 'c?': "'a' | 'b'" }),
      run: (parameters) => expectTypeOf(parameters).toEqualTypeOf<{ n: number; c?: 'a' | 'b' }>(),
    });
  });

  it('are any JSON without one of a library', () => {
    defineTool({
      name: 'json',
      parameters: { type: 'object', properties: { n: { type: 'number' } } },
      run: (parameters) => expectTypeOf(parameters).toEqualTypeOf<JsonObject>(),
    });
    defineTool({ name: 'none', run: (parameters) => expectTypeOf(parameters).toEqualTypeOf<JsonObject>() });
  });

  it('hold run to what its output schema takes', () => {
    const output = z.object({ sum: z.number(), unit: z.string().default('EUR') });
    defineTool({ name: 'a', output, run: () => ({ sum: 1 }) });
    defineTool({ name: 'b', output: { schema: output, max_bytes: '1KiB' }, run: async () => ({ sum: 1 }) });
    // @ts-expect-error the sum is no text
    defineTool({ name: 'c', output, run: () => ({ sum: 'one' }) });
    // @ts-expect-error it is missing
    defineTool({ name: 'd', output: v.object({ sum: v.number() }), run: async () => ({}) });
  });

  it('refuse what a tool has not', () => {
    // @ts-expect-error no run
    defineTool({ name: 'a' });
    // @ts-expect-error not a parameter of the schema
    defineTool({ name: 'b', parameters: z.object({ n: z.number() }), run: ({ m }) => m });
    // @ts-expect-error not one of the two
    defineTool({ name: 'c', start: 'at_once', run: () => 1 });
    // @ts-expect-error a schema has to be a schema
    defineTool({ name: 'd', parameters: 'number', run: () => 1 });
    // @ts-expect-error a slip
    defineTool({ name: 'e', idempotnt: true, run: () => 1 });
  });
});

describe('the types of a relic', () => {
  it('are those of each of its operations', () => {
    defineRelic({
      name: 'r',
      operations: {
        get: {
          description: 'get',
          parameters: z.object({ key: z.string() }),
          run: (parameters) => expectTypeOf(parameters).toEqualTypeOf<{ key: string }>(),
        },
        set: {
          description: 'set',
          parameters: type({ key: 'string', value: 'number' }),
          run: async (parameters, { signal }) => {
            expectTypeOf(parameters).toEqualTypeOf<{ key: string; value: number }>();
            expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
          },
        },
        all: {
          description: 'all',
          run: (parameters) => expectTypeOf(parameters).toEqualTypeOf<JsonObject>(),
        },
      },
      default: 'get',
    });
    const run = () => 1;
    // @ts-expect-error no such operation
    defineRelic({ name: 's', operations: { get: { description: 'get', run } }, default: 'got' });
    // @ts-expect-error an operation is described: the model reads it
    defineRelic({ name: 't', operations: { get: { run } } });
  });
});

describe('the types of an agent', () => {
  const agents = async () => ({
    text: await defineAgent({ name: 'a' }),
    zod: await defineAgent({
      name: 'a',
      output: { schema: z.object({ on: z.iso.date().pipe(z.coerce.date()) }) },
    }),
    valibot: await defineAgent({
      name: 'a',
      output: { schema: v.object({ n: v.number() }), jsonSchema: { type: 'object' } },
    }),
    ark: await defineAgent({ name: 'a', output: { schema: type({ n: 'number' }) } }),
    json: await defineAgent({ name: 'a', output: { schema: { type: 'object' } } }),
    read: await loadAgent('x.yml'),
  });
  type Agents = Awaited<ReturnType<typeof agents>>;

  it('say what its sessions result in', () => {
    expectTypeOf<Agents['text']>().toEqualTypeOf<LoadedAgent<string>>();
    expectTypeOf<Agents['zod']>().toEqualTypeOf<LoadedAgent<{ on: Date }>>();
    expectTypeOf<Agents['valibot']>().toEqualTypeOf<LoadedAgent<{ n: number }>>();
    expectTypeOf<Agents['ark']>().toEqualTypeOf<LoadedAgent<{ n: number }>>();
    expectTypeOf<Agents['json']>().toEqualTypeOf<LoadedAgent<Json>>();
    expectTypeOf<Agents['read']>().toEqualTypeOf<LoadedAgent<Json>>();
  });

  it('reach the session, its result and its resumption', () => {
    const sessions = async (agent: Agents['zod']) => {
      const runtime = await createRuntime();
      const session = runtime.start(agent, { input: 'x' });
      expectTypeOf(session).toEqualTypeOf<Session<{ on: Date }>>();
      expectTypeOf((await session.result).result).toEqualTypeOf<{ on: Date } | undefined>();
      expectTypeOf(await runtime.resume('x', { agent })).toEqualTypeOf<Session<{ on: Date }>>();
      expectTypeOf(await runtime.resume('x')).toEqualTypeOf<Session<Json>>();
      const { result } = await session.result;
      // @ts-expect-error it is a Date
      result?.on.trim();
    };
    expectTypeOf(sessions).returns.toEqualTypeOf<Promise<void>>();
  });

  it('refuse what a manifest refuses', () => {
    const wrong = () => [
      // @ts-expect-error no such dialect
      defineAgent({ name: 'a', dialect: 'morse' }),
      // @ts-expect-error a slip
      defineAgent({ name: 'a', instructons: 'x' }),
      // @ts-expect-error a slip further down
      defineAgent({ name: 'a', limits: { turn: 3 } }),
      // @ts-expect-error no name
      defineAgent({ model: 'a/b' }),
      // @ts-expect-error a tool is made with defineTool
      defineAgent({ name: 'a', tools: [{ name: 't', run: () => 1 }] }),
      // @ts-expect-error not awaited
      defineAgent({ name: 'a', agents: [defineAgent({ name: 'b' })] }),
      // @ts-expect-error the default of a number is a number
      defineAgent({ name: 'a', metadata: { fields: { n: { type: 'number', default: 'one' } } } }),
      // @ts-expect-error an enum has values
      defineAgent({ name: 'a', metadata: { fields: { n: { type: 'enum' } } } }),
      // @ts-expect-error imports stand in lists of their own
      defineAgent({ name: 'a', import: { tools: [] } }),
    ];
    expectTypeOf(wrong).toBeFunction();
  });

  it('take every way to name a model', () => {
    const right = () => [
      defineAgent({ name: 'a', model: 'anthropic/claude-sonnet-4-5' }),
      defineAgent({ name: 'a', model: scripted(['<response>Done.</response>']), models: { fast: 'a/b' } }),
    ];
    expectTypeOf(right).toBeFunction();
  });
});

describe('the types of a workflow', () => {
  const date = z.iso.date().transform((day) => new Date(day));
  const steps = [{ name: 'a', type: 'wait', for: 1 }] as const;

  it('say what its runs take: what its schema does', () => {
    const workflows = async (runtime: Runtime, agent: LoadedAgent) => {
      const zod = defineWorkflow({
        name: 'w',
        input: z.object({ on: date, n: z.number().default(1) }),
        steps,
      });
      const loaded = findWorkflow(agent, zod);
      expectTypeOf(loaded).toEqualTypeOf<LoadedWorkflow<{ on: string; n?: number | undefined }>>();
      runtime.workflows.start(loaded, { input: { on: '2026-01-01' } });
      await runWorkflow(loaded, { input: { on: '2026-01-01', n: 2 } });
      // @ts-expect-error it is text that the schema takes
      runtime.workflows.start(loaded, { input: { on: new Date() } });
      // @ts-expect-error it is missing
      await runWorkflow(loaded, { input: {} });
      await runtime.workflows.resume('x', { workflow: loaded });
      const ark = defineWorkflow({ name: 'w', input: type({ n: 'number' }), steps });
      expectTypeOf(findWorkflow(agent, ark)).toEqualTypeOf<LoadedWorkflow<{ n: number }>>();
      const json = defineWorkflow({ name: 'w', input: { type: 'object' }, steps });
      expectTypeOf(findWorkflow(agent, json)).toEqualTypeOf<LoadedWorkflow>();
      expectTypeOf(findWorkflow(agent, 'w')).toEqualTypeOf<LoadedWorkflow>();
      expectTypeOf(await loadWorkflow('x.yml')).toEqualTypeOf<LoadedWorkflow>();
      runtime.workflows.start(findWorkflow(agent), { input: { any: 'json' } });
      await defineAgent({ name: 'a', workflows: [zod, ark, json, './w.yml'] });
    };
    expectTypeOf(workflows).toBeFunction();
  });

  it('refuse what a manifest refuses, steps inside of steps included', () => {
    const loop = { name: 'l', type: 'loop', until: 'true', max: 3 } as const;
    const wrong = () => [
      // @ts-expect-error a slip
      defineWorkflow({ name: 'w', stps: [] }),
      // @ts-expect-error no such type of step
      defineWorkflow({ name: 'w', steps: [{ name: 'a', type: 'nap' }] }),
      // @ts-expect-error a tool step has a target
      defineWorkflow({ name: 'w', steps: [{ name: 'a', type: 'tool' }] }),
      // @ts-expect-error so has one in a loop
      defineWorkflow({ name: 'w', steps: [{ ...loop, body: [{ name: 'a', type: 'tool' }] }] }),
      // @ts-expect-error an invocation has a fallback
      defineWorkflow({ name: 'w', steps: [{ name: 'a', type: 'wait', if: { invoke: 'x', method: 'y' } }] }),
      // @ts-expect-error an entry of a state that is none
      defineWorkflow({ name: 'w', initial: 'a', states: { a: { finl: true } } }),
      // @ts-expect-error a workflow is made with defineWorkflow
      defineAgent({ name: 'a', workflows: [{ name: 'w', steps }] }),
    ];
    expectTypeOf(wrong).toBeFunction();
  });
});

describe('the types of an artifact', () => {
  it('take functions of any arguments, or source', () => {
    const artifacts = () => [
      defineArtifact({ name: 'a', methods: { go: (n: number, { balance }) => n < balance, on() {} } }),
      defineArtifact({ name: 'a', methods: { go: { description: 'Goes.', run: (n) => n } } }),
      defineArtifact({ name: 'a', source: 'function go() {}', methods: { go: {} } }),
      // @ts-expect-error neither a function nor source
      defineArtifact({ name: 'a', methods: { go: {} } }),
      // @ts-expect-error both
      defineArtifact({ name: 'a', source: '', methods: { go: () => 1 } }),
      defineArtifact({ name: 'a', source: 'Be kind.' }),
      // @ts-expect-error neither
      defineArtifact({ name: 'a' }),
    ];
    expectTypeOf(artifacts).toBeFunction();
  });
});

describe('the types of expectations', () => {
  it('know the events of runs', () => {
    const claims = (events: readonly RunEvent[]) => {
      expectEvents(events).inOrder('workflow.started', { type: 'step.completed', step: 'a' });
      // @ts-expect-error an event of sessions
      expectEvents(events).never('session.started');
      // @ts-expect-error no such member
      expectEvents(events).never({ type: 'step.completed', id: 'a' });
    };
    expectTypeOf(claims).toBeFunction();
  });

  it('know the events', () => {
    const claims = () => {
      expectEvents([]).inOrder('session.started', { type: 'action.completed', id: 'a' }, () => true);
      // @ts-expect-error no such event
      expectEvents([]).never('action.complete');
      // @ts-expect-error no such member
      expectEvents([]).inOrder({ type: 'action.completed', ids: 'a' });
      // @ts-expect-error an id is text
      expectEvents([]).inOrder({ type: 'action.completed', id: 1 });
    };
    expectTypeOf(claims).toBeFunction();
  });
});
