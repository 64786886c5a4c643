import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonObject } from '../../kernel/json.ts';
import type { ToolContext } from './define-tool.ts';
import type { Schema } from './schema.ts';
import type { Quantity } from './written.ts';

/** `Of` is what the operation's schema gives; nothing is known of it where that is a JSON Schema. */
export interface RelicOperation<Of = JsonObject> {
  /** The model reads it: half a sentence. */
  readonly description: string;
  /** Of an object. No parameters without it. */
  readonly parameters?: StandardSchemaV1<unknown, Of> | (JsonObject & { readonly '~standard'?: never });
  /** The JSON Schema of `parameters` that the model reads, where the library cannot write it itself. */
  readonly jsonSchema?: JsonObject;
  /** true: may be run again after a crash. */
  readonly idempotent?: boolean;
  readonly run: (parameters: unknown extends Of ? JsonObject : Of, context: ToolContext) => unknown;
}

export interface RelicDefinition<Operations> {
  readonly name: string;
  /** What it keeps; the model reads it. */
  readonly description?: string;
  /** Sessions are pinned to it, as to a tool's. */
  readonly version?: string;
  readonly operations: { readonly [Name in keyof Operations]: RelicOperation<Operations[Name]> };
  /** The operation of a call that names none. */
  readonly default?: keyof Operations & string;
  /** Resolves if the service answers. It is the operation `health`; without it the relic counts as well. */
  readonly health?: (context: ToolContext) => unknown;
  /** true: every operation may be run again after a crash. */
  readonly idempotent?: boolean;
  readonly approval?: 'always' | 'never';
  readonly timeout?: Quantity;
}

/** A relic that agents can be given. Checked with the first agent that it is given to. */
export interface DefinedRelic {
  readonly kind: 'Relic';
  readonly name: string;
  readonly definition: object;
}

/** As it is kept: what its types were has done its work. */
export interface KeptOperation {
  readonly description?: string;
  readonly parameters?: Schema;
  readonly jsonSchema?: JsonObject;
  readonly idempotent?: boolean;
  readonly run?: (parameters: unknown, context: unknown) => unknown;
}

/** A service of the program that outlives sessions, with operations typed by their schemas. */
export function defineRelic<Operations>(definition: RelicDefinition<Operations>): DefinedRelic {
  return Object.freeze({
    kind: 'Relic',
    name: definition.name,
    definition: Object.freeze({ ...definition }),
  });
}
