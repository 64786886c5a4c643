import type { RunEventOf } from './run-event.ts';
import type { GuidedState, PlanState, RunState } from './run-state.ts';

type GuidedEvent = RunEventOf<
  'step.claimed' | 'step.stuck' | 'verify' | 'plan.made' | 'plan.acting' | 'plan.acted'
>;

/** Folds what is said of the work on a task or a plan. Of another attempt than the one in hand nothing is kept. */
export function foldGuided(
  state: RunState,
  { seq: _, at: __, run: ___, cause: ____, ...event }: GuidedEvent,
): void {
  const step = state.steps.get(event.step);
  if (step === undefined || step.attempts !== event.attempt) return;
  step.guided ??= { claims: [], stuck: [], verdicts: [], plans: [] };
  fold(step.guided, event as GuidedEvent);
}

function fold(guided: GuidedState, { type, ...body }: GuidedEvent): void {
  switch (type) {
    case 'step.claimed':
      guided.claims.push(body as GuidedState['claims'][number]);
      break;
    case 'step.stuck':
      guided.stuck.push(body as GuidedState['stuck'][number]);
      break;
    case 'verify':
      guided.verdicts.push(body as GuidedState['verdicts'][number]);
      break;
    case 'plan.made': {
      const { nth, plan, problem } = body as RunEventOf<'plan.made'>;
      guided.plans.push({ nth, plan, ...(problem === undefined ? {} : { problem }), acts: new Map() });
      break;
    }
    case 'plan.acting': {
      const { nth, index, repeatable } = body as RunEventOf<'plan.acting'>;
      planOf(guided, nth)?.acts.set(index, { repeatable });
      break;
    }
    case 'plan.acted': {
      const end = body as RunEventOf<'plan.acted'>;
      const plan = planOf(guided, end.nth);
      plan?.acts.set(end.index, { repeatable: plan.acts.get(end.index)?.repeatable ?? false, end });
      break;
    }
  }
}

const planOf = ({ plans }: GuidedState, nth: number): PlanState | undefined =>
  plans.find((plan) => plan.nth === nth);
