import type { Issue } from '../../issue.ts';
import { checkComponents } from './check-components.ts';
import { checkGuardedVariables } from './check-guarded-variables.ts';
import { checkHooks } from './check-hooks.ts';
import { checkOutsideRuns } from './check-outside-runs.ts';
import { checkReadingOrder } from './check-reading-order.ts';
import { checkStates } from './check-states.ts';
import { checkStepOutputs } from './check-step-outputs.ts';
import { checkSteps } from './check-steps.ts';
import { checkTasks, requiredKeys } from './check-tasks.ts';
import { checkObjectSchema } from './check-tool.ts';
import { checkTriggerTest } from './check-trigger-tests.ts';
import { checkTriggers } from './check-triggers.ts';
import { checkVariables, type DeclaredVariable, declaredVariables } from './check-variables.ts';
import { checkConditionNames, checkStepConditions, checkStepReferences } from './check-workflow-names.ts';
import { type DocumentNode, warningAt } from './document-node.ts';
import { stepLists, stepNames } from './workflow-steps.ts';

/** What no schema of one step can see: names, order, reachability, and who controls what. */
export function checkWorkflow(workflow: DocumentNode): readonly Issue[] {
  const lists = stepLists(workflow);
  const steps = lists.flatMap((list) => list.steps);
  const variables = declaredVariables(workflow.at('context_variables'));
  const names = [...variables, ...requiredKeys(steps)].map(({ name }) => name);
  const scope = { steps: stepNames(lists), variables: names, items: [] };
  const approvals = steps.filter((step) => step.at('type').value === 'approval');
  const verifiers = steps.map((step) => step.at('verify'));
  const conditions = [
    ...workflow.at('transitions').items(),
    ...workflow
      .at('states')
      .entries()
      .flatMap(([, state]) => state.at('transitions').items()),
  ].map((transition) => transition.at('condition'));
  const triggers = [workflow.at('trigger'), ...workflow.at('triggers').items()];
  return [
    ...checkObjectSchema(workflow.at('input')),
    ...checkVariables(workflow.at('context_variables')),
    ...checkDerived(variables),
    ...checkStores(variables),
    ...checkTriggers(triggers),
    ...checkOutsideRuns(triggers, variables, steps),
    ...checkSteps(workflow, lists),
    ...checkHooks(workflow.at('hooks')),
    ...checkStates(workflow, lists),
    ...lists.flatMap(({ steps: list, items }) =>
      list.flatMap((step) => [
        ...checkHooks(step.at('hooks')),
        ...checkStepConditions(step, { ...scope, items }),
        ...checkStepReferences(step, { ...scope, items }),
      ]),
    ),
    ...conditions.flatMap((condition) => checkConditionNames(condition, scope)),
    ...triggers.flatMap((trigger) => checkTriggerTest(trigger, scope)),
    ...checkStepOutputs(steps, conditions),
    ...checkReadingOrder(workflow, lists),
    ...checkComponents(workflow.at('components').items(), scope.steps),
    ...checkGuardedVariables(approvals, 'an approval', variables),
    ...checkGuardedVariables(verifiers, 'a verifier', variables),
    ...checkTasks(steps, variables),
  ];
}

/** A run sees what its agent's session derives from events, and derives nothing from them by itself. */
const checkDerived = (variables: readonly DeclaredVariable[]): readonly Issue[] =>
  variables
    .map(({ node }) => node.at('triggers'))
    .filter((triggers) => triggers.value !== undefined)
    .map((triggers) =>
      warningAt(
        triggers,
        'no_effect',
        'Triggers never set a derived variable of a workflow, so it keeps its default.',
        {
          hint: 'Declare it in the agent, whose variables the workflow can read, or add an "expression".',
          at: 'key',
        },
      ),
    );

/** A run keeps what it defines in the runtime's own store; of relics only sessions know. */
const checkStores = (variables: readonly DeclaredVariable[]): readonly Issue[] =>
  variables
    .map(({ node }) => node.at('store'))
    .filter((store) => store.value !== undefined)
    .map((store) =>
      warningAt(
        store,
        'no_effect',
        'A variable of a workflow cannot be kept in a relic. "store" has no effect, and the value is lost after the run.',
        {
          hint: 'Remove "store" to keep the value in the store of the runtime, or declare the variable in the agent.',
          at: 'key',
        },
      ),
    );
