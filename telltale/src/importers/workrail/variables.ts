import type { JsonObject } from '../../kernel/json.ts';
import { createNames, identifierOf } from '../names.ts';

/** The context variables of a workflow: WorkRail declares none, so they are found by who reads and who sets them. */
export interface Variables {
  /** What a variable of WorkRail's is called here; it is declared by this. */
  named(name: string): string;
  /** A number that only the workflow sets, under a name of its own. */
  counter(wanted: string, from: number): string;
  /** A variable of ours that the agent sets. */
  own(wanted: string, description: string): string;
  /** Those that have another name here. */
  renamed(): readonly (readonly [from: string, to: string])[];
  manifest(): readonly JsonObject[];
}

export function createVariables(): Variables {
  const names = createNames('_');
  const byName = new Map<string, string>();
  const declared: JsonObject[] = [];
  const declare = (wanted: string, more: JsonObject): string => {
    const name = names.take(identifierOf(wanted));
    declared.push({ name, ...more });
    return name;
  };
  return {
    named(name) {
      const known = byName.get(name) ?? declare(name, {});
      byName.set(name, known);
      return known;
    },
    counter: (wanted, from) => declare(wanted, { type: 'number', default: from, writers: ['workflow'] }),
    own: (wanted, description) => declare(wanted, { description }),
    renamed: () => [...byName].filter(([from, to]) => from !== to),
    manifest: () => declared,
  };
}
