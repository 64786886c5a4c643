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

/** What a session calls targets with. The functions below are its methods: they are the scheduler's edges. */
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

export function traits(this: Performer, { kind, name }: DeclaredAction): Target | undefined {
  return kind === 'internal' ? internalOf(this).get(name) : this.prepared.targets.find(kind, name);
}

/** All that the session's actions can call. */
export function callable(this: Performer): readonly Target[] {
  return [...this.prepared.targets.all, ...internalOf(this).values()];
}

export function unknown(this: Performer, { kind, name }: DeclaredAction): RuntimeError {
  const { agent, targets } = this.prepared;
  const blocked = kind === 'internal' ? notAllowed(name, agent.manifest) : undefined;
  if (blocked !== undefined) return blocked;
  const { calls } = faceOf(this);
  if (calls !== undefined) {
    const { offered: listed, style } = calls;
    const all = style.names.natives.map((native) => ({ kind: 'tool' as const, name: native }));
    return unknownTarget('tool', name, { all, listed });
  }
  return unknownTarget(kind, name, { all: [...targets.all, ...internalOf(this).values()] });
}

export function perform(this: Performer, call: PerformCall): Promise<Json> {
  const { prepared, log, crashPoint } = this;
  const { action, attempt } = call;
  const target = this.traits(action);
  if (target === undefined) return Promise.reject(this.unknownTarget(action));
  const cost = prepared.agent.manifest.budget?.costs.action ?? 0;
  const { balance } = log.state;
  if (cost > 0 && attempt === 1 && balance !== undefined)
    log.append({ type: 'budget.charged', what: 'action', amount: cost, balance: balance - cost });
  crashPoint?.(`perform:${action.id}`);
  const start = (grants?: readonly string[]) =>
    target.kind === 'agent'
      ? this.runChild(call)
      : target.kind === 'workflow'
        ? this.runWorkflow(call)
        : target.run(toTargetCall(this, call, grants));
  const leave = this.reviews.granted(call);
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

interface OwnCall extends TargetCall {
  readonly performer: Performer;
}

/**
 * A call begins as a copy of this. As a literal the engine would learn that calls live long, and make them in the old
 * generation, where each that is over keeps its whole session until that is collected: 2 KB a step. Copies are not
 * watched. The same goes for whatever else of a turn outlives it.
 */
const CALL: OwnCall = {
  performer: undefined as never,
  session: '',
  id: '',
  input: {},
  attempt: 1,
  signal: undefined as never,
  idempotencyKey: '',
  granted: undefined,
  agent() {
    return this.performer.view();
  },
  note(what) {
    note(this.performer, what);
  },
  charge(usage, model) {
    const data = { action: this.id, model: model.id, ...usage, cost_usd: costWith(model, usage) };
    this.performer.log.append({ type: 'custom', name: LLM_USAGE, data });
  },
  progress(data) {
    const { session, id } = this;
    const { log } = this.performer;
    if (log.watched) log.show({ type: 'action.progress', session, turn: log.state.turn, id, data });
  },
};

function toTargetCall(
  performer: Performer,
  { action, input, attempt, signal }: PerformCall,
  granted: readonly string[] | undefined,
): OwnCall {
  const { id } = action;
  const { id: session } = performer.log.state;
  const idempotencyKey = `${session}:${id}`;
  return { ...CALL, performer, session, id, input, attempt, signal, idempotencyKey, granted };
}
