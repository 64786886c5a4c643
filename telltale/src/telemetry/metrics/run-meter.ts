import type { EventOf } from '../../events/event.ts';
import type { RunEvent, RunEventOf } from '../../events/run-event.ts';
import type { Instruments } from './instruments.ts';
import { NOT_TOLD } from './metered-session.ts';
import { createMeteredStreams, endOf, type MeteredReviews, type MeteredStream } from './metered-streams.ts';

interface MeteredRun extends MeteredStream {
  readonly workflow: string;
  /** Steps whose agents are sessions of their own: what they cost is counted there. */
  readonly agentSteps: Set<string>;
}

export interface RunMeter {
  add(event: RunEvent): void;
  /** A session began that a step called. */
  called(parent: EventOf<'session.started'>['parent']): void;
  recall(first: RunEventOf<'workflow.started'>): void;
  knows(run: string): boolean;
  readonly reviews: MeteredReviews;
}

export function createRunMeter(meters: Instruments): RunMeter {
  const runs = createMeteredStreams<MeteredRun>({
    open: meters.reviewsOpen.of('run'),
    ended: meters.runsEnded,
    duration: meters.runDuration,
  });

  const begin = (run: string, first: RunEventOf<'workflow.started'> | undefined) =>
    runs.open(run, {
      size: 1,
      reviews: new Set(),
      agentSteps: new Set(),
      workflow: first?.workflow ?? NOT_TOLD,
      startedAt: first?.at,
    });

  const fold = (own: MeteredRun, event: RunEvent): void => {
    switch (event.type) {
      case 'workflow.completed':
      case 'workflow.failed':
      case 'workflow.cancelled':
        runs.end(event.run, own, { of: own.workflow, at: event.at, status: endOf(event.type) });
        break;
      case 'step.completed':
      case 'step.failed':
      case 'step.skipped':
      case 'step.cancelled':
        meters.steps.of(own.workflow, endOf(event.type)).value++;
        break;
      case 'model.used':
        if (event.worker !== undefined || own.agentSteps.has(event.step)) return;
        meters.cost.of('', own.workflow).value += event.cost_usd;
        break;
      case 'review.requested':
        runs.asked(own, event.review);
        break;
      case 'review.resolved':
        runs.answered(own, event.review);
        break;
      case 'invoke':
        meters.invokes.of(event.artifact, event.fallback?.reason ?? 'decided').value++;
        break;
      default:
        break;
    }
  };

  return {
    reviews: runs.reviews,
    knows: (run) => runs.get(run) !== undefined,
    recall: (first) => void begin(first.run, first),
    called(parent) {
      if (parent !== undefined) runs.get(parent.session)?.agentSteps.add(parent.action);
    },
    add(event) {
      if (event.type === 'workflow.started') {
        meters.runsStarted.of(event.workflow).value++;
        begin(event.run, event);
        return;
      }
      const own =
        runs.get(event.run) ?? (event.type === 'workflow.resumed' ? begin(event.run, undefined) : undefined);
      if (own !== undefined) fold(own, event);
    },
  };
}
