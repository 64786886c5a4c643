import type { Issue } from '../../issue.ts';
import { type DocumentNode, errorAt } from './document-node.ts';

/** An error for each name that was given before; `what` is what carries it ("step"). */
export function checkUnique(names: readonly DocumentNode[], what: string): readonly Issue[] {
  const first = new Map<string, DocumentNode>();
  const issues: Issue[] = [];
  for (const place of names) {
    const name = place.text();
    if (name === undefined) continue;
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, place);
    else
      issues.push(
        errorAt(place, 'duplicate', `There are two ${what} named "${name}".`, {
          hint: `The first is at ${showPath(earlier.path.slice(0, -1))}. Rename this one.`,
        }),
      );
  }
  return issues;
}

/** `steps[2].body[0]`. */
const showPath = (path: readonly (string | number)[]): string =>
  path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`))
    .join('') || 'the top';
