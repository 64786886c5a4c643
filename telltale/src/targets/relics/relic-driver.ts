import type { JsonObject } from '../../kernel/json.ts';
import type { Operation } from '../operations.ts';
import type { TargetDeps } from '../target-edges.ts';
import type { RelicStore } from './relic-store.ts';

/** What a driver knows of the relic it serves. */
export interface RelicContext {
  readonly name: string;
  /** For messages: `relic "notes"`. */
  readonly what: string;
  /** Where the manifest stands. */
  readonly file: string;
  readonly connection: string | JsonObject | undefined;
  readonly store: RelicStore;
  readonly deps: TargetDeps;
}

/** What a driver offers. Connections are opened at the first call, not when it is made. */
export interface RelicDriver {
  readonly operations: Readonly<Record<string, Operation>>;
  /** What a call that names no operation means. */
  readonly byDefault: string;
  /** Such a call with the operation that its parameters mean, where that is another or takes them otherwise. */
  unnamed?(input: JsonObject): JsonObject;
  /** Ends what outlives a call. */
  close?(): Promise<void>;
}
