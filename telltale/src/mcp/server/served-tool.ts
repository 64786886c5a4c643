import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import type { JsonObject } from '../../kernel/json.ts';
import type { RuntimeError } from '../../kernel/runtime-error.ts';
import type { ToolAnswer } from './tool-answer.ts';

/** What goes on, for a person who waits. */
export type Progress = (message: string, level?: 'info' | 'warning') => void;

/** Who calls, and how it hears of what goes on. */
export interface ToolCall {
  /** The name that the client gives itself: shown, and never trusted. */
  readonly client: string;
  /** Whose key the client has, as the server knows: `token:ci`, `user:ana`. */
  readonly identity: string;
  /** Aborted when the client cancels the call or goes away. */
  readonly signal: AbortSignal;
  /** Absent where the client does not want to know. */
  readonly progress?: Progress | undefined;
}

/** A tool of the server. Its arguments satisfy its schema; what it rejects with is told to the client's model. */
export interface ServedTool {
  readonly definition: Tool;
  /** The arguments with our names where they have those of another system; an error where it is unclear what is meant. */
  underOurNames?(args: JsonObject): JsonObject | RuntimeError;
  call(args: JsonObject, call: ToolCall): Promise<ToolAnswer>;
}
