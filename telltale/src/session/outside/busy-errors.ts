import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Waiting } from './find-circle.ts';
import type { HandGate } from './hand-gate.ts';

/** Runs that an error names. */
const MAX_NAMED = 3;

export function workflowBusy(
  { workflow, limit: { max, when_busy } }: HandGate,
  under: readonly string[],
): RuntimeError {
  const which = `${under.slice(0, MAX_NAMED).join(', ')}${under.length > MAX_NAMED ? ', …' : ''}`;
  if (when_busy !== 'skip')
    return new RuntimeError(
      'workflow_busy',
      `Too many runs of the workflow "${workflow}" are waiting to start.`,
      { hint: `Wait until one has started. Running now: ${which}.`, retryable: true },
    );
  return new RuntimeError(
    'workflow_busy',
    `The workflow "${workflow}" is already running, and its manual trigger allows ${max} at a time: ${which}.`,
    {
      hint: `Try again when it has ended, or cancel it: telltale cancel ${under[0] ?? 'RUN'}. With "when_busy: queue" a new run waits, with "replace" it replaces the old one.`,
      retryable: true,
    },
  );
}

export const waitsForItself = ({ workflow }: HandGate, holder: string) =>
  new RuntimeError(
    'workflow_busy',
    `The workflow "${workflow}" would wait for its own run ${holder}, from which it was called.`,
    { hint: 'Raise "max" of its manual trigger\'s concurrency, or call it by a step of type workflow.' },
  );

export function waitsInACircle(
  { workflow }: HandGate,
  run: string,
  under: readonly string[],
  circle: readonly Waiting[],
): RuntimeError {
  const waits = circle.slice(0, MAX_NAMED).map(({ holder, waits }) => `${holder} waits for ${waits}`);
  return new RuntimeError(
    'workflow_deadlock',
    `The run ${run} of "${workflow}" would wait for ever: its turn comes behind ${under[0] ?? 'another'}; ${waits.join('; ')}, whose turn comes when what called ${run} has ended.`,
    {
      hint: 'Raise "max" of the concurrency of one of their manual triggers, let one say "when_busy: skip", or call the other by a step of type workflow.',
    },
  );
}
