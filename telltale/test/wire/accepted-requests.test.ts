import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frameOf } from '../../src/lib/calls.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import type { ModelMessage, ModelTool } from '../../src/models/model.ts';
import { toPrompt } from '../../src/models/providers/from-language-model.ts';
import { functionTool } from '../../src/models/providers/tool-schema.ts';
import { moreRuns } from '../more-runs.ts';
import { refusedBy } from './provider-bodies.ts';

const tool = (parameters: JsonObject, name = 'search'): ModelTool => ({
  name,
  description: 'Searches.',
  parameters,
});
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...more,
});
const TASK: ModelMessage = { role: 'user', text: 'Find it.' };

const accepted = (messages: readonly ModelMessage[], tools: readonly ModelTool[]) =>
  refusedBy({ system: 'You help.', messages, turn: 1, tools });

describe('schemas of tools', () => {
  const node: JsonObject = object({
    name: { type: 'string' },
    children: { type: 'array', items: { $ref: '#/$defs/node' } },
  });

  it.each<[string, JsonObject]>([
    ['an array without items', object({ a: { type: 'array' }, b: { type: ['array', 'null'] } })],
    ['a tuple', object({ a: { type: 'array', prefixItems: [{ type: 'number' }, { type: 'string' }] } })],
    [
      'a tuple of draft 7',
      object({ a: { type: 'array', items: [{ type: 'number' }], additionalItems: false } }),
    ],
    ['exclusive bounds of draft 4', object({ a: { type: 'number', minimum: 0, exclusiveMinimum: true } })],
    [
      'exclusive bounds',
      object({ a: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 9, multipleOf: 3 } }),
    ],
    ['a schema of its own draft', { $schema: 'http://json-schema.org/draft-07/schema#', ...object({}) }],
    ['nothing at all', {}],
    ['only a type', { type: 'object' }],
    ['no object at its root', { type: 'string' }],
    [
      'a union at its root',
      { ...object({ a: { type: 'string' } }), anyOf: [{ required: ['a'] }, { required: ['b'] }] },
    ],
    ['a reference at its root', { $ref: '#/$defs/node', $defs: { node } }],
    ['a recursive reference', object({ tree: { $ref: '#/$defs/node' } }, { $defs: { node } })],
    ['a reference to its root', object({ inner: { $ref: '#' } })],
    ['a reference to nothing', object({ a: { $ref: '#/$defs/none', description: 'A.' } })],
    ['a reference to elsewhere', object({ a: { $ref: 'https://example.com/schema.json' } })],
    ['an enum with null', object({ a: { type: 'string', enum: ['x', null] }, b: { enum: [true, 1, 'x'] } })],
    ['an enum of another type', object({ a: { type: 'string', enum: [1, 2] } })],
    ['an empty enum value', object({ a: { type: 'string', enum: ['', 'x'] } })],
    ['a constant', object({ a: { const: 'x' }, b: { const: 7 }, c: { const: null } })],
    [
      'all of several',
      object({
        a: {
          allOf: [object({ x: { type: 'string' } }, { required: ['x'] }), object({ y: { type: 'integer' } })],
        },
      }),
    ],
    [
      'conditions',
      object({ a: {} }, { if: { required: ['a'] }, else: { required: ['b'] }, not: { required: ['c'] } }),
    ],
    [
      'patterns, formats and lengths',
      object({ a: { type: 'string', pattern: '^a(?=b)', format: 'uuid', minLength: 1 } }),
    ],
    [
      'maps',
      object({
        a: { type: 'object', additionalProperties: { type: 'array' }, patternProperties: { '^x': true } },
      }),
    ],
    [
      'strange names of properties',
      object({ 'a b': { type: 'string' }, ['x'.repeat(80)]: {} }, { required: ['a b'] }),
    ],
    ['required properties that are not there', object({ a: {} }, { required: ['a', 'b'] })],
    ['true and false for schemas', object({ a: true, b: false, c: { type: 'array', items: true } })],
    ['nullable, as OpenAPI writes it', object({ a: { type: 'string', nullable: true } })],
    ['types that do not exist', object({ a: { type: 'any' }, b: { type: ['string', 'date'] } })],
    [
      '500 levels',
      Array.from({ length: 500 }).reduce<JsonObject>((inner) => object({ a: inner }), { type: 'array' }),
    ],
  ])('a schema with %s is brought into what each provider takes', async (_name, parameters) => {
    const before = structuredClone(parameters);
    expect(await accepted([TASK], [tool(parameters)])).toEqual([]);
    expect(parameters).toEqual(before);
  });

  it('any schema is, and always in the same way', async () => {
    const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<JsonObject>(
          { type: 'array' },
          { enum: [null, 'a', 1, ''] },
          { $ref: '#/$defs/x' },
          { const: {} },
        ),
        fc.record({
          type: fc.constantFrom('string', 'array', 'object', 'null', 'any'),
          format: fc.constant('uri'),
        }),
        fc
          .record(
            { anyOf: fc.array(tie('schema'), { maxLength: 3 }), items: tie('schema'), not: tie('schema') },
            { requiredKeys: [] },
          )
          .map((each) => each as JsonObject),
        fc.dictionary(fc.constantFrom('a', 'b c', 'd'), tie('schema')).map((properties) => ({
          type: 'object',
          properties,
          required: ['a', 'z'],
          $defs: { x: { type: 'array' } },
        })),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(schema, async (parameters) => {
        expect(await accepted([TASK], [tool(parameters)])).toEqual([]);
        for (const dialect of ['openai', 'anthropic', 'google'] as const)
          expect(functionTool(tool(parameters), dialect)).toEqual(
            functionTool(tool(structuredClone(parameters)), dialect),
          );
      }),
      { numRuns: moreRuns(60) },
    );
  });

  it('what a provider cannot check is told in the description', () => {
    const parameters = object({ size: { type: 'number', exclusiveMinimum: 0, description: 'Its size.' } });
    const { properties } = functionTool(tool(parameters), 'google').inputSchema as { properties: JsonObject };
    expect(properties.size).toEqual({
      type: 'number',
      description: 'Its size. Must also satisfy {"exclusiveMinimum":0}.',
    });
    expect(functionTool(tool(parameters), 'openai').inputSchema).toEqual(parameters);
  });

  it('a description that is too long for OpenAI stands whole in the schema', async () => {
    const description = `Searches. ${'It does so well. '.repeat(200)}`;
    const long = { ...tool(object({})), description };
    expect(await accepted([TASK], [long])).toEqual([]);
    expect(functionTool(long, 'openai').inputSchema.description).toBe(description);
    expect(functionTool(long, 'anthropic').description).toBe(description);
  });
});

describe('calls of earlier turns', () => {
  const call = (id: string, name: string, input = '{}'): ModelMessage => ({
    role: 'assistant',
    text: frameOf({ id, name, input }),
  });
  const answers = (...calls: readonly string[]): ModelMessage => ({
    role: 'tool',
    text: 'x',
    answers: calls.map((id) => ({ call: id, name: 'x', text: `found by ${id}` })),
  });
  const TOOLS = [tool(object({}))];

  it.each(['functions.shell', 'my tool!', 'x'.repeat(100), '7up', '-x', 'größe', '🔧', ' ', 'a\nb'])(
    'one with the made-up name %j is shown under a name that providers take',
    async (name) => {
      expect(await accepted([TASK, call('c1', name), answers('c1')], TOOLS)).toEqual([]);
    },
  );

  it.each(['', 'a b', 'functions.shell:0', 'x'.repeat(200), '🔧', 'call/1+2='])(
    'one with the id %j is shown with its answer',
    async (id) => {
      expect(await accepted([TASK, call(id, 'search'), answers(id)], TOOLS)).toEqual([]);
    },
  );

  it('those that use an id again keep their answers apart', async () => {
    const messages = [
      TASK,
      call('c1', 'search'),
      answers('c1'),
      call('c1', 'search'),
      answers('c1'),
      call('c1_2', 'search'),
    ];
    expect(await accepted([...messages, answers('c1_2')], TOOLS)).toEqual([]);
  });

  it('do not change when the conversation goes on', () => {
    const turn = fc
      .tuple(fc.constantFrom('c1', 'c1_2', 'a b', 'x'.repeat(60)), fc.constantFrom('search', 'my tool!'))
      .map(([id, name]) => [call(id, name), answers(id)]);
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 8 }), fc.nat(), (turns, at) => {
        const options = { isAnthropic: false, hasTools: true };
        const whole = toPrompt('', [TASK, ...turns.flat()], options);
        const part = toPrompt('', [TASK, ...turns.slice(0, at % turns.length).flat()], options);
        expect(whole.slice(0, part.length)).toEqual(part);
      }),
    );
  });

  it('an input that is no JSON object is still sent as one', async () => {
    for (const input of ['{"a', '[1]', '7', 'null', ''])
      expect(await accepted([TASK, call('c1', 'search', input), answers('c1')], TOOLS)).toEqual([]);
  });
});
