import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { MetadataField } from '../../manifest/schema/metadata-field.ts';
import { RESPOND, SET_METADATA, STEP } from '../../parser/calls/call-names.ts';
import { RUN_KEY } from '../../parser/calls/read-call.ts';
import { type DescribedTarget, shortSchema } from '../notation.ts';
import type { PromptTool } from '../prompt.ts';
import { describeField } from '../render-metadata.ts';
import { type Taught, taughtTo } from '../taught.ts';

/**
 * The tools that an agent's model calls natively: in `tools` one for each target that is taught and those it speaks with,
 * in `step` the one that holds them all.
 */
export function callTools(
  agent: AgentManifest,
  targets: readonly DescribedTarget[],
  led: boolean,
): readonly PromptTool[] {
  return agent.dialect === 'step'
    ? [stepTool(agent, targets, led)]
    : [
        ...targets.map(targetTool),
        ...(hasMetadata(agent) ? [metadataTool(agent)] : []),
        respondTool(agent, led),
      ];
}

/** What kind of thing it is, where that is no tool. */
const kindOf = (kind: string): string =>
  kind === 'tool' || kind === 'internal'
    ? ''
    : `${kind === 'llm' ? 'Prompt' : kind.charAt(0).toUpperCase() + kind.slice(1)}: `;

function targetTool({ kind, name, native = name, description, parameters }: DescribedTarget): PromptTool {
  const { properties, ...rest } = shortSchema(parameters);
  const entries = Object.entries(rest);
  const refused = entries.filter(([key]) => REFUSED_AT_TOP.has(key));
  const also =
    refused.length === 0
      ? ''
      : ` The input must also satisfy ${JSON.stringify(Object.fromEntries(refused))}.`;
  return {
    name: native,
    description: kindOf(kind) + description.trim() + also,
    parameters: {
      ...Object.fromEntries(entries.filter(([key]) => !REFUSED_AT_TOP.has(key))),
      type: 'object',
      properties: {
        ...(isJsonObject(properties) ? properties : {}),
        // Internal actions take it, too; few calls of them need it.
        ...(kind === 'internal' ? {} : { [RUN_KEY]: RUN }),
      },
    },
  };
}

/** What providers do not take at the top of a tool's schema. It is checked before the call all the same. */
const REFUSED_AT_TOP = new Set(['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const', 'if', 'then', 'else']);

/** Short, since every tool has it: the system prompt says what may stand in it. */
const RUN: JsonObject = { type: 'object' };

function metadataTool(agent: AgentManifest): PromptTool {
  return { name: SET_METADATA, description: aboutMetadata(agent), parameters: metadataSchema(agent) };
}

const FINAL: JsonObject = { type: 'boolean' };

function respondTool({ output }: AgentManifest, led: boolean): PromptTool {
  const text = { type: 'string' };
  if (led)
    return {
      name: RESPOND,
      description: 'Sends the user a message, in Markdown.',
      parameters: { type: 'object', properties: { text }, required: ['text'] },
    };
  if (output === undefined)
    return {
      name: RESPOND,
      description: 'Your answer, in Markdown.',
      parameters: { type: 'object', properties: { text, final: FINAL }, required: ['text'] },
    };
  return {
    name: RESPOND,
    description: 'Ends the work with "output". With "text" and "final": false: a message, in Markdown.',
    parameters: {
      type: 'object',
      properties: {
        text,
        output: placedSchema(shortSchema(output.schema), '#/properties/output'),
        final: FINAL,
      },
    },
  };
}

/** The one tool of the dialect `step`, with no field that the agent has no use for. */
function stepTool(agent: AgentManifest, targets: readonly DescribedTarget[], led: boolean): PromptTool {
  const properties: [string, Json][] = [['thought', { type: 'string', description: 'Your reasoning.' }]];
  if (hasMetadata(agent)) {
    const fields = metadataSchema(agent, '#/properties/metadata');
    properties.push(['metadata', { ...fields, description: aboutMetadata(agent) }]);
  }
  const variables = writable(agent);
  if (led)
    properties.push([
      'context_updates',
      { type: 'object', description: 'Values that the step asks for, by name.' },
    ]);
  else if (variables.length > 0)
    properties.push([
      'context_updates',
      {
        type: 'object',
        description: 'Variables to set.',
        properties: Object.fromEntries(variables),
      },
    ]);
  if (targets.length > 0) properties.push(['tool_calls', toolCalls(agent, targets)]);
  properties.push(
    ['notes', { type: 'string', description: 'What you did and what came of it, in your own words.' }],
    ...(led ? CLAIM : []),
    [
      'is_complete',
      {
        type: 'boolean',
        description: led
          ? 'true: the current step is done; needs notes of at least 50 characters.'
          : 'true: all work is done; needs notes.',
      },
    ],
    ['response', { type: 'string', description: 'For the user, in Markdown. $id shows a result.' }],
  );
  if (agent.output !== undefined && !led)
    properties.push(['output', placedSchema(shortSchema(agent.output.schema), '#/properties/output')]);
  return {
    name: STEP,
    description: 'Does everything you do in this turn.',
    parameters: {
      type: 'object',
      properties: Object.fromEntries(properties),
      required: ['thought', 'is_complete'],
    },
  };
}

const CLAIM: readonly [string, Json][] = [
  [
    'evidence',
    {
      type: 'array',
      items: { type: 'string' },
      description: 'Ids of calls that prove the step is done, if it asks for proof.',
    },
  ],
  ['artifacts', { type: 'array', items: {}, description: 'What the step produced, besides the notes.' }],
];

const toolCalls = (agent: AgentManifest, targets: readonly DescribedTarget[]): JsonObject => ({
  type: 'array',
  items: {
    type: 'object',
    properties: {
      name: { type: 'string', enum: targets.map(({ name, native = name }) => native) },
      input: { type: 'object' },
      ...runProperties(taughtTo(agent, targets)),
    },
    required: ['name', 'input'],
  },
});

/** The runtime variables that the model may set. */
const writable = ({ context_variables: { runtime } }: AgentManifest): readonly [string, JsonObject][] =>
  runtime
    .filter(({ writers }) => writers.includes('model'))
    .map(({ name, type, description }) => [
      name,
      { ...(type === 'any' ? {} : { type }), ...(description === undefined ? {} : { description }) },
    ]);

/** What a step's tool call has beside `input`: how to run the call. The system prompt explains the fields. */
const runProperties = ({ tests, undo, templates }: Taught): JsonObject => ({
  mode: { type: 'string', enum: ['background', 'sync', 'fire_and_forget'] },
  id: { type: 'string' },
  depends_on: { type: 'array', items: { type: 'string' } },
  timeout: { type: 'number' },
  retry: { type: 'integer' },
  ...(tests ? { if: { type: 'string' } } : {}),
  ...(undo ? { compensate: { type: 'object' } } : {}),
  ...(templates ? { template: { type: 'string' } } : {}),
  literal: { type: 'boolean' },
});

/** Lists of lists beyond this are any lists. */
const MAX_ITEMS_DEPTH = 8;

/** Whether there is any metadata to set. */
const hasMetadata = ({ metadata }: AgentManifest): boolean => Object.keys(metadata.fields).length > 0;

/** What setting it means, in words for the model. */
function aboutMetadata({ metadata }: AgentManifest): string {
  const invalid = metadata.on_invalid === 'all' ? ' One wrong field rejects the whole update.' : '';
  return `Tells others what you are doing: keep it true. Set only what changes; null resets it.${invalid}`;
}

/** The fields of metadata as JSON Schema of an update; `place` is where it stands in the schema around it. */
export function metadataSchema({ metadata }: AgentManifest, place = '#'): JsonObject {
  const properties = Object.entries(metadata.fields).map(([name, field]) => {
    const description = [field.description?.trim() ?? '', ...inWords(field)]
      .filter((part) => part !== '')
      .join(' ');
    const schema = resettable(fieldSchema(field, `${place}/properties/${name}/anyOf/0`, 0));
    return [name, description === '' ? schema : { ...schema, description }] as const;
  });
  return { type: 'object', properties: Object.fromEntries(properties) };
}

/** What the schema of a field does not say. */
function inWords(field: MetadataField): readonly string[] {
  if (field.type === 'string' && field.pattern !== undefined) return [`Takes ${describeField(field)}.`];
  return field.type === 'object' && field.merge === 'deep'
    ? ['Merged into the old value; null removes a key.']
    : [];
}

/** Some providers let a model write nothing but what the schema allows, so the reset has to stand in it. */
function resettable(schema: JsonObject): JsonObject {
  const { type, enum: values } = schema;
  if (Array.isArray(values))
    return { ...(typeof type === 'string' ? { type: [type, 'null'] } : {}), enum: [...values, null] };
  const isPlain = typeof type === 'string' && ['string', 'number', 'integer', 'boolean'].includes(type);
  return isPlain ? { ...schema, type: [type, 'null'] } : { anyOf: [schema, { type: 'null' }] };
}

function fieldSchema(field: MetadataField, place: string, depth: number): JsonObject {
  switch (field.type) {
    case 'enum':
      return {
        ...(field.values.every((value) => typeof value === 'string') ? { type: 'string' } : {}),
        enum: [...field.values],
      };
    case 'string':
      // A pattern is RE2's, which validators of providers do not read: it stands in the description.
      return { type: 'string', ...given('maxLength', field.max_length) };
    case 'number':
      return {
        type: field.integer ? 'integer' : 'number',
        ...given('minimum', field.min),
        ...given('maximum', field.max),
      };
    case 'boolean':
      return { type: 'boolean' };
    case 'object':
      return field.schema === undefined ? { type: 'object' } : placedSchema(shortSchema(field.schema), place);
    case 'array':
      return {
        type: 'array',
        ...given('maxItems', field.max_items),
        ...(field.items === undefined || depth >= MAX_ITEMS_DEPTH
          ? {}
          : { items: fieldSchema(field.items, `${place}/items`, depth + 1) }),
      };
  }
}

const given = (key: string, value: number | undefined): JsonObject =>
  value === undefined ? {} : { [key]: value };

const MAX_DEPTH = 64;

/**
 * A JSON Schema that stands inside another one, at `place`: what refers to its own root (`#/$defs/item`) refers to
 * there.
 */
function placedSchema(schema: JsonObject, place: string): JsonObject {
  return moved(schema, place, 0) as JsonObject;
}

function moved(value: Json, place: string, depth: number): Json {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => moved(item, place, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      key === '$ref' && typeof member === 'string' && member.startsWith('#')
        ? place + member.slice(1)
        : moved(member, place, depth + 1),
    ]),
  );
}
