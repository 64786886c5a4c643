import { FRAME_MARK, readTurnParts } from '../../kernel/call-frames.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import type { ProviderOptions, TextPart, ToolCallPart } from './language-model.ts';

export interface SaidPartsOptions {
  readonly isAnthropic: boolean;
  /** Whether the request offers tools. Where it does not, calls are told in words: Anthropic refuses them otherwise. */
  readonly hasTools: boolean;
}

/**
 * What an assistant said, as its message holds it: prose without what is only white space, and calls. Calls that were
 * cut off are left out: they have no input that could be sent. Pure.
 */
export function saidParts(said: string, options: SaidPartsOptions): readonly (TextPart | ToolCallPart)[] {
  const text = options.hasTools || !said.includes(FRAME_MARK) ? said : inWords(said);
  const parts: (TextPart | ToolCallPart)[] = [];
  for (const part of readTurnParts(text)) {
    if (part.type === 'text') {
      if (part.text.trim() !== '') parts.push(part);
    } else if (part.type === 'call' && part.id !== '' && part.name !== '')
      parts.push({
        type: 'tool-call',
        toolCallId: part.id,
        toolName: part.name,
        input: readInput(part.input),
        ...(isMap(part.meta) ? { providerOptions: part.meta as ProviderOptions } : {}),
      });
  }
  const last = parts.at(-1);
  if (options.isAnthropic && last?.type === 'text')
    parts[parts.length - 1] = { type: 'text', text: last.text.trimEnd() };
  return parts;
}

const inWords = (said: string): string =>
  readTurnParts(said)
    .flatMap((part) =>
      part.type === 'text'
        ? [part.text]
        : part.type === 'call'
          ? [`[called ${part.name}: ${part.input}]`]
          : [],
    )
    .join('\n');

/**
 * Providers want an object, some even where a model wrote none: what is none is wrapped, so that the request stands
 * and the model still sees what it wrote.
 */
function readInput(input: string): JsonObject {
  try {
    const value: unknown = JSON.parse(input);
    if (isMap(value)) return value as JsonObject;
  } catch {
    // wrapped below
  }
  return { not_a_json_object: input };
}
