import { suggest } from '../../../kernel/nearest.ts';
import type { Issue } from '../../issue.ts';
import { checkNames } from './check-names.ts';
import { type DocumentNode, errorAt } from './document-node.ts';
import { findCycles, showCycle } from './find-cycles.ts';

const ROOTS = ['metadata', 'vars', 'actions', 'agent'];

/** Templates that take their defaults from one that is not there, or from each other. */
export function checkActionTemplates(
  templates: DocumentNode,
  members: ReadonlyMap<string, readonly string[]>,
  variables: readonly string[],
): readonly Issue[] {
  const known = new Map(templates.entries());
  const parents = (template: DocumentNode) => [
    template.at('template'),
    template.at('compensate').at('template'),
  ];
  const graph = new Map(
    [...known].map(([name, template]) => [name, parents(template).flatMap((parent) => parent.text() ?? [])]),
  );
  const unknown = [...known.values()].flatMap(parents).flatMap((parent) => {
    const name = parent.text();
    if (name === undefined || known.has(name)) return [];
    return [
      errorAt(parent, 'unknown_template', `There is no action template "${name}".`, {
        hint: () => suggest(name, [...known.keys()], 'Templates'),
      }),
    ];
  });
  const cycles = findCycles(graph).flatMap((cycle) => {
    const template = known.get(cycle[0] ?? '');
    if (template === undefined) return [];
    const message = `These action templates refer to each other in a cycle: ${showCycle(cycle)}.`;
    return [
      errorAt(template, 'cycle', message, {
        hint: 'Break the cycle: one of them must not refer to another.',
        at: 'key',
      }),
    ];
  });
  const names = [...known.values()].flatMap((template) =>
    [template, template.at('compensate')].flatMap((each) =>
      checkNames(each.at('if'), { roots: [...ROOTS, ...variables], members }),
    ),
  );
  return [...unknown, ...cycles, ...names];
}
