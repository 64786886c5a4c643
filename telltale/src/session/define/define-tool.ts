import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { ReadAs, Schema, WrittenAs } from './schema.ts';
import type { Quantity } from './written.ts';

/** What a tool's function gets beside its parameters. */
export interface ToolContext {
  /** The frozen `${agent.*}` snapshot; made when it is looked at. */
  readonly agent: JsonObject;
  /** Aborted on time-out and when the session is cancelled: end soon then. */
  readonly signal: AbortSignal;
  /** The same for every try of one action, also after a restart. */
  readonly idempotencyKey: string;
  /** Shows a partial result live, where the tool says `stream: true`. */
  readonly progress: (data: Json) => void;
}

export interface ToolDefinition<Parameters extends Schema, Output extends StandardSchemaV1> {
  readonly name: string;
  /** What it does; the model reads it. */
  readonly description?: string;
  /** Sessions are pinned to it: change it when the function changes so much that a running session must not go on. */
  readonly version?: string;
  /** Checked before each call; what it gives is what `run` gets. Any object without it. */
  readonly parameters?: Parameters;
  /** The JSON Schema of `parameters` that the model reads, where the library cannot write it itself. */
  readonly jsonSchema?: JsonObject;
  /** What the result must be: a schema, or `{ schema, max_bytes }`. What the schema gives is what goes on the log. */
  readonly output?: Output | ToolOutput<Output>;
  /** true: may be run again after a crash. */
  readonly idempotent?: boolean;
  /** true: no turn waits for it; its result comes as an update. Counts where a call is async. */
  readonly background?: boolean;
  /** on_turn_end: a side effect that waits until the response has ended well. */
  readonly start?: 'on_close' | 'on_turn_end';
  /** always: a person approves each call. */
  readonly approval?: 'always' | 'strict' | 'never';
  /** For each try: `30s`, or a number of seconds. */
  readonly timeout?: Quantity;
  /** How many calls of it run at once, over all sessions and runs, and over all workers of a fleet. No limit without it. */
  readonly max_parallel?: number;
  /** true: what `progress` is called with is shown as `action.progress`. */
  readonly stream?: boolean;
  readonly run: (
    parameters: ReadAs<Parameters>,
    context: ToolContext,
  ) => WrittenAs<Output> | Promise<WrittenAs<Output>>;
}

export interface ToolOutput<Output extends StandardSchemaV1> {
  readonly schema?: Output | JsonObject;
  /** `64KiB`, or a number of bytes. */
  readonly max_bytes?: Quantity;
}

/** A tool that agents can be given. Checked with the first agent that it is given to. */
export interface DefinedTool {
  readonly kind: 'Tool';
  readonly name: string;
  readonly definition: object;
}

/** A tool whose parameters are typed by its schema: Zod, Valibot, ArkType, any Standard Schema, or JSON Schema. */
export function defineTool<
  Parameters extends Schema = JsonObject,
  Output extends StandardSchemaV1 = StandardSchemaV1<unknown>,
>(definition: ToolDefinition<Parameters, Output>): DefinedTool {
  return Object.freeze({
    kind: 'Tool',
    name: definition.name,
    definition: Object.freeze({ ...definition }),
  });
}
