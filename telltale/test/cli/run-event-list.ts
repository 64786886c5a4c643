import type { Cause } from '../../src/log/event.ts';
import type { RunEvent, RunEventBody, RunEventOf } from '../../src/log/run-event.ts';
import { BEGAN } from './event-list.ts';
import { RUN } from './fake-runtime.ts';

export type TimedRun = readonly [ms: number, body: RunEventBody, cause?: Cause];

/** The log of a run as the runtime would write it: seq and cause filled in. */
export const runEventList = (timed: readonly TimedRun[], run = RUN): readonly RunEvent[] =>
  timed.map(([ms, body, cause], index) => ({
    seq: index + 1,
    at: BEGAN + ms,
    run,
    cause: cause ?? { stream: run, seq: Math.min(1, index), depth: Math.min(1, index) },
    ...body,
  }));

type Started = RunEventOf<'workflow.started'>;

export const runStarted = (
  changes: Partial<Pick<Started, 'workflow' | 'input' | 'origin' | 'vars'>> = {},
): RunEventBody => ({
  type: 'workflow.started',
  workflow: 'release',
  manifest: { path: '/p/agent.yml', hash: 'h', agent: 'fixer' },
  input: { version: '1.2.0' },
  origin: { agents: [], chain: ['release'] },
  vars: {},
  ...changes,
});

export const stepStarted = (step: string, input = {}): RunEventBody => ({
  type: 'step.started',
  step,
  attempt: 1,
  input,
  repeatable: false,
});

export const stepCompleted = (step: string, output: string | number | null, ms = 40): RunEventBody => ({
  type: 'step.completed',
  step,
  output,
  ms,
  attempts: 1,
});

/** A run that builds, decides, asks a person and waits for the answer. */
export const WAITING_RUN: readonly RunEvent[] = runEventList([
  [0, runStarted()],
  [1, { type: 'state.entered', state: 'review', by: 'initial', visit: 1 }],
  [2, stepStarted('review@1/build', { target: 'all' })],
  [42, stepCompleted('review@1/build', 'built')],
  [
    43,
    {
      type: 'invoke',
      where: 'step gate: condition',
      artifact: 'gate',
      method: 'may',
      args: [3],
      result: false,
      fallback: { reason: 'threw', message: 'no' },
      cached: false,
      ms: 2,
      cost: 1,
    },
  ],
  [44, stepStarted('review@1/ask')],
  [
    45,
    {
      type: 'review.requested',
      review: 'rev_1',
      step: 'review@1/ask',
      prompt: 'Release it?',
      options: ['approve', 'reject'],
    },
  ],
  [46, { type: 'workflow.waiting', for: 'review rev_1', due: BEGAN + 60_000 }],
]);
