import { isJsonObject, type JsonObject } from '../../kernel/json.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { type CallNames, RESPOND, SET_METADATA } from '../../protocol/calls/call-names.ts';
import { RUN_KEY } from '../../protocol/calls/read-call.ts';
import type { DescribedTarget } from '../described-target.ts';
import type { PromptTool } from '../prompt.ts';
import { aboutMetadata, hasMetadata, metadataSchema } from './metadata-schema.ts';
import { placedSchema } from './placed-schema.ts';
import { stepTool } from './step-tool.ts';

/**
 * The tools that an agent's model calls natively: in `tools` one for each target and those it speaks with, in `step` the
 * one that holds them all. `targets` are those that `names` were made of, in the same order.
 */
export function callTools(
  agent: AgentManifest,
  targets: readonly DescribedTarget[],
  names: CallNames,
  led: boolean,
): readonly PromptTool[] {
  return agent.dialect === 'step'
    ? [stepTool(agent, names, led)]
    : [
        ...targets.map((target, index) => targetTool(target, names.natives[index] ?? target.name)),
        ...(hasMetadata(agent) ? [metadataTool(agent)] : []),
        respondTool(agent, led),
      ];
}

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
      properties: { ...(isJsonObject(properties) ? properties : {}), [RUN_KEY]: RUN },
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

const FINAL: JsonObject = {
  type: 'boolean',
  description: 'true (the default): this is your answer and ends the work. false: you go on.',
};

function respondTool({ output }: AgentManifest, led: boolean): PromptTool {
  const text = { type: 'string', description: 'Markdown. $id stands for the result of that call.' };
  if (led)
    return {
      name: RESPOND,
      description: 'Tells the user how far you are.',
      parameters: { type: 'object', properties: { text }, required: ['text'], additionalProperties: false },
    };
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
