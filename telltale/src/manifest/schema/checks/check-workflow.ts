import { parseExpression } from '../../../expressions/cel/parse-expression.ts';
import { parseTemplate } from '../../../expressions/templates/parse-template.ts';
import { suggest } from '../../../lib/nearest.ts';
import type { Issue } from '../../diagnostic.ts';
import { checkHooks, checkProgram } from './check-hooks.ts';
import { checkReadingOrder } from './check-reading-order.ts';
import {
  checkStates,
  MAX_STEP_DEPTH,
  MAX_STEPS,
  type StepList,
  stepLists,
  stepName,
  stepNames,
} from './check-states.ts';
import { checkStepOutputs, checkTasks, requiredKeys } from './check-tasks.ts';
import { checkObjectSchema } from './check-tool.ts';
import {
  checkGuardedVariables,
  checkUnique,
  checkVariables,
  type DeclaredVariable,
  declaredVariables,
} from './check-variables.ts';
import {
  checkConditionNames,
  checkEventMatch,
  checkStepConditions,
  checkStepReferences,
  type NameScope,
  templatesOf,
} from './check-workflow-names.ts';
import { type DocumentNode, errorAt, findCycles, showCycle, warningAt } from './document-node.ts';

/** The checks that span a workflow: names, order, reachability, and who controls what. */
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

/** A run sees the variables that its agent's session derives from events, and derives none itself. */
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

/** A run keeps its own variables in the runtime's store. Only sessions know relics. */
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

/** What a run has only after it has started. */
const OF_A_RUN: readonly string[] = ['steps', 'run', 'input', 'trigger', 'item'];
/** What tests on events can also read. */
const OF_EVENTS: readonly string[] = ['event', 'agent', 'actions'];

/**
 * The names in a trigger's test, which is evaluated before there is a run. A name that does not exist makes it false
 * forever.
 */
function checkTriggerTest(trigger: DocumentNode, scope: NameScope): readonly Issue[] {
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

/** A workflow's components can only be included in its own steps. */
function checkComponents(components: readonly DocumentNode[], steps: readonly string[]): readonly Issue[] {
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

/** The checks that span one trigger. */
function checkTriggers(triggers: readonly DocumentNode[]): readonly Issue[] {
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

/** A trigger that fires when its condition ends has no run to cancel at that point. */
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

/** Starting a workflow by hand names no trigger, so one limit counts for all of them. */
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

/**
 * Triggers that start a workflow outside any session. A workflow without triggers is called by others, which may have a
 * session.
 */
const OUTSIDE: ReadonlySet<unknown> = new Set(['schedule', 'webhook']);

/** What a workflow reads from a session although none of its triggers has one. */
function checkOutsideRuns(
  triggers: readonly DocumentNode[],
  variables: readonly DeclaredVariable[],
  steps: readonly DocumentNode[],
): readonly Issue[] {
  const types = triggers.map((trigger) => trigger.at('type').value).filter((type) => type !== undefined);
  if (types.length === 0 || !types.every((type) => OUTSIDE.has(type))) return [];
  return [
    ...variables.flatMap(checkKey),
    ...steps.flatMap(checkSetting),
    ...steps.flatMap((step) => templatesOf(step).flatMap(({ text, place }) => checkReading(text, place))),
  ];
}

function checkKey({ name, class: kind, node }: DeclaredVariable): readonly Issue[] {
  const key = node.at('key');
  if (kind !== 'defined' || (key.value ?? 'session') !== 'session' || node.at('store').value !== undefined)
    return [];
  return [
    warningAt(
      key.value === undefined ? node.at('name') : key,
      'no_effect',
      `"${name}" is kept per session, but this workflow is started without a session. The value is lost after the run.`,
      { hint: 'Choose how long it is kept: "key: agent" or "key: user".' },
    ),
  ];
}

const checkSetting = (step: DocumentNode): readonly Issue[] =>
  step.at('type').value !== 'set_metadata'
    ? []
    : [
        warningAt(
          step.at('type'),
          'no_session',
          'This workflow is started without a session, so there is no metadata to set and the step fails.',
          { hint: 'Keep the value in a variable with "key: agent" (set_variable), or in a relic.' },
        ),
      ];

function checkReading(text: string, place: DocumentNode): readonly Issue[] {
  const parsed = parseTemplate(text, {});
  if (!parsed.ok) return []; // Reported elsewhere.
  return parsed.value.pieces.flatMap((piece) =>
    piece.kind === 'reference' &&
    piece.root === 'agent' &&
    piece.path[0] === 'metadata' &&
    piece.otherwise.length === 0
      ? [
          warningAt(
            place,
            'no_session',
            'This workflow is started without a session, so "agent.metadata" is empty.',
            {
              hint: 'Write a fallback: ${agent.metadata.FIELD ?? value}. Or read a variable.',
              offset: piece.offset,
            },
          ),
        ]
      : [],
  );
}

/** Names, order and jumps of a workflow's steps. */
function checkSteps(workflow: DocumentNode, lists: readonly StepList[]): readonly Issue[] {
  const all = lists.flatMap(({ steps }) => steps);
  return [
    ...checkSize(workflow, lists, all.length),
    ...checkUnique(
      all.map((step) => step.at('name')),
      'steps',
    ),
    ...lists.flatMap(checkNeeds),
    ...lists.flatMap(checkGoto),
    ...all.flatMap(checkApproval),
    ...all.flatMap(checkProgram),
  ];
}

function checkSize(workflow: DocumentNode, lists: readonly StepList[], steps: number): readonly Issue[] {
  const deep = lists.find(({ depth }) => depth > MAX_STEP_DEPTH)?.steps[0];
  return [
    ...(steps > MAX_STEPS
      ? [
          errorAt(workflow, 'too_many', `There are ${steps} steps, but at most ${MAX_STEPS} are allowed.`, {
            hint: 'Move some of them into a separate workflow.',
          }),
        ]
      : []),
    ...(deep === undefined
      ? []
      : [
          errorAt(deep, 'too_deep', `Steps are nested deeper than ${MAX_STEP_DEPTH} levels.`, {
            hint: 'Move the inner steps into a separate workflow.',
          }),
        ]),
  ];
}

function checkNeeds({ steps }: StepList): readonly Issue[] {
  const names = steps.flatMap((step) => stepName(step) ?? []);
  const issues: Issue[] = [];
  const graph = new Map<string, string[]>();
  for (const step of steps) {
    const needs = step.at('needs').items();
    graph.set(
      stepName(step) ?? '',
      needs.flatMap((need) => need.text() ?? []),
    );
    for (const need of needs) {
      const name = need.text();
      if (name === undefined || names.includes(name)) continue;
      const hint = () =>
        suggest(
          name,
          names.filter((other) => other !== stepName(step)),
          'Steps of this list',
        );
      issues.push(errorAt(need, 'unknown_step', `There is no step "${name}" in this list.`, { hint }));
    }
  }
  for (const cycle of findCycles(graph)) {
    const at = steps.find((step) => stepName(step) === cycle[0]);
    const message = `These steps need each other in a cycle: ${showCycle(cycle)}.`;
    if (at !== undefined)
      issues.push(
        errorAt(at.at('needs'), 'cycle', message, { hint: 'Break the cycle: one of them has to run first.' }),
      );
  }
  return issues;
}

function checkGoto({ steps }: StepList): readonly Issue[] {
  const names = steps.flatMap((step) => stepName(step) ?? []);
  return steps.flatMap((step) => {
    const target = /^goto +(\S+)$/.exec(step.at('on_error').text() ?? '')?.[1];
    if (target === undefined) return [];
    if (target === stepName(step))
      return [
        errorAt(step.at('on_error'), 'cycle', `The step "${target}" goes to itself when it fails.`, {
          hint: 'To try again, write "retry: { max: 3 }".',
        }),
      ];
    if (names.includes(target)) return [];
    const hint = () => suggest(target, names, 'Steps of this list');
    return [
      errorAt(step.at('on_error'), 'unknown_step', `There is no step "${target}" in this list to go to.`, {
        hint,
      }),
    ];
  });
}

function checkApproval(step: DocumentNode): readonly Issue[] {
  const answer = step.at('on_timeout');
  const name = answer.text();
  if (step.at('type').value !== 'approval' || name === undefined) return [];
  const options =
    step.at('options').value === undefined
      ? ['approve', 'reject']
      : step
          .at('options')
          .items()
          .flatMap((option) => option.text() ?? []);
  if (name !== 'fail' && !options.includes(name))
    return [
      errorAt(answer, 'unknown_option', `"on_timeout" cannot be "${name}".`, {
        hint: () => suggest(name, ['fail', ...options]),
      }),
    ];
  if (step.at('timeout').value !== undefined) return [];
  return [
    warningAt(answer, 'no_effect', '"on_timeout" has no effect without "timeout".', {
      hint: 'Add "timeout: 1h".',
      at: 'key',
    }),
  ];
}
