import type { ErrorJson } from '../lib/errors.ts';
import { type RunEvent, shownWait } from './run-event.ts';
import type { RunStatus } from './run-state.ts';
import type { QuarantineNote } from './session-summary.ts';

/** What a list says of a workflow run: a fold of its events. */
export interface RunSummary {
  readonly id: string;
  readonly workflow: string;
  readonly agent: string;
  readonly status: RunStatus | 'quarantined';
  /** While it is quarantined. */
  readonly quarantine?: QuarantineNote;
  /** The session whose trigger or action started it. */
  readonly session?: string;
  /** The run whose step called it. */
  readonly parent?: string;
  /** `WORKFLOW#0`: the trigger that fired. */
  readonly trigger?: string;
  readonly startedAt: number;
  readonly updatedAt: number;
  readonly seq: number;
  /** Where it is: the last step that began, and the last state that was entered. */
  readonly step?: string;
  readonly state?: string;
  readonly steps: { readonly completed: number; readonly failed: number };
  readonly reviews: readonly string[];
  readonly waiting?: { readonly for: string; readonly due?: number };
  readonly cost_usd: number;
  readonly error?: ErrorJson;
}

/** The events that a summary says something of, apart from when it was last changed. */
const SUMMED = [
  'workflow.started',
  'workflow.waiting',
  'workflow.resumed',
  'workflow.completed',
  'workflow.failed',
  'workflow.cancelled',
  'state.entered',
  'step.started',
  'step.completed',
  'step.failed',
  'review.requested',
  'review.resolved',
  'model.used',
] as const satisfies readonly RunEvent['type'][];

/** Their types: what lists have to hear of. */
export const RUN_SUMMARY_TYPES: ReadonlySet<string> = new Set(SUMMED);

type SummedEvent = Extract<RunEvent, { readonly type: (typeof SUMMED)[number] }>;

const isSummed = (event: RunEvent): event is SummedEvent => RUN_SUMMARY_TYPES.has(event.type);

export const emptyRunSummary = (id: string): RunSummary => ({
  id,
  workflow: '',
  agent: '',
  status: 'running',
  startedAt: 0,
  updatedAt: 0,
  seq: 0,
  reviews: [],
  steps: { completed: 0, failed: 0 },
  cost_usd: 0,
});

/** The summary after one more event. Never changes what it is given. */
export function foldRunSummary(before: RunSummary, event: RunEvent): RunSummary {
  const { seq, at } = event;
  const changes = isSummed(event) ? changesOf(before, event) : {};
  const after: Growing = { ...before, ...changes, seq, updatedAt: at };
  if (event.type === 'workflow.resumed') delete after.error;
  if (after.status !== 'waiting') delete after.waiting;
  if (after.status !== 'quarantined') delete after.quarantine;
  return after;
}

/** In the making: what is over goes. */
type Growing = { -readonly [Key in keyof RunSummary]: RunSummary[Key] };

function changesOf(before: RunSummary, event: SummedEvent): Partial<RunSummary> {
  switch (event.type) {
    case 'workflow.started': {
      const { workflow, manifest, origin } = event;
      const { session, parent, trigger } = origin;
      return {
        workflow,
        agent: manifest.agent,
        startedAt: event.at,
        ...(session === undefined ? {} : { session: session.id }),
        ...(parent === undefined ? {} : { parent: parent.run }),
        ...(trigger === undefined ? {} : { trigger: trigger.id }),
      };
    }
    case 'workflow.waiting':
      return {
        status: 'waiting',
        waiting: shownWait(event),
      };
    case 'workflow.resumed':
      return { status: 'running' };
    case 'workflow.completed':
      return { status: 'completed' };
    case 'workflow.failed':
      return { status: 'failed', error: event.error };
    case 'workflow.cancelled':
      return {
        status: 'cancelled',
        error: { code: 'cancelled', message: event.reason, retryable: false },
      };
    case 'state.entered':
      return { state: event.state };
    case 'step.started':
      return { step: event.step };
    case 'step.completed':
      return { steps: { ...before.steps, completed: before.steps.completed + 1 } };
    case 'step.failed':
      return { steps: { ...before.steps, failed: before.steps.failed + 1 } };
    case 'review.requested':
      return { reviews: [...before.reviews, event.review] };
    case 'review.resolved':
      return { reviews: before.reviews.filter((review) => review !== event.review) };
    case 'model.used':
      return { cost_usd: before.cost_usd + event.cost_usd };
  }
}
