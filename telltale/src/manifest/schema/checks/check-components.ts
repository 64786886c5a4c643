import { suggest } from '../../../kernel/nearest.ts';
import type { Issue } from '../../issue.ts';
import { checkUnique } from './check-unique.ts';
import { type DocumentNode, errorAt } from './document-node.ts';

/** A workflow's own components can join only its own steps. */
export function checkComponents(
  components: readonly DocumentNode[],
  steps: readonly string[],
): readonly Issue[] {
  const named = components.flatMap((component) => {
    const into = component.at('inject_into');
    const entries = into.items().map((entry) => (entry.text() === undefined ? entry.at('step') : entry));
    return [...entries, ...into.at('fallback').items()];
  });
  return [
    ...checkUnique(
      components.map((component) => component.at('name')),
      'components',
    ),
    ...named.flatMap((place) => {
      const name = place.text();
      if (name === undefined || steps.includes(name)) return [];
      return [
        errorAt(place, 'unknown_step', `There is no step "${name}" to inject into.`, {
          hint: () => suggest(name, steps, 'Steps'),
        }),
      ];
    }),
  ];
}
