import type { RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { DeclaredAction } from '../log/action.ts';
import { LLM_USAGE } from '../log/reduce.ts';
import type { PerformCall } from '../scheduler/edges.ts';
import type { Target, TargetCall } from '../tools/target.ts';
import { unknownTarget } from '../tools/target-edges.ts';
import { costWith } from './cost.ts';
import type { InternalDeps } from './internal/definition.ts';
import { notAllowed } from './internal/internal-actions.ts';
import type { PreparedAgent } from './prepare-agent.ts';
import type { Reviews } from './reviews/create-reviews.ts';
import type { SessionLog } from './session-log.ts';

/** What a session calls targets with. */
export interface Performer {
  readonly prepared: PreparedAgent;
  readonly log: SessionLog;
  view(): JsonObject;
  readonly reviews: Pick<Reviews, 'granted'>;
  readonly crashPoint: ((name: string) => void) | undefined;
  /** The internal actions, bound when the first is called: most sessions call none. */
  internal: Map<string, Target> | undefined;
  /** What was noted on the log, so that it is once. */
  noted: Set<string> | undefined;
  traits(action: DeclaredAction): Target | undefined;
  unknownTarget(action: DeclaredAction): RuntimeError;
  runChild(call: PerformCall): Promise<Json>;
  runWorkflow(call: PerformCall): Promise<Json>;
  internalDeps(): InternalDeps;
}

const faceOf = ({ prepared, log }: Performer) => prepared.face(log.state.led === true);

function internalOf(performer: Performer): ReadonlyMap<string, Target> {
  if (performer.internal === undefined) {
    const deps = performer.internalDeps();
    const { internal } = faceOf(performer);
    performer.internal = new Map(internal.map((action) => [action.name, action.bind(deps)]));
  }
  return performer.internal;
}

export const findTarget = (performer: Performer, { kind, name }: DeclaredAction): Target | undefined =>
  kind === 'internal' ? internalOf(performer).get(name) : performer.prepared.targets.find(kind, name);

/** All that the session's actions can call. */
export const callableTargets = (performer: Performer): readonly Target[] => [
  ...performer.prepared.targets.all,
  ...internalOf(performer).values(),
];

export function noSuchTarget(performer: Performer, { kind, name }: DeclaredAction): RuntimeError {
  const { agent, targets } = performer.prepared;
  const blocked = kind === 'internal' ? notAllowed(name, agent.manifest) : undefined;
  if (blocked !== undefined) return blocked;
  const { calls } = faceOf(performer);
  if (calls !== undefined) {
    const { offered: listed, style } = calls;
    const all = style.names.natives.map((native) => ({ kind: 'tool' as const, name: native }));
    return unknownTarget('tool', name, { all, listed });
  }
  return unknownTarget(kind, name, { all: [...targets.all, ...internalOf(performer).values()] });
}

export function performAction(performer: Performer, call: PerformCall): Promise<Json> {
  const { prepared, log, crashPoint } = performer;
  const { action, attempt } = call;
  const target = performer.traits(action);
  if (target === undefined) return Promise.reject(performer.unknownTarget(action));
  const cost = prepared.agent.manifest.budget?.costs.action ?? 0;
  const { balance } = log.state;
  if (cost > 0 && attempt === 1 && balance !== undefined)
    log.append({ type: 'budget.charged', what: 'action', amount: cost, balance: balance - cost });
  crashPoint?.(`perform:${action.id}`);
  const start = (grants?: readonly string[]) =>
    target.kind === 'agent'
      ? performer.runChild(call)
      : target.kind === 'workflow'
        ? performer.runWorkflow(call)
        : target.run(toTargetCall(performer, call, grants));
  const leave = performer.reviews.granted(call);
  const running = leave === undefined ? start() : leave.then(start);
  if (crashPoint === undefined) return running;
  return running.finally(() => crashPoint(`performed:${action.id}`));
}

function note(performer: Performer, what: string): void {
  performer.noted ??= new Set();
  if (performer.noted.has(what)) return;
  performer.noted.add(what);
  performer.log.append({ type: 'audit', who: 'runtime', what });
}

function toTargetCall(
  performer: Performer,
  { action: { id }, input, attempt, signal }: PerformCall,
  granted: readonly string[] | undefined,
): TargetCall {
  const { log } = performer;
  const { id: session } = log.state;
  return {
    session,
    id,
    input,
    attempt,
    signal,
    idempotencyKey: `${session}:${id}`,
    granted,
    agent: () => performer.view(),
    note: (what) => note(performer, what),
    charge(usage, model) {
      const data = { action: id, model: model.id, ...usage, cost_usd: costWith(model, usage) };
      log.append({ type: 'custom', name: LLM_USAGE, data });
    },
    progress(data) {
      if (log.watched) log.show({ type: 'action.progress', session, turn: log.state.turn, id, data });
    },
  };
}
