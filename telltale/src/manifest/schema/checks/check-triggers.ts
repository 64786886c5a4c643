import type { Issue } from '../../issue.ts';
import { checkEventMatch } from './check-event-match.ts';
import { checkUnique } from './check-unique.ts';
import { type DocumentNode, errorAt, warningAt } from './document-node.ts';

/** What no schema of one trigger can see: what stands beside it, and what its own keys come to together. */
export function checkTriggers(triggers: readonly DocumentNode[]): readonly Issue[] {
  const webhooks = triggers.filter((trigger) => trigger.at('type').value === 'webhook');
  return [
    ...checkUnique(
      webhooks.map((trigger) => trigger.at('hook')),
      'webhooks',
    ),
    ...triggers.flatMap((trigger) => [...checkFiring(trigger), ...checkEventMatch(trigger)]),
    ...checkByHand(triggers),
  ];
}

/** One that fires as its condition ends has no run that could be cancelled then. */
const checkFiring = (trigger: DocumentNode): readonly Issue[] =>
  trigger.at('fire').value !== 'on_exit' || trigger.at('cancel_on_exit').value !== true
    ? []
    : [
        errorAt(
          trigger.at('cancel_on_exit'),
          'exclusive',
          'This trigger never starts anything, because "cancel_on_exit" cancels what on_exit starts.',
          { hint: 'Remove "cancel_on_exit", or use on_enter.', at: 'key' },
        ),
      ];

/** Who starts a workflow by hand names no trigger, so that one limit counts for all of them. */
const checkByHand = (triggers: readonly DocumentNode[]): readonly Issue[] =>
  triggers
    .filter((trigger) => trigger.at('type').value === 'manual')
    .map((trigger) => trigger.at('concurrency'))
    .filter((concurrency) => concurrency.value !== undefined)
    .slice(1)
    .map((concurrency) =>
      warningAt(
        concurrency,
        'no_effect',
        'This "concurrency" has no effect, because the first "manual" trigger sets it for every manual start.',
        { hint: 'Keep one "manual" trigger.', at: 'key' },
      ),
    );
