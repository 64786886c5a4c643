import { asText } from '../../../conditions/as-text.ts';
import type { DocumentNode } from './document-node.ts';
import type { StepList } from './workflow-steps.ts';

export interface Transition {
  readonly to: DocumentNode;
  readonly condition: DocumentNode;
}

export interface State {
  readonly name: string;
  readonly node: DocumentNode;
  /** Its own transitions, then those of the workflow that leave it. */
  readonly transitions: readonly Transition[];
  /** States that its transition steps may choose. */
  readonly chosen: readonly DocumentNode[];
  /** A transition step decides where it goes. */
  readonly decides: boolean;
  /** An artifact decides, so every state may come next. */
  readonly open: boolean;
}

/** The states of a machine with all that may lead out of each. */
export function readStates(workflow: DocumentNode, lists: readonly StepList[]): readonly State[] {
  const globals = workflow.at('transitions').items();
  return workflow
    .at('states')
    .entries()
    .map(([name, node]) => {
      const steps = lists.filter(({ state }) => state === name).flatMap((list) => list.steps);
      const deciding = steps.filter((step) => step.at('type').value === 'transition');
      const leaving = globals.filter((each) => {
        const from = each.at('from').value;
        return from === '*' || from === name || (Array.isArray(from) && from.includes(name));
      });
      return {
        name,
        node,
        transitions: [...node.at('transitions').items(), ...leaving].map((each) => ({
          to: each.at('to'),
          condition: each.at('condition'),
        })),
        chosen: deciding.flatMap((step) => [
          ...step
            .at('transition_map')
            .entries()
            .map(([, to]) => to),
          ...fallbackState(step),
        ]),
        decides: deciding.length > 0,
        open: deciding.some((step) => step.has('transition_source') && !step.has('transition_map')),
      };
    });
}

/** The fallback of an artifact that decides, unless it is one of the answers of a map: it names a state then. */
function fallbackState(step: DocumentNode): readonly DocumentNode[] {
  const fallback = step.at('transition_source').at('fallback');
  const map = step.at('transition_map');
  if (fallback.value === undefined || map.value === undefined) return [fallback];
  const text = asText(fallback.value);
  return map.has(text) ? [] : [{ ...fallback, text: () => text }];
}
