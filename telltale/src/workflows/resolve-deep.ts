import { RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import { readTemplates, type Templates } from './read-templates.ts';
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
 * The value with every `${…}` in its texts resolved, however deep. A text that is one reference becomes the value it
 * refers to, with its type. Rejects with `bad_reference` where a path does not exist, or with `input_too_large`.
 */
export async function resolveDeep(
  value: Json,
  scope: Pick<Scope, 'forTemplate' | 'read'>,
  { what, locals, at }: ResolvePlace,
): Promise<Json> {
  const templates = (scope.read ?? readTemplates)(value, Object.keys(locals), what);
  if (templates.references.length === 0) return templates.fill({}, what);
  return filled(templates, await scope.forTemplate(value, locals, at), what);
}

function filled(templates: Templates, context: JsonObject, what: string): Json {
  const resolved = templates.fill(context, what);
  if (atMost(resolved, MAX_RESOLVED_CHARS) > 0) return resolved;
  const chars = JSON.stringify(resolved).length;
  if (chars > MAX_RESOLVED_CHARS) throw tooLarge(what, chars);
  return resolved;
}

/** Of an escaped character: `\u0000`. */
const WIDEST_CHAR = 6;
const WIDEST_NUMBER = 26;

/** What is left of so many characters of JSON; 0 or less where they may not be enough. Ten times as quick as writing it. */
function atMost(value: Json, chars: number): number {
  if (typeof value === 'string') return chars - value.length * WIDEST_CHAR - 2;
  if (typeof value !== 'object' || value === null) return chars - WIDEST_NUMBER;
  let left = chars - 2;
  if (Array.isArray(value)) {
    for (const item of value) {
      left = atMost(item as Json, left) - 1;
      if (left <= 0) break;
    }
    return left;
  }
  for (const key in value) {
    left = atMost((value as JsonObject)[key] as Json, left - key.length * WIDEST_CHAR - 4);
    if (left <= 0) break;
  }
  return left;
}

const tooLarge = (what: string, chars: number) =>
  new RuntimeError(
    'input_too_large',
    `What ${what} is given has ${chars} characters; ${MAX_RESOLVED_CHARS} are allowed.`,
    { hint: 'Refer to a part of the value, or keep it in a file or a relic and pass its place.' },
  );
