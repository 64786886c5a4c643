import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { JsonObject } from '../../kernel/json.ts';
import { type RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';

/** What a call of a tool comes to. */
export interface ToolAnswer {
  readonly structured: JsonObject;
  /** What a model reads; the structured answer as JSON where it is absent. */
  readonly text?: string;
  readonly isError?: true;
}

export const toCallResult = ({ structured, text, isError }: ToolAnswer): CallToolResult => ({
  content: [{ type: 'text', text: text ?? JSON.stringify(structured) }],
  structuredContent: structured,
  ...(isError === undefined ? {} : { isError }),
});

/** An error that the model can do something about: the call's result, not the protocol's. */
export function failedResult(thrown: unknown): CallToolResult {
  const error = toRuntimeError(thrown);
  return {
    content: [{ type: 'text', text: errorText(error) }],
    structuredContent: { error: error.toJSON() },
    isError: true,
  };
}

const errorText = ({ code, message, hint }: RuntimeError): string =>
  `${code}: ${message}${hint === undefined ? '' : `\n${hint}`}`;
