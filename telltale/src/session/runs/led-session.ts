import { createHash } from 'node:crypto';
import type { RunState } from '../../events/run-state.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { type ErrorJson, RuntimeError } from '../../kernel/runtime-error.ts';
import type { Task, WorkerCall } from '../../workflows/guided/task.ts';
import { MAX_DEPTH, tooDeep } from '../children/child-errors.ts';
import type { Begin, ChildSession, Lineage } from '../children/lineage.ts';
import { createLead, type Lead } from '../guide/lead.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import { readSession } from '../read-session.ts';
import { agentUnknown, lineageOf, ownAgent } from './agent-step.ts';
import type { RunWalkEnd } from './drive-run.ts';
import { groupOfRun } from './group-of-run.ts';
import { leaving, parkWithAgent } from './park-with-agent.ts';
import type { Realm } from './realm.ts';
import type { RunsDeps } from './run-edges.ts';

export interface LedSessionDeps {
  readonly runs: RunsDeps;
  readonly realm: Realm;
  readonly state: RunState;
  readonly isLetGo: () => boolean;
  /** The metadata of the session that the run belongs to, for an agent that inherits it to read. */
  readonly metadata: () => Promise<JsonObject | undefined>;
}

/** The session of an agent that works on tasks of a run. One that has failed is followed by another. */
export interface LedSession {
  /** Where it can be given the task; how it ended, where it ended while it worked on this very one. */
  open(task: Task, call: WorkerCall): Promise<Lead | { readonly by: string; readonly error: ErrorJson }>;
  /** Parks the step for as long as the session only waits for people, until the returned function is called. */
  parking(call: Pick<WorkerCall, 'park'>): () => void;
  end(end: RunWalkEnd): Promise<void>;
}

interface Live {
  readonly id: string;
  readonly lead: Lead;
  readonly child: ChildSession;
}

type Found =
  | { readonly id: string; readonly isNew: boolean }
  | { readonly by: string; readonly error: ErrorJson };

/** Sessions of one agent in one run, each but the last of which has failed. */
const MAX_SESSIONS = 100;

export function createLedSession(deps: LedSessionDeps, name: string): LedSession {
  const { runs, realm, state } = deps;
  const { store, spawn } = runs;
  let live: Live | undefined;

  const begin = (agent: LoadedAgent<unknown>, id: string, isNew: boolean, lineage: Lineage): Live => {
    const lead = createLead({ workflow: realm.workflow, command: realm.prepared.targets.command });
    const model = agent.manifest.model === undefined ? { model: realm.prepared.model } : {};
    const begun: Begin = isNew
      ? { kind: 'start', id, agent, start: { input: openingInput(state, realm), ...model }, lineage, lead }
      : { kind: 'resume', id, agent, resume: model, lineage, lead };
    const child = spawn(begun);
    const close = (error: ErrorJson) => {
      lead.close(id, error);
      if (live?.child === child) live = undefined;
    };
    child.result.then(
      ({ status, error }) => close(error ?? endedAs(name, id, status)),
      (thrown: unknown) => close(asJson(thrown)),
    );
    return { id, lead, child };
  };
  /** The last of its sessions that has not ended; where there is none, the id of the next. */
  const find = async (task: Task | undefined): Promise<Found> => {
    for (let n = 1; n <= MAX_SESSIONS; n++) {
      const id = sessionId(state.id, name, n);
      const info = await store.info(id);
      if (info === undefined || info.head === 0) return { id, isNew: true };
      if (info.status === 'running' || info.status === 'waiting') return { id, isNew: false };
      const ended = await readSession(store, id);
      if (task !== undefined && ended.task?.given.task === task.key)
        return { by: id, error: ended.error ?? endedAs(name, id, ended.status) };
    }
    throw tooMany(name, state.id);
  };
  const agentNamed = (): LoadedAgent<unknown> => {
    const agent = realm.prepared.agents.get(name) ?? ownAgent(realm, name);
    if (agent === undefined) throw agentUnknown(name, [...realm.prepared.agents.keys()]);
    return agent;
  };

  const openNow: LedSession['open'] = async (task, { step, cause, signal }) => {
    if (live !== undefined) return live.lead;
    const agent = agentNamed();
    const { agents } = state.origin;
    if (agents.length > MAX_DEPTH) throw tooDeep([...agents, name]);
    const found = await find(task);
    if ('error' in found) return found;
    const shown = agent.manifest.metadata.inherit === 'none' ? undefined : await deps.metadata();
    signal.throwIfAborted();
    const parent = { session: state.id, action: step, agents };
    live = begin(agent, found.id, found.isNew, lineageOf(parent, groupOfRun(state), cause, shown));
    return live.lead;
  };
  /** Tasks that stand side by side ask at the same time. */
  let last: Promise<unknown> = Promise.resolve();

  return {
    open(task, call) {
      const opened = last.then(() => openNow(task, call));
      last = opened.catch(() => undefined); // whoever asked hears of it
      return opened;
    },
    parking: ({ park }) => (live === undefined ? () => undefined : parkWithAgent(live.child, live.id, park)),
    async end(end) {
      if (live === undefined && end.kind !== 'parked' && end.kind !== 'stopped') {
        const left = await find(undefined);
        if ('error' in left || left.isNew) return;
        if ((await store.info(left.id))?.owner !== undefined) return; // whoever has it hears of it there
        const parent = { session: state.id, action: 'end', agents: state.origin.agents };
        live = begin(
          agentNamed(),
          left.id,
          false,
          lineageOf(parent, groupOfRun(state), state.started, undefined),
        );
      }
      if (live === undefined) return;
      const { lead, child } = live;
      const waits = lead.isWaiting();
      switch (end.kind) {
        case 'completed':
          lead.end({ kind: 'completed', output: end.output });
          break;
        case 'failed':
          lead.end({ kind: 'failed', error: end.error });
          break;
        case 'cancelled':
          if (waits) lead.end({ kind: 'cancelled', reason: end.reason });
          else child.stop({ kind: 'cancel', reason: end.reason, by: 'workflow' });
          break;
        case 'parked':
          if (waits) lead.order({ kind: 'park', for: end.for });
          else child.stop(leaving(child));
          break;
        case 'stopped':
          child.stop(leaving(child));
          break;
      }
      await child.result.catch(() => undefined); // its log says so; the run has an end of its own
    },
  };
}

/** Longer ones are known by their hash. */
const MAX_CHARS = 256;
const HASH_CHARS = 32;

function sessionId(run: string, agent: string, n: number): string {
  const id = `${run}~${agent}${n === 1 ? '' : `~${n}`}`;
  if (id.length <= MAX_CHARS) return id;
  return `ses_${createHash('sha256').update(id).digest('hex').slice(0, HASH_CHARS)}`;
}

/** What it begins with: what the run is for, as far as its starter said, and nothing of how it goes about it. */
function openingInput({ input }: RunState, { workflow }: Realm): string {
  if (typeof input.goal === 'string' && /\S/.test(input.goal)) return input.goal;
  if (Object.keys(input).length > 0) return `What was given: ${JSON.stringify(input)}`;
  return workflow.description ?? 'Work through the steps that you are given, one at a time.';
}

const endedAs = (agent: string, session: string, status: string): ErrorJson => ({
  code: 'agent_ended',
  message: `The agent "${agent}" (${session}) ended as ${status} while it worked on the step.`,
  hint: `To see why: telltale logs ${session}`,
  retryable: false,
});

function asJson(thrown: unknown): ErrorJson {
  if (thrown instanceof RuntimeError) return thrown.toJSON();
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return { code: 'internal', message, retryable: false };
}

const tooMany = (agent: string, run: string) =>
  new RuntimeError(
    'too_many_sessions',
    `${MAX_SESSIONS} sessions of the agent "${agent}" have failed in ${run}.`,
    {
      hint: 'See why the last ones did, and start the workflow again.',
    },
  );
