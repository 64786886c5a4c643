import type { PathSegment } from '../conditions/issue.ts';
import type { Json } from '../kernel/json.ts';

export interface Reference {
  readonly root: string;
  readonly path: readonly PathSegment[];
}

/** The members of a root that are asked for; undefined where it is asked for as a whole. */
export type MemberNames = readonly Reference['path'][number][] | undefined;

/** The names, where all of them are there; undefined where the whole is wanted, also so that an error can list it. */
export function allThere(
  names: MemberNames,
  isThere: (name: string) => boolean,
): readonly string[] | undefined {
  if (names === undefined) return undefined;
  const there = names.filter((name): name is string => typeof name === 'string' && isThere(name));
  return there.length === names.length ? there : undefined;
}

/** For each root the members that are asked for. */
export function membersByRoot(
  references: readonly Reference[],
): readonly (readonly [root: string, names: MemberNames])[] {
  const roots = new Map<string, MemberNames>();
  for (const { root, path } of references) {
    const [member] = path;
    const isWhole = member === undefined || (roots.has(root) && roots.get(root) === undefined);
    roots.set(root, isWhole ? undefined : [...(roots.get(root) ?? []), member]);
  }
  return [...roots];
}

/** A property, where there is a value for it. */
export const entry = (name: string, value: Json | undefined): [string, Json][] =>
  value === undefined ? [] : [[name, value]];
