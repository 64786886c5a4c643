import { suggest } from '../../../kernel/nearest.ts';
import type { Issue } from '../../issue.ts';
import { checkProgram } from './check-program.ts';
import { checkUnique } from './check-unique.ts';
import { type DocumentNode, errorAt, warningAt } from './document-node.ts';
import { findCycles, showCycle } from './find-cycles.ts';
import { MAX_STEP_DEPTH, MAX_STEPS, type StepList, stepName } from './workflow-steps.ts';

/** Names, order and jumps of a workflow's steps. */
export function checkSteps(workflow: DocumentNode, lists: readonly StepList[]): readonly Issue[] {
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
