import type { Json, JsonObject } from '../../kernel/json.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { type CallNames, STEP } from '../../protocol/calls/call-names.ts';
import type { PromptTool } from '../prompt.ts';
import { aboutMetadata, hasMetadata, metadataSchema } from './metadata-schema.ts';
import { placedSchema } from './placed-schema.ts';
import { RUN_PROPERTIES } from './run-schema.ts';

/** The one tool of the dialect `step`, with no field that the agent has no use for. */
export function stepTool(agent: AgentManifest, { natives }: CallNames, led: boolean): PromptTool {
  const properties: [string, Json][] = [
    ['thought', { type: 'string', description: 'Your reasoning, in prose. Write it first.' }],
  ];
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
        additionalProperties: false,
      },
    ]);
  if (natives.length > 0) properties.push(['tool_calls', toolCalls(natives)]);
  properties.push(
    [
      'notes',
      { type: 'string', description: 'What was done and what came of it. Required with is_complete.' },
    ],
    ...(led ? CLAIM : []),
    [
      'is_complete',
      {
        type: 'boolean',
        description: led
          ? 'true: the step in hand is done; needs notes of at least 50 characters.'
          : 'true: all of it is done, and this step is the last.',
      },
    ],
    [
      'response',
      { type: 'string', description: 'What the user is told, in Markdown. $id stands for a result.' },
    ],
  );
  if (agent.output !== undefined && !led)
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

const CLAIM: readonly [string, Json][] = [
  [
    'evidence',
    {
      type: 'array',
      items: { type: 'string' },
      description: 'With is_complete: ids of calls that prove it, where the step asks for proof.',
    },
  ],
  ['artifacts', { type: 'array', description: 'With is_complete: what came of it, beside the notes.' }],
];

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
