import { type IgnoreRules, parseIgnoreRules } from './ignore-rules.ts';

/** What is ignored in a folder of a walk and below it: its own rules, then those of the folders above. */
export interface IgnoreLevel {
  readonly rules: IgnoreRules;
  /** From a path of the walk to one of the rules' folder: so many characters less, or these more. */
  readonly strip: number;
  readonly prefix: string;
  readonly above: IgnoreLevel | undefined;
  /** Lines that one path is held against, those of the folders above included. */
  readonly cost: number;
}

/**
 * Where a file of rules stands: in a folder of the walk (`''`, or `a/b`), or in one above its root, from which `toRoot`
 * leads to it (`a/b/`).
 */
export type RulesPlace = { readonly folder: string } | { readonly toRoot: string };

/** `above`, and over it the rules in `text`; `above` itself where they say nothing. */
export function withRules(
  above: IgnoreLevel | undefined,
  text: string,
  place: RulesPlace,
): IgnoreLevel | undefined {
  const rules = parseIgnoreRules(text);
  if (rules === undefined) return above;
  const cost = rules.count + (above?.cost ?? 0);
  if ('toRoot' in place) return { rules, strip: 0, prefix: place.toRoot, above, cost };
  return { rules, strip: place.folder === '' ? 0 : place.folder.length + 1, prefix: '', above, cost };
}

/**
 * Whether git would leave it out, as long as it has left out none of the folders it is in: those are not to be entered.
 * `path` is below the root of the walk, `name` its last part.
 */
export function isIgnored(
  level: IgnoreLevel | undefined,
  path: string,
  name: string,
  isFolder: boolean,
): boolean {
  for (let at = level; at !== undefined; at = at.above) {
    const { rules, strip, prefix } = at;
    const verdict = rules.verdict(strip === 0 ? prefix + path : path.slice(strip), name, isFolder);
    if (verdict !== undefined) return verdict === 'ignored';
  }
  return false;
}
