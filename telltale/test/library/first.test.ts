import { type } from 'arktype';
import * as v from 'valibot';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { createRuntime } from '../../src/session/create-runtime.ts';
import { defineAgent } from '../../src/session/define/define-agent.ts';
import { defineRelic } from '../../src/session/define/define-relic.ts';
import { defineTool } from '../../src/session/define/define-tool.ts';

it('runs', async () => {
  const add = defineTool({
    name: 'add',
    description: 'adds',
    parameters: z.object({ a: z.coerce.number(), b: z.number().default(2), mail: z.email().optional() }),
    output: z.object({ sum: z.number() }),
    timeout: '30s',
    run: async ({ a, b }, { signal }) => {
      const n: number = a + b;
      signal.throwIfAborted();
      return { sum: n };
    },
  });
  const ark = defineTool({ name: 'ark', parameters: type({ x: 'number' }), run: ({ x }) => x.toFixed(1) });
  const vali = defineTool({
    name: 'vali',
    parameters: v.object({ x: v.number() }),
    jsonSchema: { type: 'object' },
    run: ({ x }) => x.toFixed(1),
  });
  const plain = defineTool({
    name: 'plain',
    parameters: { type: 'object', properties: { x: { type: 'number' } } },
    run: ({ x }) => x ?? null,
  });
  const none = defineTool({ name: 'none', run: () => 1 });
  const shelf = defineRelic({
    name: 'shelf',
    operations: {
      put: {
        description: 'puts',
        parameters: z.object({ key: z.string() }),
        run: ({ key }) => key.toUpperCase(),
      },
      take: {
        description: 'takes',
        parameters: type({ n: 'number' }),
        run: async ({ n }, { signal }) => n.toFixed(1) + signal.aborted,
      },
      raw: {
        description: 'takes',
        parameters: { type: 'object', properties: { n: {} } },
        run: ({ n }) => n ?? 1,
      },
      all: { description: 'all', run: () => 1 },
    },
    default: 'all',
  });
  const agent = await defineAgent({
    name: 'x',
    model: createScriptedModel({
      turns: [
        '<action id="s">{"name":"add","parameters":{"a":"1"}}</action><action id="r" type="relic">{"name":"shelf","parameters":{"operation":"put","key":"a"}}</action>',
        '<response>{"n": 3}</response>',
      ],
    }),
    output: { schema: z.object({ n: z.number().transform((n) => String(n)) }) },
    tools: [add, ark, vali, plain, none, 'builtin:clock'],
    relics: [shelf],
    limits: { turns: 4, wall: '5m' },
  });
  const runtime = await createRuntime({ store: 'memory' });
  const session = runtime.start(agent, { input: 'hi' });
  const result = await session.result;
  const s: string | undefined = result.result?.n;
  console.log(result, s);
  console.log(
    (await runtime.events(session.id))
      .filter((e) => e.type.startsWith('action'))
      .map((e) => JSON.stringify(e))
      .join('\n'),
  );
  await runtime.close();
  await expect(runtime.resume(session.id)).rejects.toThrow();
  await expect(
    defineAgent({
      name: 'bad',
      limits: { turns: -1 },
      tools: [
        add,
        defineTool({ name: 'add', run: () => 1 }),
        defineTool({ name: 'v', parameters: v.object({}), run: () => 1 }),
      ],
      metadata: { fields: { a: { values: ['x'], default: 'y' } } },
      ...{ instructons: 's' },
    }),
  ).rejects.toThrowErrorMatchingInlineSnapshot(`
    [RuntimeError: defineAgent("bad") has 5 errors:
    error: "turns" cannot be -1. [not_allowed]
      defineAgent("bad"): /limits/turns
      → Write a whole number of one or more.
    error: An Agent has no key "instructons". [unknown_key]
      defineAgent("bad"): /instructons
      → Did you mean "instructions"? Allowed here: version, description, model, models, instructions, dialect, workflow, prompts, protocol, budget, …
    error: The default does not satisfy its field: "y" is not x. [bad_default]
      defineAgent("bad"): /metadata/fields/a/default
      → Mend it, or leave it out.]
  `);
});
