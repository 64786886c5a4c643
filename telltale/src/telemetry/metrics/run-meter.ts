import type { EventOf } from '../../events/event.ts';
import type { RunEvent, RunEventOf } from '../../events/run-event.ts';
import { createOpenStreams } from '../open-streams.ts';
import type { Instruments } from './instruments.ts';
import { NOT_TOLD, seconds } from './metered-session.ts';

interface MeteredRun {
  size: number;
  readonly workflow: string;
  readonly startedAt: number | undefined;
  readonly reviews: Set<string>;
  /** Steps whose agents are sessions of their own: what they cost is counted there. */
  readonly agentSteps: Set<string>;
}

export interface RunMeter {
  add(event: RunEvent): void;
  /** A session began that a step called. */
  called(parent: EventOf<'session.started'>['parent']): void;
  recall(first: RunEventOf<'workflow.started'>): void;
  knows(run: string): boolean;
}

const MAX_OPEN = 100_000;

export function createRunMeter(meters: Instruments): RunMeter {
  const asked = meters.reviewsOpen.of('run');
  const runs = createOpenStreams<MeteredRun>(MAX_OPEN, ({ reviews }) => {
    asked.value -= reviews.size;
  });

  const begin = (run: string, first: RunEventOf<'workflow.started'> | undefined) =>
    runs.open(run, {
      ...{ size: 1, reviews: new Set(), agentSteps: new Set() },
      ...{ workflow: first?.workflow ?? NOT_TOLD, startedAt: first?.at },
    });

  const end = (own: MeteredRun, { run, at }: RunEvent, status: string) => {
    meters.runsEnded.of(own.workflow, status).value++;
    if (own.startedAt !== undefined)
      meters.runDuration.record(seconds(at - own.startedAt), own.workflow, status);
    asked.value -= own.reviews.size;
    runs.close(run);
  };

  const step = ({ workflow }: MeteredRun, status: string) => {
    meters.steps.of(workflow, status).value++;
  };

  const fold = (own: MeteredRun, event: RunEvent): void => {
    switch (event.type) {
      case 'workflow.completed':
        end(own, event, 'completed');
        break;
      case 'workflow.failed':
        end(own, event, 'failed');
        break;
      case 'workflow.cancelled':
        end(own, event, 'cancelled');
        break;
      case 'step.completed':
        step(own, 'completed');
        break;
      case 'step.failed':
        step(own, 'failed');
        break;
      case 'step.skipped':
        step(own, 'skipped');
        break;
      case 'step.cancelled':
        step(own, 'cancelled');
        break;
      case 'model.used':
        if (event.worker !== undefined || own.agentSteps.has(event.step)) return;
        meters.cost.of('', own.workflow).value += event.cost_usd;
        break;
      case 'review.requested':
        if (own.reviews.has(event.review)) return;
        own.reviews.add(event.review);
        asked.value++;
        break;
      case 'review.resolved':
        if (own.reviews.delete(event.review)) asked.value--;
        break;
      case 'invoke':
        meters.invokes.of(event.artifact, event.fallback?.reason ?? 'decided').value++;
        break;
      default:
        break;
    }
  };

  return {
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
