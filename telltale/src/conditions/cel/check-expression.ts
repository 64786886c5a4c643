import { nearest, suggest } from '../../kernel/nearest.ts';
import { type Issue, positionOf } from '../issue.ts';
import { nameHint } from './name-hint.ts';
import type { Expression } from './parse-expression.ts';
import type { ExpressionCode } from './refusal.ts';
import { TYPE_NAMES } from './value.ts';

export interface KnownNames {
  /** The names that will be in the context. */
  readonly roots: Iterable<string>;
  /** For some roots, all the keys they will have: `metadata` → the declared fields. */
  readonly members?: ReadonlyMap<string, readonly string[]>;
}

/** The names in `expression` that its context will not have, each with the nearest one that it will. */
export function checkExpression(expression: Expression, known: KnownNames): readonly Issue<ExpressionCode>[] {
  const roots = new Set(known.roots);
  const issues: Issue<ExpressionCode>[] = [];
  for (const { root, path, offset } of expression.names) {
    const position = positionOf(expression.source, offset);
    const members = known.members?.get(root);
    const [member] = path;
    if (!roots.has(root)) {
      if (TYPE_NAMES.some((type) => type === root)) continue;
      issues.push({
        code: 'unknown_name',
        message: `Unknown name "${root}".`,
        hint: rootHint(root, roots, known.members),
        ...position,
      });
    } else if (members !== undefined && typeof member === 'string' && !members.includes(member)) {
      issues.push({
        code: 'unknown_name',
        message: `"${root}" has no "${member}".`,
        hint: suggest(member, members, `Known in ${root}`),
        ...position,
      });
    }
  }
  return issues;
}

/** A bare `status` is most often a field whose root was left out. */
function rootHint(root: string, roots: ReadonlySet<string>, members: KnownNames['members']): string {
  const owner = [...(members ?? [])].find(([, keys]) => keys.includes(root))?.[0];
  if (nearest(root, roots) === undefined && owner !== undefined) return `Did you mean "${owner}.${root}"?`;
  return nameHint(root, [...roots]);
}
