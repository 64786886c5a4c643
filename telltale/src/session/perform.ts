import type { DeclaredAction } from '../events/action.ts';
import { LLM_USAGE } from '../events/reduce.ts';
import type { Json } from '../kernel/json.ts';
import type { RuntimeError } from '../kernel/runtime-error.ts';
import type { PerformCall, SchedulerEdges } from '../scheduler/edges.ts';
import type { Target, TargetCall } from '../targets/target.ts';
import { unknownTarget } from '../targets/unknown-target.ts';
import type { AgentView } from './agent-view.ts';
import type { RunChild } from './children/child-runner.ts';
import { costWith } from './cost.ts';
import type { InternalEdges } from './internal/definition.ts';
import { notAllowed } from './internal/internal-actions.ts';
import type { PreparedAgent } from './prepare-agent.ts';
import type { SessionLog } from './session-log.ts';
import { unknownCall } from './unknown-call.ts';

export interface PerformerEdges {
  readonly prepared: PreparedAgent;
  readonly log: SessionLog;
  readonly view: AgentView;
  /** See `Reviews`. */
  readonly granted: (call: PerformCall) => Promise<readonly string[]> | undefined;
  readonly runChild: RunChild;
  readonly runWorkflow: (call: PerformCall) => Promise<Json>;
  readonly crashPoint?: ((name: string) => void) | undefined;
}

/** Calls targets for the scheduler. */
export function createPerformer(
  { prepared, log, view, granted, runChild, runWorkflow, crashPoint }: PerformerEdges,
  /** Asked when the first internal action is called: most sessions call none. */
  internalEdges: () => InternalEdges,
): Pick<SchedulerEdges, 'unknownTarget' | 'perform'> & {
  readonly traits: (action: DeclaredAction) => Target | undefined;
} {
  const { state } = log;
  const { agent, targets } = prepared;
  const { internal, calls } = prepared.face(state.led === true);
  const cost = agent.manifest.budget?.costs.action ?? 0;
  let bound: Map<string, Target> | undefined;
  let noted: Set<string> | undefined;
  const note = (what: string) => {
    noted ??= new Set();
    if (noted.has(what)) return;
    noted.add(what);
    log.append({ type: 'audit', who: 'runtime', what });
  };
  const bindAll = () => {
    const bindTo = internalEdges();
    return new Map(internal.map((action) => [action.name, action.bind(bindTo)]));
  };
  const internalNamed = (name: string): Target | undefined => {
    bound ??= bindAll();
    return bound.get(name);
  };
  const find = ({ kind, name }: DeclaredAction): Target | undefined =>
    kind === 'internal' ? internalNamed(name) : targets.find(kind, name);
  const unknown = ({ kind, name }: DeclaredAction): RuntimeError => {
    const blocked = kind === 'internal' ? notAllowed(name, agent.manifest) : undefined;
    if (blocked !== undefined) return blocked;
    if (calls !== undefined) return unknownCall(name, calls.style.names);
    bound ??= bindAll();
    return unknownTarget(kind, name, { all: [...targets.all, ...bound.values()] });
  };
  return {
    traits: find,
    unknownTarget: unknown,
    perform(call) {
      const { action, attempt } = call;
      const target = find(action);
      if (target === undefined) return Promise.reject(unknown(action));
      if (cost > 0 && attempt === 1 && state.balance !== undefined)
        log.append({ type: 'budget.charged', what: 'action', amount: cost, balance: state.balance - cost });
      crashPoint?.(`perform:${action.id}`);
      const start = (grants?: readonly string[]) =>
        target.kind === 'agent'
          ? runChild(call)
          : target.kind === 'workflow'
            ? runWorkflow(call)
            : target.run(toTargetCall(call, log, view, grants, note));
      const leave = granted(call);
      const running = leave === undefined ? start() : leave.then(start);
      if (crashPoint === undefined) return running;
      return running.finally(() => crashPoint(`performed:${action.id}`));
    },
  };
}

function toTargetCall(
  { action, input, attempt, signal }: PerformCall,
  log: SessionLog,
  view: AgentView,
  granted: readonly string[] | undefined,
  note: (what: string) => void,
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
    granted,
    note,
    charge(usage, model) {
      const data = { action: id, model: model.id, ...usage, cost_usd: costWith(model, usage) };
      log.append({ type: 'custom', name: LLM_USAGE, data });
    },
    progress(data) {
      if (log.watched) log.show({ type: 'action.progress', session, turn: log.state.turn, id, data });
    },
  };
}
