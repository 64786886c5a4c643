import { RuntimeError } from '../../lib/errors.ts';

export const timedOut = (address: string, timeoutMs: number) =>
  new RuntimeError('timeout', `The step "${address}" took longer than ${timeoutMs / 1000} s.`, {
    hint: 'Give it more time with "timeout", or have it do less.',
    retryable: true,
  });

export const interrupted = (address: string) =>
  new RuntimeError(
    'interrupted',
    `The process ended while the step "${address}" ran; whether it took effect is not known.`,
    { hint: 'See whether it did. It is not done twice by itself: "on_error" decides what comes next.' },
  );

export const undoInterrupted = (address: string) =>
  new RuntimeError(
    'interrupted',
    `The process ended while the step "${address}" was being undone; whether it was is not known.`,
    { hint: 'See whether it was. It is not undone twice by itself.' },
  );

export const loopLimit = (address: string, max: number) =>
  new RuntimeError('loop_limit', `The loop "${address}" has run ${max} rounds and would go on.`, {
    hint: 'Raise "max", or look why its test never ends it.',
  });

export const gotoLimit = (address: string) =>
  new RuntimeError('goto_limit', `"goto" has led to the step "${address}" ${MAX_GOTO_VISITS} times.`, {
    hint: 'The step that jumps fails each time: use "retry", or a loop with "max".',
  });

export const stepLimit = () =>
  new RuntimeError('step_limit', `The run has begun ${MAX_STEP_INSTANCES} steps; more are not allowed.`, {
    hint: 'Move a part into a workflow of its own: each of its runs has its own limit.',
  });

export const depthLimit = (address: string, limit: number) =>
  new RuntimeError('depth_limit', `The step "${address}" is nested deeper than ${limit} levels.`, {
    hint: 'Move the inner steps into a workflow of their own.',
  });

export const notAList = (address: string, source: string, found: string) =>
  new RuntimeError('bad_list', `"in: ${source}" of the step "${address}" is ${found}, not a list.`, {
    hint: `Refer to a list: in: \${steps.NAME.output.items}.`,
  });

export const listUnknown = (address: string, source: string, problem: string, hint?: string) =>
  new RuntimeError('bad_list', `"in: ${source}" of the step "${address}": ${problem}`, { hint });

export const listTooLong = (address: string, found: number) =>
  new RuntimeError(
    'bad_list',
    `The list of the step "${address}" has ${found} items; ${MAX_FOREACH_ITEMS} are allowed.`,
    { hint: 'Loop over a part of it, or hand the whole list to one step.' },
  );

export const needsCycle = (names: readonly string[]) =>
  new RuntimeError('needs_cycle', `These steps wait for each other: ${names.join(', ')}.`, {
    hint: 'Take one of them out of the "needs" of another.',
  });

export const noTransition = (state: string, tried: readonly string[]) =>
  new RuntimeError(
    'no_transition',
    tried.length === 0
      ? `The state "${state}" is not final, and has no transitions.`
      : `No transition of the state "${state}" holds. Tried: ${tried.join('; ')}.`,
    { hint: 'End its transitions with one that has no condition, or write "final: true".' },
  );

export const transitionLimit = (state: string, max: number) =>
  new RuntimeError('transition_limit', `The run has made ${max} transitions and would go on to "${state}".`, {
    hint: 'Raise "max_transitions", or look why no final state is reached.',
  });

export const stateUnknown = (state: string, by: string, known: readonly string[]) =>
  new RuntimeError('unknown_state', `The ${by} leads to "${state}", which is no state.`, {
    hint: `States: ${known.join(', ')}.`,
  });

export const cancelledBecause = (reason: string) => new RuntimeError('cancelled', reason);

/** The maximum number of step executions in one run, over all rounds and states. */
export const MAX_STEP_INSTANCES = 100_000;
/** The maximum number of items of a `foreach`. */
export const MAX_FOREACH_ITEMS = 10_000;
/**
 * Parallel items of a `foreach` without `max_parallel`. A list from outside must not start thousands of
 * calls.
 */
export const FOREACH_PARALLEL = 16;
/** How often `goto` may lead to the same step of a list. */
export const MAX_GOTO_VISITS = 100;
/** The maximum number of transitions without `max_transitions`. */
export const DEFAULT_MAX_TRANSITIONS = 100;
/** How long a step may take to stop after its signal is aborted. After that it is abandoned. */
export const GRACE_MS = 10_000;
/** A run that is due this soon is not released, because resuming it would cost more. */
export const HELD_WAIT_MS = 1_000;
/** The longest pause before a retry, unless the first pause is longer. */
export const MAX_PAUSE_MS = 3_600_000;
