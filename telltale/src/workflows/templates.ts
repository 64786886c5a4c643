import type { PathSegment } from '../expressions/issue.ts';
import { parseTemplate, type Template } from '../expressions/templates/parse-template.ts';
import { resolveTemplate } from '../expressions/templates/resolve-template.ts';
import { RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';

/** The maximum number of cached variants per value. They differ in the names of surrounding items. */
const MAX_VARIANTS = 16;

/**
 * Caches parsed templates of manifests across runs, because parsing took a fifth of the time of a step. Only
 * frozen values are cached, because others may change.
 */
export function createTemplateReader(): ReadTemplates {
  const known = new WeakMap<object, Map<string, Templates>>();
  return (value, names, what) => {
    if (typeof value !== 'object' || value === null || !Object.isFrozen(value))
      return readTemplates(value, names, what);
    let variants = known.get(value);
    if (variants === undefined) {
      variants = new Map();
      known.set(value, variants);
    }
    const key = names.length === 0 ? '' : names.join('\n');
    let templates = variants.get(key);
    if (templates === undefined) {
      templates = readTemplates(value, names, what);
      if (variants.size < MAX_VARIANTS) variants.set(key, templates);
    }
    return templates;
  };
}

/** A value from a manifest with parsed `${…}` references. */
export interface Templates {
  /** Its references, including alternatives. */
  readonly references: readonly TemplateReference[];
  readonly roots: ReturnType<typeof membersByRoot>;
  /**
   * The value with its references resolved. `what` is for messages: `step "build"`. Throws `bad_reference`.
   */
  fill(context: JsonObject, what: string): Json;
}

/** Manifests have a lower limit. */
const MAX_DEPTH = 100;

type Fill = (context: JsonObject, what: string) => Json;

/**
 * Parses every text in `value`. `names` are the names of items around the step. `what` is for messages: `step
 * "build"`. Throws `bad_reference` if a text cannot be parsed.
 */
export type ReadTemplates = (value: Json, names: readonly string[], what: string) => Templates;

export function readTemplates(value: Json, names: readonly string[], what: string): Templates {
  const references: TemplateReference[] = [];
  const readText = (text: string): Fill | undefined => {
    if (!text.includes('${')) return undefined;
    const parsed = parseTemplate(text, { names });
    if (!parsed.ok) throw unreadable(what, parsed.error[0]?.message ?? '', parsed.error[0]?.hint);
    collect(parsed.value, references);
    return (context, where) => {
      const resolved = resolveTemplate(parsed.value, context);
      if (resolved.ok) return resolved.value;
      throw unresolved(where, resolved.error.message, resolved.error.hint);
    };
  };
  /** Undefined if the value has no references. */
  const read = (inner: Json, depth: number): Fill | undefined => {
    if (typeof inner === 'string') return readText(inner);
    if (typeof inner !== 'object' || inner === null) return undefined;
    if (depth === MAX_DEPTH) throw tooDeep(what);
    return Array.isArray(inner) ? readList(inner, depth) : readObject(inner as JsonObject, depth);
  };
  const readList = (list: readonly Json[], depth: number): Fill | undefined => {
    const fills = list.map((item) => read(item, depth + 1));
    if (fills.every((fill) => fill === undefined)) return undefined;
    return (context, where) =>
      list.map((item, index) => {
        const fill = fills[index];
        return fill === undefined ? item : fill(context, where);
      });
  };
  const readObject = (object: JsonObject, depth: number): Fill | undefined => {
    const fills = Object.entries(object).flatMap(([key, item]) => {
      const fill = read(item, depth + 1);
      return fill === undefined ? [] : [[key, fill] as const];
    });
    if (fills.length === 0) return undefined;
    return (context, where) => {
      const filled: Record<string, Json> = { ...object }; // keeps an own key "__proto__"
      for (const [key, fill] of fills) filled[key] = fill(context, where);
      return filled;
    };
  };
  const fill = read(value, 0);
  return {
    references,
    roots: membersByRoot(references),
    fill: (context, where) => (fill === undefined ? value : fill(context, where)),
  };
}

function collect({ pieces }: Template, into: TemplateReference[]): void {
  for (const piece of pieces) {
    if (piece.kind !== 'reference') continue;
    into.push({ root: piece.root, path: piece.path });
    for (const other of piece.otherwise)
      if (other.kind === 'reference') into.push({ root: other.root, path: other.path });
  }
}

const unreadable = (what: string, message: string, hint: string | undefined) =>
  new RuntimeError('bad_reference', `A reference of ${what} cannot be read: ${message}`, { hint });

const unresolved = (what: string, message: string, hint: string | undefined) =>
  new RuntimeError('bad_reference', `A reference of ${what} leads nowhere: ${message}`, { hint });

const tooDeep = (what: string) =>
  new RuntimeError(
    'bad_reference',
    `What ${what} was written with is nested deeper than ${MAX_DEPTH} levels.`,
    {
      hint: 'Write it flatter.',
    },
  );

export interface TemplateReference {
  readonly root: string;
  readonly path: readonly PathSegment[];
}

/** The requested members of a root. Undefined means the whole root. */
export type MemberNames = readonly TemplateReference['path'][number][] | undefined;

/** The names, if all of them exist. Otherwise undefined, so that an error can list the whole. */
export function allThere(
  names: MemberNames,
  isThere: (name: string) => boolean,
): readonly string[] | undefined {
  if (names === undefined) return undefined;
  const there = names.filter((name): name is string => typeof name === 'string' && isThere(name));
  return there.length === names.length ? there : undefined;
}

/** For each root the members that are asked for. */
function membersByRoot(
  references: readonly TemplateReference[],
): readonly (readonly [root: string, names: MemberNames])[] {
  const roots = new Map<string, MemberNames>();
  for (const { root, path } of references) {
    const [member] = path;
    const isWhole = member === undefined || (roots.has(root) && roots.get(root) === undefined);
    roots.set(root, isWhole ? undefined : [...(roots.get(root) ?? []), member]);
  }
  return [...roots];
}

/** The property as an entry, or nothing if there is no value. */
export const entry = (name: string, value: Json | undefined): [string, Json][] =>
  value === undefined ? [] : [[name, value]];
