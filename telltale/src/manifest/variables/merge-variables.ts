import type { Json } from '../../kernel/json.ts';
import type { IssuePath } from '../issue.ts';
import { VARIABLE_CLASSES } from '../schema/checks/check-variables.ts';
import { isMap } from '../schema/is-map.ts';
import type { VariablesBeside } from './read-variables.ts';

export interface MergedVariables {
  readonly value: Json;
  /** Whether the document is an agent that the file beside it joins. */
  readonly isJoined: boolean;
  /** Where in the file beside it stands what a path of `value` leads to; undefined for what is the manifest's own. */
  readonly pathBeside: (path: IssuePath) => IssuePath | undefined;
}

/**
 * An agent with the variables of the file beside it behind its own, class by class, so that both are checked together:
 * a name in both is a duplicate, and expressions of one may read variables of the other. Other documents stay as they are.
 */
export function mergeVariables(document: Json, beside: VariablesBeside | undefined): MergedVariables {
  const alone = { value: document, isJoined: false, pathBeside: () => undefined };
  if (beside === undefined || !isMap(document) || document.kind !== 'Agent') return alone;
  const own = document.context_variables ?? {};
  if (!isMap(own)) return alone;
  const firstBeside = new Map<string, number>();
  const merged: Record<string, Json> = { ...own };
  for (const name of VARIABLE_CLASSES) {
    const mine = own[name] ?? [];
    if (!Array.isArray(mine) || beside.lists[name].length === 0) continue;
    firstBeside.set(name, mine.length);
    merged[name] = [...mine, ...beside.lists[name]];
  }
  return {
    value: { ...document, context_variables: merged },
    isJoined: true,
    pathBeside: ([top, name, index, ...rest]) => {
      const first = top === 'context_variables' ? firstBeside.get(String(name)) : undefined;
      if (first === undefined || typeof index !== 'number' || index < first) return undefined;
      return ['context_variables', `${name}_variables`, index - first, ...rest];
    },
  };
}
