import { parseExpression } from '../../../conditions/cel/parse-expression.ts';
import type { Issue } from '../../issue.ts';
import { checkConditionNames, type NameScope } from './check-workflow-names.ts';
import { type DocumentNode, errorAt } from './document-node.ts';

/** What a run has, and only once it has begun. */
const OF_A_RUN: readonly string[] = ['steps', 'run', 'input', 'trigger', 'item'];
/** What tests on events read besides. */
const OF_EVENTS: readonly string[] = ['event', 'agent', 'actions'];

/** The names in the test of a trigger, which is asked before there is a run. One that is not there makes it false for ever. */
export function checkTriggerTest(trigger: DocumentNode, scope: NameScope): readonly Issue[] {
  const test = trigger.at('test');
  const parsed = parseExpression(test.text() ?? '');
  if (!parsed.ok) return [];
  const isOfEvent = trigger.at('type').value === 'event';
  const absent = isOfEvent ? OF_A_RUN : [...OF_A_RUN, 'agent'];
  const early = parsed.value.names.filter(({ root }) => absent.includes(root));
  if (early.length === 0) return checkConditionNames(test, scope);
  const known = ['metadata', 'vars', ...(isOfEvent ? OF_EVENTS : [])].join(', ');
  return early.map(({ root, offset }) =>
    errorAt(test, 'unknown_name', `Unknown name "${root}" in the test of a trigger.`, {
      hint:
        root === 'agent'
          ? `Only tests on events have it. Known here: ${known}, and the names of variables.`
          : `The test runs before a run begins. Known here: ${known}, and the names of variables.`,
      offset,
    }),
  );
}
