import type { Json, JsonObject } from '../kernel/json.ts';
import type { ReadTemplates } from './read-templates.ts';

/** Items of the `foreach` steps around a step, by the name of `as`. */
export type Locals = Readonly<Record<string, Json>>;

/**
 * What `${…}` and CEL read in a run: `agent trigger steps vars input run`, the items, and in CEL each variable by its
 * bare name. `agent` is read from the session's log where an expression names it, and only then.
 */
export interface Scope {
  /**
   * For templates; `source` is what will be resolved, so that nothing is read which it does not name. `at` is the
   * address that asks, or a place in it (`ADDRESS:if`): of a step that ran in several rounds the one of its own round
   * counts, else the latest. Given at once where nothing has to be read for it.
   */
  forTemplate(source: Json, locals: Locals, at?: string): JsonObject | Promise<JsonObject>;
  /** How templates are read, where somebody remembers them. */
  readonly read?: ReadTemplates;
  /** For a CEL expression that names these roots. */
  forTest(roots: readonly string[], locals: Locals, at?: string): Promise<Readonly<Record<string, unknown>>>;
}
