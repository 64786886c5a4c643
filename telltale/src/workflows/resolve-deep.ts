import type { Json } from '../kernel/json.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import { readTemplates } from './read-templates.ts';
import type { Locals, Scope } from './scope.ts';

/** Who asks for a value to be resolved. */
export interface ResolvePlace {
  /** For messages: `step "build"`. */
  readonly what: string;
  readonly locals: Locals;
  /** The address of the step. */
  readonly at?: string;
}

/** Of a resolved value, as JSON: it is written to the log whenever the step begins. */
const MAX_RESOLVED_CHARS = 4 * 1024 * 1024;

/**
 * The value with every `${…}` in its texts resolved, however deep: a text that is one reference becomes the value it
 * refers to, with its type. Rejects with `bad_reference` where a path does not exist, or with `input_too_large`.
 */
export async function resolveDeep(
  value: Json,
  scope: Pick<Scope, 'forTemplate'>,
  { what, locals, at }: ResolvePlace,
): Promise<Json> {
  const templates = readTemplates(value, Object.keys(locals), what);
  if (templates.references.length === 0) return templates.fill({});
  const resolved = templates.fill(await scope.forTemplate(value, locals, at));
  const chars = JSON.stringify(resolved).length;
  if (chars > MAX_RESOLVED_CHARS) throw tooLarge(what, chars);
  return resolved;
}

const tooLarge = (what: string, chars: number) =>
  new RuntimeError(
    'input_too_large',
    `What ${what} is given has ${chars} characters; ${MAX_RESOLVED_CHARS} are allowed.`,
    { hint: 'Refer to a part of the value, or keep it in a file or a relic and pass its place.' },
  );
