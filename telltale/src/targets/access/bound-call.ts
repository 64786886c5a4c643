import { deepEqual } from '../../conditions/deep-equal.ts';
import { type Covered, coveredOf, fileChanges } from '../../kernel/approved-files.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import type { Need, Target } from '../target.ts';

/** What an approval is of: it counts for this and for nothing else. */
export interface BoundCall extends Covered {
  readonly target: string;
  readonly input: JsonObject;
  readonly grants: readonly string[];
  readonly definition?: string;
}

export function boundCall(
  target: Pick<Target, 'definition'>,
  { target: named, grants, ...need }: Need,
  input: JsonObject,
): BoundCall {
  const definition = target.definition?.();
  return {
    target: named,
    input,
    grants,
    ...(definition === undefined ? {} : { definition }),
    ...coveredOf(need),
  };
}

const MAX_CHANGES = 20;

/** What of a call is not as it was when somebody was asked about it, in words; empty where all of it is. */
export function changesOf(asked: BoundCall, now: BoundCall): readonly string[] {
  const changes = [
    ...(asked.target === now.target ? [] : [`it calls ${now.target}, not ${asked.target}`]),
    ...inputChanges(asked.input, now.input),
    // What was asked before definitions were written down is known by its name only.
    ...(asked.definition === undefined || asked.definition === now.definition
      ? []
      : [`the manifest or the code of ${now.target} has changed`]),
    ...fileChanges(asked, now),
  ];
  if (changes.length === 0 && !deepEqual([...asked.grants], [...now.grants]))
    changes.push(`it needs leave for ${listed(now.grants)}, and was given it for ${listed(asked.grants)}`);
  return changes.length <= MAX_CHANGES
    ? changes
    : [...changes.slice(0, MAX_CHANGES), `and ${changes.length - MAX_CHANGES} more`];
}

function inputChanges(before: JsonObject, after: JsonObject): readonly string[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.flatMap((key) => {
    const [was, is] = [before[key], after[key]];
    if (was !== undefined && is !== undefined && deepEqual(was, is)) return [];
    if (was === undefined) return [`"${key}" is ${shown(is)}, and was not given`];
    if (is === undefined) return [`"${key}" is not given, and was ${shown(was)}`];
    return [`"${key}" is ${shown(is)}, and was ${shown(was)}`];
  });
}

const MAX_SHOWN = 200;

const shown = (value: Json | undefined): string => clip(JSON.stringify(value ?? null), MAX_SHOWN);

const listed = (grants: readonly string[]): string => (grants.length === 0 ? 'nothing' : grants.join(', '));
