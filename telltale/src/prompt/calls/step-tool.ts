import type { Json, JsonObject } from '../../kernel/json.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { STEP } from '../../protocol/calls/call-names.ts';
import type { DescribedTarget } from '../described-target.ts';
import type { PromptTool } from '../prompt.ts';
import { shortSchema } from '../short-schema.ts';
import { taughtTo } from '../taught.ts';
import { aboutMetadata, hasMetadata, metadataSchema } from './metadata-schema.ts';
import { placedSchema } from './placed-schema.ts';
import { runProperties } from './run-schema.ts';

/** The one tool of the dialect `step`, with no field that the agent has no use for. */
export function stepTool(
  agent: AgentManifest,
  targets: readonly DescribedTarget[],
  led: boolean,
): PromptTool {
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
