import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { checkRequest, formatOf, type WireName } from './check-request.ts';

const schema = {
  type: 'object',
  properties: { path: { type: 'string' }, lines: { type: 'array', items: { type: 'integer' } } },
  required: ['path'],
};

const chat: JsonObject = {
  model: 'gpt-4o',
  stream: true,
  stream_options: { include_usage: true },
  messages: [
    { role: 'system', content: 'You help.' },
    { role: 'user', content: 'Read both files.' },
    {
      role: 'assistant',
      content: null,
      tool_calls: ['a', 'b'].map((id) => ({
        id: `call_${id}`,
        type: 'function',
        function: { name: 'read', arguments: '{"path":"x"}' },
      })),
    },
    { role: 'tool', tool_call_id: 'call_a', content: 'one' },
    { role: 'tool', tool_call_id: 'call_b', content: 'two' },
    { role: 'user', content: [{ type: 'text', text: 'Go on.' }] },
  ],
  tools: [{ type: 'function', function: { name: 'read', description: 'Reads.', parameters: schema } }],
  tool_choice: 'auto',
};

const responses: JsonObject = {
  model: 'gpt-5',
  store: false,
  stream: true,
  input: [
    { role: 'developer', content: 'You help.' },
    { role: 'user', content: [{ type: 'input_text', text: 'Read it.' }] },
    { type: 'reasoning', id: 'rs_1', encrypted_content: 'gAAA', summary: [] },
    { type: 'function_call', call_id: 'call_a', name: 'read', arguments: '{}', id: 'fc_1' },
    { type: 'function_call_output', call_id: 'call_a', output: 'one' },
    { role: 'user', content: [{ type: 'input_text', text: 'Go on.' }] },
  ],
  tools: [{ type: 'function', name: 'read', description: 'Reads.', parameters: schema }],
  tool_choice: 'auto',
};

const anthropic: JsonObject = {
  model: 'claude-sonnet-4-5',
  max_tokens: 4096,
  stream: true,
  system: [{ type: 'text', text: 'You help.', cache_control: { type: 'ephemeral' } }],
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'Read it.' }] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Read first.', signature: 'c2ln' },
        { type: 'text', text: 'I read.' },
        { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'x' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: 'one' },
        { type: 'text', text: 'Go on.', cache_control: { type: 'ephemeral' } },
      ],
    },
  ],
  tools: [{ name: 'read', description: 'Reads.', input_schema: schema }],
  tool_choice: { type: 'auto' },
};

const google: JsonObject = {
  systemInstruction: { parts: [{ text: 'You help.' }] },
  contents: [
    { role: 'user', parts: [{ text: 'Read it.' }] },
    {
      role: 'model',
      parts: [
        { text: 'I read.' },
        { functionCall: { name: 'read', args: { path: 'x' } }, thoughtSignature: 'c2ln' },
      ],
    },
    {
      role: 'user',
      parts: [{ functionResponse: { name: 'read', response: { name: 'read', content: 'one' } } }],
    },
    { role: 'user', parts: [{ text: 'Go on.' }] },
  ],
  tools: [{ functionDeclarations: [{ name: 'read', description: 'Reads.', parametersJsonSchema: schema }] }],
  toolConfig: { functionCallingConfig: { mode: 'AUTO' } },
};

type Edit = (body: Json) => void;
type Case = readonly [name: string, edits: readonly Edit[], problem: string];

/** The list or object that holds the last step of a path like `messages.2.role`, and that step. */
function holder(body: Json, path: string): readonly [Record<string, Json>, string] {
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  return [
    steps.reduce((value, step) => (value as Record<string, Json>)[step] as Json, body) as Record<
      string,
      Json
    >,
    last,
  ];
}

const set =
  (path: string, value: Json): Edit =>
  (body) => {
    const [inside, key] = holder(body, path);
    inside[key] = value;
  };

/** Takes a field or an item away, and gives it. */
function taken(body: Json, path: string): Json {
  const [inside, key] = holder(body, path);
  const value = inside[key] as Json;
  if (Array.isArray(inside)) inside.splice(Number(key), 1);
  else delete inside[key];
  return value;
}

const cut =
  (path: string): Edit =>
  (body) => {
    taken(body, path);
  };

const insert =
  (path: string, value: Json): Edit =>
  (body) => {
    const [inside, key] = holder(body, path);
    (inside as unknown as Json[]).splice(Number(key), 0, structuredClone(value));
  };

/** Inserts a copy of what stands at `from`, with other fields. */
const again =
  (from: string, to: string, fields: JsonObject = {}): Edit =>
  (body) => {
    const [inside, key] = holder(body, from);
    insert(to, { ...(inside[key] as JsonObject), ...fields })(body);
  };

const move =
  (from: string, to: string): Edit =>
  (body) =>
    insert(to, taken(body, from))(body);

/** The good schema with one more property. */
const withProperty = (value: Json): JsonObject => ({
  ...schema,
  properties: { ...schema.properties, a: value },
});

function cases(format: WireName, good: JsonObject, bad: readonly Case[]): void {
  describe(`the wire of ${format}`, () => {
    it('accepts a request with text, calls, results and tools', () => {
      expect(checkRequest(format, good)).toEqual([]);
    });

    it.each(bad)('refuses %s', (_name, edits, problem) => {
      const body = structuredClone(good);
      for (const edit of edits) edit(body);
      expect(checkRequest(format, body).join('\n')).toContain(problem);
    });
  });
}

const CHAT_SCHEMA = 'tools.0.function.parameters';

cases('openai-chat', chat, [
  ['a body without messages', [set('messages', [])], '[] is too short'],
  ['an unknown role', [set('messages.1.role', 'human')], 'unknown role'],
  ['a system message in the middle', [again('messages.0', 'messages.3')], 'must stand first'],
  ['an empty text', [set('messages.1.content', ' ')], 'must not be empty'],
  ['an assistant without text or calls', [cut('messages.2.tool_calls')], 'expected a string'],
  ['a call without a result', [cut('messages.4')], 'has no result'],
  ['a result without a call', [set('messages.4.tool_call_id', 'call_z')], 'answers no call'],
  ['a user between call and result', [again('messages.5', 'messages.3')], 'has no result'],
  ['a result at the start', [again('messages.3', 'messages.1')], 'to a preceding message'],
  ['one id for two calls', [set('messages.2.tool_calls.1.id', 'call_a')], 'was used before'],
  ['an id that is too long', [set('messages.2.tool_calls.1.id', 'x'.repeat(41))], 'string too long'],
  ['a made-up tool name', [set('messages.2.tool_calls.0.function.name', 'functions.read')], 'does not match'],
  ['half an input', [set('messages.2.tool_calls.0.function.arguments', '{"a":')], 'not valid JSON'],
  ['an input that is a list', [set('messages.2.tool_calls.0.function.arguments', '[]')], 'not a JSON object'],
  ['an empty list of calls', [set('messages.2.tool_calls', [])], '[] is too short'],
  [
    'the assistant at the end',
    [insert('messages.6', { role: 'assistant', content: 'x' })],
    'nothing to answer',
  ],
  ['a tool with spaces in its name', [set('tools.0.function.name', 'my tool!')], 'does not match'],
  ['one name for two tools', [again('tools.0', 'tools.1')], 'was used before'],
  [
    'a description of 2,000 characters',
    [set('tools.0.function.description', 'x'.repeat(2000))],
    'string too long',
  ],
  [
    'an array without items',
    [set(CHAT_SCHEMA, withProperty({ type: 'array' }))],
    'array schema missing items',
  ],
  [
    'a tuple without items',
    [set(CHAT_SCHEMA, withProperty({ type: 'array', prefixItems: [{ type: 'number' }] }))],
    'array schema missing items',
  ],
  ['a union at the root', [set(CHAT_SCHEMA, { ...schema, anyOf: [schema] })], '"anyOf" is not taken'],
  ['a root that is no object', [set(CHAT_SCHEMA, { type: 'string' })], 'type "object"'],
  ['an object without properties at the root', [set(CHAT_SCHEMA, { type: 'object' })], 'missing properties'],
  ['a reference to nothing', [set(CHAT_SCHEMA, withProperty({ $ref: '#/$defs/a' }))], 'points to nothing'],
  [
    'an enum of another type',
    [set(CHAT_SCHEMA, withProperty({ type: 'string', enum: [1] }))],
    'is not of type string',
  ],
  [
    'a keyword of an old draft',
    [set(CHAT_SCHEMA, withProperty({ type: 'number', exclusiveMinimum: true }))],
    'not a valid JSON Schema',
  ],
  ['no tools in a list', [set('tools', [])], '[] is too short'],
  [
    '129 tools',
    [
      set(
        'tools',
        Array.from({ length: 129 }, (_, n) => ({
          type: 'function',
          function: { name: `t${n}`, parameters: schema },
        })),
      ),
    ],
    'array too long',
  ],
  [
    'a choice that names no tool',
    [set('tool_choice', { type: 'function', function: { name: 'write' } })],
    'names no tool',
  ],
  ['stream options without a stream', [set('stream', false)], 'only allowed when stream'],
]);

cases('openai-responses', responses, [
  ['no input', [set('input', [])], '[] is too short'],
  ['a call without an output', [cut('input.4'), cut('input.4')], 'no tool output found'],
  ['an output without a call', [set('input.4.call_id', 'call_z')], 'no tool call found'],
  ['an output behind the next message', [move('input.4', 'input.5')], 'does not follow its call'],
  [
    'a call id for two calls',
    [again('input.3', 'input.6', { id: 'fc_2' }), again('input.4', 'input.7')],
    'was used before',
  ],
  [
    'an item id for two items',
    [again('input.3', 'input.6', { call_id: 'b' }), again('input.4', 'input.7', { call_id: 'b' })],
    'was used before',
  ],
  ['an item id of the wrong form', [set('input.3.id', 'call_a')], 'does not match'],
  ['reasoning that nothing follows', [cut('input.3'), cut('input.3')], 'without its required following item'],
  ['reasoning that cannot be found', [cut('input.2.encrypted_content')], 'store is false'],
  [
    'a reference to an item that is not kept',
    [set('input.2', { type: 'item_reference', id: 'rs_1' })],
    'not persisted',
  ],
  [
    'a text of the user in an assistant',
    [insert('input.5', { role: 'assistant', content: [{ type: 'input_text', text: 'x' }] })],
    'supported are output_text',
  ],
  ['an empty text', [set('input.5.content.0.text', '')], 'must not be empty'],
  ['a made-up tool name', [set('input.3.name', 'my tool!')], 'does not match'],
  [
    'an array without items',
    [set('tools.0.parameters', withProperty({ type: ['array', 'null'] }))],
    'array schema missing items',
  ],
  ['a choice that names no tool', [set('tool_choice', { type: 'function', name: 'write' })], 'names no tool'],
]);

const THINKING = set('thinking', { type: 'enabled', budget_tokens: 2048 });

cases('anthropic', anthropic, [
  ['no max_tokens', [cut('max_tokens')], 'field required'],
  ['an assistant at the start', [cut('messages.0')], 'must use the user role'],
  ['two users in a row', [insert('messages.3', { role: 'user', content: 'x' })], 'two messages in a row'],
  ['an empty text', [set('messages.0.content.0.text', '\n')], 'must not be empty'],
  ['an empty message', [set('messages.0.content', [])], 'non-empty content'],
  ['a call without a result', [cut('messages.2.content.0')], 'has no result'],
  ['a result without a call', [set('messages.2.content.0.tool_use_id', 'toolu_2')], 'answers no call'],
  [
    'a text before a result',
    [move('messages.2.content.0', 'messages.2.content.1')],
    'before all other content',
  ],
  ['an id with a dot', [set('messages.1.content.2.id', 'a.b')], 'does not match'],
  [
    'an id that an earlier call had',
    [again('messages.1', 'messages.3'), again('messages.2', 'messages.4')],
    'was used before',
  ],
  ['a made-up tool name', [set('messages.1.content.2.name', 'functions.read')], 'does not match'],
  ['an input that is a string', [set('messages.1.content.2.input', '{}')], 'expected an object'],
  ['thoughts without a signature', [cut('messages.1.content.0.signature')], 'signature'],
  [
    'thoughts at the end of a message',
    [move('messages.1.content.0', 'messages.1.content.2')],
    'cannot be thinking',
  ],
  [
    'a call without its thoughts while thinking is on',
    [THINKING, cut('messages.1.content.0')],
    'expected thinking',
  ],
  [
    'a forced call while thinking is on',
    [THINKING, set('tool_choice', { type: 'tool', name: 'read' })],
    'forces tool use',
  ],
  [
    'five cache marks',
    [again('system.0', 'system.1'), again('system.0', 'system.1'), again('system.0', 'system.1')],
    'a maximum of 4',
  ],
  [
    'the assistant at the end',
    [insert('messages.3', { role: 'assistant', content: 'So' })],
    'must end with a user message',
  ],
  ['calls without tools', [cut('tools'), cut('tool_choice')], 'must define tools'],
  [
    'a union at the root',
    [set('tools.0.input_schema', { ...schema, oneOf: [schema] })],
    '"oneOf" is not taken',
  ],
  [
    'a property with a space',
    [set('tools.0.input_schema', { ...schema, properties: { 'a b': {} } })],
    'property keys should match',
  ],
  [
    'items of an old draft',
    [set('tools.0.input_schema', withProperty({ type: 'array', items: [{}] }))],
    'not a valid JSON Schema',
  ],
]);

const DECLARED = 'tools.0.functionDeclarations.0';
const JSON_SCHEMA = `${DECLARED}.parametersJsonSchema`;
const OPENAPI = `${DECLARED}.parameters`;

cases('google', google, [
  ['no contents', [set('contents', [])], 'contents are required'],
  ['an unknown role', [set('contents.1.role', 'assistant')], 'is not a role'],
  ['an empty part', [insert('contents.0.parts.1', {})], 'must have one initialized field'],
  ['no parts', [set('contents.0.parts', [])], 'at least one part'],
  ['an empty text', [insert('contents.0.parts.1', { text: '' })], 'must not be empty'],
  ['a call without a response', [cut('contents.2')], 'the number of function response parts'],
  [
    'a response to another call',
    [set('contents.2.parts.0.functionResponse.name', 'write')],
    'answers no call',
  ],
  ['a call of the user', [set('contents.1.role', 'user')], 'a user cannot call'],
  ['a call at the start', [cut('contents.0')], 'right after a user turn'],
  ['a made-up tool name', [set('contents.1.parts.1.functionCall.name', 'my tool!')], 'does not match'],
  [
    'a response that is a text',
    [set('contents.2.parts.0.functionResponse.response', 'one')],
    'expected an object',
  ],
  ['a signature that is none', [set('contents.1.parts.1.thoughtSignature', 'a b')], 'not base64'],
  [
    'the model at the end',
    [insert('contents.4', { role: 'model', parts: [{ text: 'x' }] })],
    'must be the user',
  ],
  [
    'a reference in a schema',
    [set(JSON_SCHEMA, withProperty({ $ref: '#/properties/path' }))],
    'unknown keyword "$ref"',
  ],
  [
    'exclusiveMinimum in a schema',
    [set(JSON_SCHEMA, withProperty({ type: 'number', exclusiveMinimum: 0 }))],
    'unknown keyword "exclusiveMinimum"',
  ],
  [
    'a required property that is not there',
    [set(JSON_SCHEMA, { ...schema, required: ['b'] })],
    'is not defined',
  ],
  ['an enum with null', [set(JSON_SCHEMA, withProperty({ enum: ['x', null] }))], 'is not taken'],
  [
    'a list of types in OpenAPI',
    [cut(JSON_SCHEMA), set(OPENAPI, withProperty({ type: ['string', 'null'] }))],
    'cannot start list',
  ],
  [
    'additionalProperties in OpenAPI',
    [cut(JSON_SCHEMA), set(OPENAPI, { ...schema, additionalProperties: false })],
    'unknown keyword "additionalProperties"',
  ],
  [
    'an allowed function that is not declared',
    [set('toolConfig.functionCallingConfig.allowedFunctionNames', ['write'])],
    'is not declared',
  ],
]);

describe('the format of a request', () => {
  it('is known by its path', () => {
    expect(formatOf('/v1/chat/completions')).toBe('openai-chat');
    expect(formatOf('/v1/responses')).toBe('openai-responses');
    expect(formatOf('/v1/messages?beta=true')).toBe('anthropic');
    expect(formatOf('/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse')).toBe('google');
    expect(formatOf('/v1/models')).toBeUndefined();
  });
});
