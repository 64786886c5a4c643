import type { CountedPart } from '../events/session-prompt.ts';
import type { JsonObject } from '../kernel/json.ts';
import type { Opening } from './opening.ts';

/** All that stands before a session's first message. */
export interface CountedOpening {
  readonly system: readonly CountedPart[];
  /** What is offered natively, each with its definition as JSON; empty in the dialect `tags`. */
  readonly tools: readonly CountedPart[];
  /** What else is given to the model with each request: `toolChoice` in the dialect `step`. */
  readonly options: JsonObject;
  /** What the provider's package adds to a request; absent where that is not known. */
  readonly request?: JsonObject;
  readonly tokens: number;
}

/** The system prompt by parts and the native tools, with what each costs by `count`. */
export function promptParts(
  { systemParts, tools, options }: Opening,
  count: (text: string) => number,
): CountedOpening {
  const system = systemParts.map(({ name, text }) => ({ name, text, tokens: count(text) }));
  const offered = tools.map((tool) => {
    const text = JSON.stringify(tool);
    return { name: tool.name, text, tokens: count(text) };
  });
  const tokens = [...system, ...offered].reduce((sum, part) => sum + part.tokens, 0);
  return { system, tools: offered, options, tokens };
}
