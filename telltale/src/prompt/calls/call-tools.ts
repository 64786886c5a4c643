import type { Json, JsonObject } from '../../kernel/json.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { type CallNames, RESPOND, SET_METADATA, STEP } from '../../protocol/calls/call-names.ts';
import { RUN_KEY } from '../../protocol/calls/read-call.ts';
import type { DescribedTarget } from '../described-target.ts';
import type { PromptTool } from '../prompt.ts';
import { metadataSchema } from './metadata-schema.ts';
import { placedSchema } from './placed-schema.ts';
import { RUN_PROPERTIES } from './run-schema.ts';

/**
 * The tools that an agent's model calls natively: in `tools` one for each target and those it speaks with, in `step` the
 * one that holds them all. `targets` are those that `names` were made of, in the same order.
 */
export function callTools(
  agent: AgentManifest,
  targets: readonly DescribedTarget[],
  names: CallNames,
): readonly PromptTool[] {
  return agent.dialect === 'step'
    ? [stepTool(agent, names)]
    : [
        ...targets.map((target, index) => targetTool(target, names.natives[index] ?? target.name)),
        ...(hasMetadata(agent) ? [metadataTool(agent)] : []),
        respondTool(agent),
      ];
}

const hasMetadata = ({ metadata }: AgentManifest) => Object.keys(metadata.fields).length > 0;

/** What kind of thing it is, where that is no tool. */
export const kindOf = (kind: string): string =>
  kind === 'tool' || kind === 'internal'
    ? ''
    : `${kind === 'llm' ? 'Prompt' : kind.charAt(0).toUpperCase() + kind.slice(1)}: `;

function targetTool({ kind, description, parameters }: DescribedTarget, name: string): PromptTool {
  const { properties, ...rest } = parameters;
  const entries = Object.entries(rest);
  const refused = entries.filter(([key]) => REFUSED_AT_TOP.has(key));
  const also =
    refused.length === 0
      ? ''
      : ` The input must also satisfy ${JSON.stringify(Object.fromEntries(refused))}.`;
  return {
    name,
    description: kindOf(kind) + description.trim() + also,
    parameters: {
      ...Object.fromEntries(entries.filter(([key]) => !REFUSED_AT_TOP.has(key))),
      type: 'object',
      properties: { ...(isObject(properties) ? properties : {}), [RUN_KEY]: RUN },
    },
  };
}

/** What providers do not take at the top of a tool's schema. It is checked before the call all the same. */
const REFUSED_AT_TOP = new Set(['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const', 'if', 'then', 'else']);

/** Short, since every tool has it: the system prompt says what may stand in it. */
const RUN: JsonObject = { type: 'object', description: 'How to run the call; see "How you act".' };

function metadataTool(agent: AgentManifest): PromptTool {
  return { name: SET_METADATA, description: aboutMetadata(agent), parameters: metadataSchema(agent) };
}

function aboutMetadata({ metadata }: AgentManifest): string {
  const invalid =
    metadata.on_invalid === 'all'
      ? 'One wrong field rejects the whole update.'
      : 'A wrong field is rejected, the others apply.';
  return `Declares what you are doing. Others act on it, so keep it true. Set only the fields you change; null sets one back to its default. ${invalid}`;
}

const FINAL: JsonObject = {
  type: 'boolean',
  description: 'true (the default): this is your answer and ends the work. false: you go on.',
};

function respondTool({ output }: AgentManifest): PromptTool {
  const text = { type: 'string', description: 'Markdown. $id stands for the result of that call.' };
  if (output === undefined)
    return {
      name: RESPOND,
      description: 'Speaks to the user.',
      parameters: {
        type: 'object',
        properties: { text, final: FINAL },
        required: ['text'],
        additionalProperties: false,
      },
    };
  return {
    name: RESPOND,
    description:
      'Speaks to the user, with "text" and "final": false; or gives the result of your work, with "output", which ends it.',
    parameters: {
      type: 'object',
      properties: { text, output: placedSchema(output.schema, '#/properties/output'), final: FINAL },
      additionalProperties: false,
    },
  };
}

function stepTool(agent: AgentManifest, { natives }: CallNames): PromptTool {
  const properties: [string, Json][] = [
    ['thought', { type: 'string', description: 'Your reasoning, in prose. Write it first.' }],
  ];
  if (hasMetadata(agent)) {
    const fields = metadataSchema(agent, '#/properties/metadata');
    properties.push(['metadata', { ...fields, description: aboutMetadata(agent) }]);
  }
  const variables = writable(agent);
  if (variables.length > 0)
    properties.push([
      'context_updates',
      {
        type: 'object',
        description: 'Variables to set.',
        properties: Object.fromEntries(variables),
        additionalProperties: false,
      },
    ]);
  if (natives.length > 0) properties.push(['tool_calls', toolCalls(natives)]);
  properties.push(
    [
      'notes',
      { type: 'string', description: 'What was done and what came of it. Required with is_complete.' },
    ],
    ['is_complete', { type: 'boolean', description: 'true: all of it is done, and this step is the last.' }],
    [
      'response',
      { type: 'string', description: 'What the user is told, in Markdown. $id stands for a result.' },
    ],
  );
  if (agent.output !== undefined)
    properties.push(['output', placedSchema(agent.output.schema, '#/properties/output')]);
  return {
    name: STEP,
    description: 'Everything you do in this turn.',
    parameters: {
      type: 'object',
      properties: Object.fromEntries(properties),
      required: ['thought', 'is_complete'],
      additionalProperties: false,
    },
  };
}

const toolCalls = (natives: readonly string[]): JsonObject => ({
  type: 'array',
  description: 'What to call. Each runs as soon as it is written.',
  items: {
    type: 'object',
    properties: {
      name: { type: 'string', enum: [...natives] },
      input: { type: 'object' },
      ...RUN_PROPERTIES,
    },
    required: ['name', 'input'],
    additionalProperties: false,
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

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
