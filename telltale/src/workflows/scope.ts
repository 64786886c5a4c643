import type { Json, JsonObject } from '../kernel/json.ts';

/** Items of the `foreach` steps around a step, by the name of `as`. */
export type Locals = Readonly<Record<string, Json>>;

/**
 * What `${…}` and CEL read in a run: `agent trigger steps vars input run`, the items, and in CEL each variable by its
 * bare name. `agent` is read from the session's log where an expression names it, and only then.
 */
export interface Scope {
  /** For templates; `source` is what will be resolved, so that nothing is read which it does not name. */
  forTemplate(source: Json, locals: Locals): Promise<JsonObject>;
  /** For a CEL expression that names these roots. */
  forTest(roots: readonly string[], locals: Locals): Promise<Readonly<Record<string, unknown>>>;
}
