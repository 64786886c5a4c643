import { isJsonObject, type JsonObject } from '../../kernel/json.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { RESPOND, SET_METADATA } from '../../protocol/calls/call-names.ts';
import { RUN_KEY } from '../../protocol/calls/read-call.ts';
import type { DescribedTarget } from '../described-target.ts';
import type { PromptTool } from '../prompt.ts';
import { shortSchema } from '../short-schema.ts';
import { aboutMetadata, hasMetadata, metadataSchema } from './metadata-schema.ts';
import { placedSchema } from './placed-schema.ts';
import { stepTool } from './step-tool.ts';

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
