import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import { expectEvents } from '../../src/testing/expect-events.ts';
import { runAgent } from '../../src/testing/run-agent.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { callTool } from './run-defined.ts';

const COUNT = { type: 'object', properties: { count: { type: 'number' } }, required: ['count'] };

const zod = defineTool({
  name: 'twice',
  parameters: z.object({ count: z.number().describe('How many'), by: z.number().default(2) }),
  run: ({ count, by }) => count * by,
});
const ark = defineTool({
  name: 'twice',
  parameters: type({ count: 'number', by: 'number = 2' }),
  run: ({ count, by }) => count * by,
});
const valibot = defineTool({
  name: 'twice',
  parameters: v.object({ count: v.number(), by: v.optional(v.number(), 2) }),
  jsonSchema: COUNT,
  run: ({ count, by }) => count * by,
});
const json = defineTool({
  name: 'twice',
  parameters: { ...COUNT, properties: { ...COUNT.properties, by: { type: 'number', default: 2 } } },
  run: ({ count, by }) => Number(count) * Number(by),
});

describe.each([
  ['Zod', zod],
  ['ArkType', ark],
  ['Valibot', valibot],
  ['JSON Schema', json],
])('a tool whose parameters are written in %s', (_, tool) => {
  it('gets what the schema gives, defaults included', async () => {
    expect((await callTool(tool, { count: 4 })).output).toBe(8);
  });

  it('is not called with parameters that the schema refuses: bad_parameters, with the path', async () => {
    const { error, events } = await callTool(tool, { count: 'four' });
    expect(error).toMatchObject({ code: 'bad_parameters', message: expect.stringContaining('"/count"') });
    expect(error?.message).toContain('The parameters of tool "twice" are wrong:');
    expectEvents(events).never('action.started');
  });
});

describe('what the model reads of a tool', () => {
  const schemaOf = async (tool: Parameters<typeof callTool>[0]) => {
    const agent = await defineAgent({ name: 'x', model: scripted([]), tools: [tool] });
    const found = agent.project.manifests.find(({ kind }) => kind === 'Tool')?.manifest;
    return found?.kind === 'Tool' ? found.parameters : undefined;
  };

  it('is the JSON Schema of what the schema takes', async () => {
    expect(await schemaOf(zod)).toEqual({
      type: 'object',
      properties: {
        count: { type: 'number', description: 'How many' },
        by: { type: 'number', default: 2 },
      },
      required: ['count'],
    });
    expect(await schemaOf(ark)).toMatchObject({ type: 'object', required: ['count'] });
    expect(await schemaOf(valibot)).toEqual(COUNT);
  });

  it('has no pattern that a linear engine cannot match; the schema itself judges', async () => {
    const to = z.string().regex(/^(?!root$)[a-z]+$/);
    const tool = defineTool({ name: 'mail', parameters: z.object({ to }), run: (given) => given.to });
    expect(await schemaOf(tool)).toEqual({
      type: 'object',
      properties: { to: { type: 'string' } },
      required: ['to'],
    });
    expect((await callTool(tool, { to: 'root' })).error).toMatchObject({ code: 'bad_parameters' });
    expect((await callTool(tool, { to: 'ann' })).output).toBe('ann');
  });

  it('is made of a Zod schema from before the extension, too', async () => {
    const schema = z.object({ count: z.number() });
    const { version, vendor, validate } = schema['~standard'];
    const old = Object.create(schema, { '~standard': { value: { version, vendor, validate } } });
    expect(await schemaOf(defineTool({ name: 'old', parameters: old, run: () => 1 }))).toMatchObject({
      properties: { count: { type: 'number' } },
    });
  });

  it.each([
    ['Valibot', v.object({ x: v.number() }), /valibot cannot say/, /toJsonSchema\(schema/],
    ['a Date', z.object({ on: z.date() }), /zod cannot write this schema .*Date/, /"jsonSchema"/],
  ])('must be given for %s', async (_, parameters, message, hint) => {
    const tool = defineTool({ name: 'mute', parameters, run: () => 1 });
    const failed = await schemaOf(tool).catch((error) => error);
    expect(failed).toMatchObject({ code: 'bad_manifest' });
    expect(failed.diagnostics).toEqual([
      {
        severity: 'error',
        code: 'no_json_schema',
        file: 'defineTool("mute")',
        path: '/parameters',
        message: expect.stringMatching(message),
        hint: expect.stringMatching(hint),
      },
    ]);
  });
});

describe('a schema', () => {
  it('that takes more than its JSON Schema says has the last word', async () => {
    const tool = defineTool({
      name: 'n',
      parameters: z.object({ n: z.coerce.number() }),
      run: ({ n }) => n + 1,
    });
    expect((await callTool(tool, { n: '41' })).output).toBe(42);
  });

  it('that answers later is waited for', async () => {
    const known = async (name: string) => name === 'ann';
    const tool = defineTool({
      name: 'greet',
      parameters: z.object({ name: z.string().refine(known, 'is nobody') }),
      run: ({ name }) => `Hello ${name}`,
    });
    expect((await callTool(tool, { name: 'ann' })).output).toBe('Hello ann');
    expect((await callTool(tool, { name: 'bob' })).error).toMatchObject({
      code: 'bad_parameters',
      message: 'The parameters of tool "greet" are wrong: "/name": is nobody.',
    });
  });

  it('is asked once for each call', async () => {
    let asked = 0;
    const counted = z.object({ n: z.number() }).refine(() => ++asked > 0);
    const tool = defineTool({ name: 'once', parameters: counted, run: ({ n }) => n });
    expect((await callTool(tool, { n: 1 })).output).toBe(1);
    expect(asked).toBe(1);
  });

  it('that throws fails the action, and nothing else', async () => {
    const parameters = z.object({}).transform((): object => {
      throw new Error('no luck');
    });
    const tool = defineTool({ name: 'odd', parameters, run: () => 1 });
    const { error, result } = await callTool(tool, {});
    expect(error?.message).toContain('no luck');
    expect(result.status).toBe('completed');
  });

  it('that throws is said to have failed itself, at once or later', async () => {
    const fail = () => {
      throw new Error('no luck');
    };
    const schemas = [fail, async () => fail()].map(
      (validate) => ({ '~standard': { version: 1, vendor: 'mine', validate } }) as const,
    );
    for (const parameters of schemas) {
      const tool = defineTool({ name: 'odd', parameters, jsonSchema: { type: 'object' }, run: () => 1 });
      expect((await callTool(tool, {})).error).toMatchObject({
        code: 'schema_failed',
        message: 'The schema threw an error: no luck',
      });
    }
  });

  it('names the paths of three issues and counts the others', async () => {
    const each = z.number();
    const tool = defineTool({
      name: 'many',
      parameters: z.object({ 'a/b': each, c: each, d: each, e: each }),
      run: () => 1,
    });
    const { error } = await callTool(tool, {});
    expect(error?.message).toMatch(/"\/a~1b": .*"\/c": .*"\/d": .*And 1 more\.$/);
  });
});

describe('the result of a tool', () => {
  it('goes through its output schema', async () => {
    const tool = defineTool({
      name: 'sum',
      output: z.object({ sum: z.number(), unit: z.string().default('EUR') }),
      run: () => ({ sum: 3, secret: 'x' }),
    });
    expect((await callTool(tool, {})).output).toEqual({ sum: 3, unit: 'EUR' });
  });

  it('that its output schema refuses is bad_output, with the path', async () => {
    const tool = defineTool({
      name: 'sum',
      output: { schema: v.object({ sum: v.number() }), max_bytes: '1KiB' },
      run: () => ({ sum: 'three' }) as never,
    });
    expect((await callTool(tool, {})).error).toMatchObject({
      code: 'bad_output',
      message: expect.stringMatching(/^The result of tool "sum" does not fit its "output": "\/sum": /),
    });
  });

  it('may have an output schema in JSON Schema, as in a manifest', async () => {
    const tool = defineTool({ name: 'n', output: { schema: { type: 'number' } }, run: () => 'text' });
    expect((await callTool(tool, {})).error).toMatchObject({ code: 'bad_output' });
  });

  it('must be JSON', async () => {
    const tool = defineTool({ name: 'map', run: () => new Map() });
    expect((await callTool(tool, {})).error).toMatchObject({
      code: 'bad_output',
      message: expect.stringContaining('a Map'),
    });
  });

  it('may not be larger than its max_bytes', async () => {
    const tool = defineTool({ name: 'big', output: { max_bytes: 10 }, run: () => 'x'.repeat(20) });
    expect((await callTool(tool, {})).error).toMatchObject({ code: 'output_too_large' });
  });
});

describe('a tool in code', () => {
  it('sees the agent, an idempotency key and a signal, and shows its progress', async () => {
    const tool = defineTool({
      name: 'look',
      stream: true,
      run: (_, { agent, signal, idempotencyKey, progress }) => {
        progress({ half: true });
        return { name: agent.agent_name ?? null, aborted: signal.aborted, idempotencyKey };
      },
    });
    const { output, observed, result } = await callTool(tool, {});
    expect(output).toEqual({ name: 'caller', aborted: false, idempotencyKey: `${result.session}:a` });
    expectEvents(observed).inOrder(
      { type: 'action.started', id: 'a' },
      { type: 'action.progress', data: { half: true } },
      { type: 'action.completed', id: 'a' },
    );
  });

  it('is aborted when its time is over: a number is seconds', async () => {
    let reason: unknown;
    const tool = defineTool({
      name: 'slow',
      timeout: 0.02,
      run: (_, { signal }) =>
        new Promise((resolve) =>
          signal.addEventListener('abort', () => {
            reason = signal.reason;
            resolve('late');
          }),
        ),
    });
    expect((await callTool(tool, {})).error).toMatchObject({ code: 'timeout' });
    expect(reason).toMatchObject({ code: 'timeout' });
  });

  it('that throws fails its action with the message', async () => {
    const tool = defineTool({
      name: 'bad',
      run: () => {
        throw new Error('the disk is full');
      },
    });
    expect((await callTool(tool, {})).error).toMatchObject({
      code: 'tool_failed',
      message: 'The code of tool "bad" failed: the disk is full',
    });
  });

  it('that wants approval asks first', async () => {
    const tool = defineTool({ name: 'pay', approval: 'always', run: () => 'paid' });
    const asked: string[] = [];
    const agent = await defineAgent({
      name: 'x',
      model: scripted(['<action id="p">{"name":"pay"}</action>', '<response>$p</response>']),
      tools: [tool],
    });
    const approve = async ({ target }: { readonly target: string }) => {
      asked.push(target);
      return true;
    };
    const run = await runAgent(agent, { input: 'Pay.', runtime: { approve } });
    expect(run.result.result).toBe('paid');
    expect(asked).toEqual(['tool "pay"']);
    const { result, events } = await callTool(tool, {}); // with nobody to ask
    expect(result.status).toBe('waiting');
    expectEvents(events).never('action.started');
  });

  it('that is a side effect waits until the response has ended', async () => {
    const order: string[] = [];
    const note = (name: string, start?: 'on_turn_end') =>
      defineTool({ name, ...(start && { start }), run: () => void order.push(name) });
    const model = scripted([
      '<action id="l">{"name":"late"}</action><action id="s" mode="sync">{"name":"soon"}</action>',
      '<response>Done.</response>',
    ]);
    const agent = await defineAgent({ name: 'x', model, tools: [note('late', 'on_turn_end'), note('soon')] });
    await runAgent(agent, { input: 'Go.' });
    expect(order).toEqual(['soon', 'late']);
  });

  it('may be used by several agents and sessions at once', async () => {
    const runtime = await createRuntime({ store: 'memory' });
    const agents = await Promise.all(
      ['one', 'two'].map((name) =>
        defineAgent({
          name,
          model: scripted([
            '<action id="a">{"name":"twice","parameters":{"count":4}}</action><response>$a</response>',
          ]),
          tools: [zod],
        }),
      ),
    );
    const results = await Promise.all(
      [...agents, ...agents].map((agent) => runtime.start(agent, { input: 'Go.' }).result),
    );
    expect(results.map(({ result }) => result)).toEqual(['8', '8', '8', '8']);
    await runtime.close();
  });
});
