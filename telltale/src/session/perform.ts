import type { DeclaredAction } from '../events/action.ts';
import { LLM_USAGE } from '../events/reduce.ts';
import type { RuntimeError } from '../kernel/runtime-error.ts';
import type { PerformCall, SchedulerEdges, TargetTraits } from '../scheduler/edges.ts';
import type { Target, TargetCall } from '../targets/target.ts';
import { unknownTarget } from '../targets/unknown-target.ts';
import type { AgentView } from './agent-view.ts';
import type { RunChild } from './children/child-runner.ts';
import { costWith } from './cost.ts';
import type { InternalEdges } from './internal-actions.ts';
import type { PreparedAgent } from './prepare-agent.ts';
import type { SessionLog } from './session-log.ts';

export interface PerformerEdges {
  readonly prepared: PreparedAgent;
  readonly log: SessionLog;
  readonly view: AgentView;
  readonly runChild: RunChild;
  readonly crashPoint?: ((name: string) => void) | undefined;
}

/** Calls targets for the scheduler. */
export function createPerformer(
  { prepared, log, view, runChild, crashPoint }: PerformerEdges,
  rollback: InternalEdges['rollback'],
): Pick<SchedulerEdges, 'traits' | 'unknownTarget' | 'perform'> {
  const { state } = log;
  const { agent, targets, internal } = prepared;
  const cost = agent.manifest.budget?.costs.action ?? 0;
  let bound: Map<string, Target> | undefined;
  const internalNamed = (name: string): Target | undefined => {
    bound ??= new Map(internal.map((action) => [action.name, action.bind({ state, rollback })]));
    return bound.get(name);
  };
  const find = ({ kind, name }: DeclaredAction): Target | undefined =>
    kind === 'internal' ? internalNamed(name) : targets.find(kind, name);
  const unknown = ({ kind, name }: DeclaredAction): RuntimeError => {
    const own = internal.map((action) => action.bind({ state, rollback }));
    return unknownTarget(kind, name, { all: [...targets.all, ...own] });
  };
  return {
    traits: (action): TargetTraits | undefined => find(action),
    unknownTarget: unknown,
    perform(call) {
      const { action, attempt } = call;
      const target = find(action);
      if (target === undefined) return Promise.reject(unknown(action));
      if (cost > 0 && attempt === 1 && state.balance !== undefined)
        log.append({ type: 'budget.charged', what: 'action', amount: cost, balance: state.balance - cost });
      crashPoint?.(`perform:${action.id}`);
      const running = target.kind === 'agent' ? runChild(call) : target.run(toTargetCall(call, log, view));
      if (crashPoint === undefined) return running;
      return running.finally(() => crashPoint(`performed:${action.id}`));
    },
  };
}

function toTargetCall(
  { action, input, attempt, signal }: PerformCall,
  log: SessionLog,
  view: AgentView,
): TargetCall {
  const { id } = action;
  const { id: session } = log.state;
  return {
    session,
    id,
    input,
    attempt,
    signal,
    idempotencyKey: `${session}:${id}`,
    agent: view,
    charge(usage, model) {
      const data = { action: id, model: model.id, ...usage, cost_usd: costWith(model, usage) };
      log.append({ type: 'custom', name: LLM_USAGE, data });
    },
    progress(data) {
      if (log.watched) log.show({ type: 'action.progress', session, turn: log.state.turn, id, data });
    },
  };
}
