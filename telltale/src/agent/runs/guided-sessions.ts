import { createHash } from 'node:crypto';
import type { RunJournal } from '../../engine/run-log.ts';
import { type ErrorJson, RuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { usageOf } from '../../log/event.ts';
import type { RunState } from '../../log/run-state.ts';
import type { SessionState } from '../../log/state.ts';
import type { Task, TaskReport, TaskWorkers, WorkerCall } from '../../workflows/guided/task.ts';
import { allSteps } from '../../workflows/machine/composite.ts';
import {
  type Begin,
  type ChildSession,
  type Lineage,
  MAX_DEPTH,
  tooDeep,
} from '../children/child-session.ts';
import { createGuidance, forSession, type Guidance, type GuidanceStanding } from '../guided/guidance.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import { readSession } from '../read-session.ts';
import { agentUnknown, leaving, lineageOf, ownAgent, suspendWithAgent } from './agent-step.ts';
import type { RunEnvironment, RunsDeps } from './run-environment.ts';
import { wakeGuidedSession } from './run-messages.ts';
import type { RunWalkEnd } from './run-registry.ts';
import { groupOfRun } from './run-types.ts';

export interface GuidedSessionsDeps extends GuidedSessionDeps {
  readonly journal: RunJournal;
  /** The session that the run guides, if there is one and this process works on it. */
  readonly bound: () => Guidance | undefined;
  /** Called when that session may have been resumed in this process. */
  readonly wakeListeners: Set<() => void>;
}

/** The agents that work on the tasks of a run. Each has one session for all of its tasks. */
export interface GuidedSessions extends TaskWorkers {
  /** Ends or suspends the sessions together with the walk. */
  end(end: RunWalkEnd): Promise<void>;
}

export function createGuidedSessions(deps: GuidedSessionsDeps): GuidedSessions {
  const { journal, environment } = deps;
  const { state } = journal;
  const own = environment.agent.manifest.name;
  const isBound = (agent: string | undefined) =>
    state.origin.leads === true && (agent === undefined || agent === own);
  const live = new Map<string, GuidedSession>();
  /** Finished tasks, and callbacks that wait for one to finish. */
  const done = new Set<string>();
  const waiting = new Set<() => void>();
  const sessionOf = (agent: string): GuidedSession => {
    const known = live.get(agent) ?? createGuidedSession(deps, agent);
    live.set(agent, known);
    return known;
  };

  /**
   * `exchange` returns undefined if the session was released meanwhile. It is repeated once the session is
   * back.
   */
  const withGuidance = async (
    task: Task,
    call: WorkerCall,
    exchange: (lead: Guidance) => Promise<TaskReport | undefined>,
  ): Promise<TaskReport> => {
    const session = isBound(call.agent) ? undefined : sessionOf(call.agent ?? own);
    for (;;) {
      const lead = session === undefined ? await boundGuidance(deps, call) : await session.open(task, call);
      if ('error' in lead) return { kind: 'failed', ...lead };
      const resume = session?.parking(call);
      const withdraw = () => {
        if (!deps.isReleased()) lead.withdraw(task.key);
      };
      call.signal.addEventListener('abort', withdraw, { once: true });
      try {
        const report = await exchange(lead);
        if (report !== undefined) return report;
      } finally {
        call.signal.removeEventListener('abort', withdraw);
        resume?.();
      }
    }
  };
  const reported = (task: Task, call: WorkerCall, at: GuidanceStanding): TaskReport | undefined => {
    if (at.kind === 'ended') return { kind: 'failed', by: at.session, error: at.error };
    if (at.kind !== 'report' || at.task !== task.key) return undefined;
    if (!isBound(call.agent)) tellUsage(journal, call, at);
    return at.report;
  };

  return {
    give: (task, call) =>
      withGuidance(task, call, async (lead) => {
        for (;;) {
          const at = await lead.standing(call.signal);
          const report = reported(task, call, at);
          if (report !== undefined || at.kind === 'released') return report;
          // An agent works on one step at a time, so another open step comes first.
          if (at.kind === 'resumed' && at.task === task.key) lead.order({ kind: 'go_on' });
          else if ('task' in at && isOpen(state, at.task, done)) await woken(waiting, 'its agent', call);
          else lead.order({ kind: 'task', task, cause: call.cause });
        }
      }),
    answer: (task, nth, word, call) =>
      withGuidance(task, call, async (lead) => {
        let at = await lead.standing(call.signal);
        if (at.kind === 'resumed' && at.task === task.key) {
          lead.order({ kind: 'go_on' });
          at = await lead.standing(call.signal);
        }
        const report = reported(task, call, at);
        if (report === undefined) return at.kind === 'released' ? undefined : lost(task);
        // A report that has an answer on the session's log is not answered again.
        if (!('nth' in report) || report.nth !== nth) return report;
        lead.order({ kind: 'word', task: task.key, nth, word });
        at = await lead.standing(call.signal);
        return at.kind === 'released' ? undefined : (reported(task, call, at) ?? lost(task));
      }),
    done({ key }) {
      done.add(key);
      for (const wake of [...waiting]) wake();
    },
    async end(end) {
      if (end.kind !== 'parked' && end.kind !== 'stopped')
        for (const step of allSteps(environment.workflow))
          if (step.type === 'task' && !isBound(step.agent)) sessionOf(step.agent ?? own);
      await Promise.all([...live.values()].map((session) => session.end(end)));
    },
  };
}

/** Whether the step attempt of a task is still open. */
function isOpen({ id, steps }: RunState, key: string, done: ReadonlySet<string>): boolean {
  const [, address = '', attempt] = /^(.*)#(\d+)$/s.exec(key.slice(id.length + 1)) ?? [];
  const step = steps.get(address);
  return !done.has(key) && step?.status === 'running' && step.attempts === Number(attempt);
}

/** Suspends the step until its callback in `waiting` is called. */
function woken(waiting: Set<() => void>, what: string, { suspend, signal }: WorkerCall): Promise<void> {
  return new Promise((resolve, reject) => {
    const resume = suspend(what);
    const leave = () => {
      waiting.delete(wake);
      signal.removeEventListener('abort', stop);
      resume();
    };
    const wake = () => {
      leave();
      resolve();
    };
    const stop = () => {
      leave();
      reject(signal.reason);
    };
    waiting.add(wake);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
  });
}

/** Waits until the guided session is worked on in this process, because only then can it get tasks. */
async function boundGuidance(deps: GuidedSessionsDeps, call: WorkerCall): Promise<Guidance> {
  const { bound, wakeListeners, journal, runs } = deps;
  const session = journal.state.origin.session?.id ?? '';
  if (bound() === undefined && waitsForRun(await readSession(runs.store, session)))
    await wakeGuidedSession(runs.store, journal.state);
  for (;;) {
    const lead = bound();
    if (lead !== undefined) return lead;
    await woken(wakeListeners, forSession(session), call);
  }
}

/** Whether a waiting session waits for its run. A session with an open step waits for people. */
const waitsForRun = ({ status, task }: SessionState): boolean =>
  status === 'waiting' && (task === undefined || task.open !== undefined);

/** Records the session's usage that is not on the run's log yet. */
function tellUsage(
  journal: RunJournal,
  { step, cause }: WorkerCall,
  { report, used }: Extract<GuidanceStanding, { kind: 'report' }>,
): void {
  const known = journal.state.ledUsage.get(report.by) ?? { input: 0, output: 0, cost_usd: 0 };
  const input = used.input - known.input;
  const output = used.output - known.output;
  if (input <= 0 && output <= 0) return;
  journal.append(
    {
      type: 'model.used',
      step,
      model: used.model,
      usage: usageOf({ ...used, input, output }),
      cost_usd: Math.max(0, used.cost_usd - known.cost_usd),
      worker: report.by,
    },
    cause,
  );
}

const lost = ({ key }: Task): TaskReport => ({ kind: 'failed', by: 'runtime', error: lostTask(key) });

const lostTask = (key: string): ErrorJson => ({
  code: 'task_lost',
  message: `The session that worked on ${key} has gone over to another task.`,
  retryable: true,
});

export interface GuidedSessionDeps {
  readonly runs: RunsDeps;
  readonly environment: RunEnvironment;
  readonly state: RunState;
  readonly isReleased: () => boolean;
  /** The metadata of the run's session, for an agent that inherits it. */
  readonly metadata: () => Promise<JsonObject | undefined>;
}

/** The session of an agent that works on tasks of a run. A failed session is replaced by a new one. */
export interface GuidedSession {
  /** The guidance that takes the task, or the error if the session ended while it worked on this task. */
  open(task: Task, call: WorkerCall): Promise<Guidance | { readonly by: string; readonly error: ErrorJson }>;
  /** Suspends the step while the session only waits for people, until the returned function is called. */
  parking(call: Pick<WorkerCall, 'suspend'>): () => void;
  end(end: RunWalkEnd): Promise<void>;
}

interface LiveGuidedSession {
  readonly id: string;
  readonly lead: Guidance;
  readonly child: ChildSession;
}

type FoundGuidedSession =
  | { readonly id: string; readonly isNew: boolean }
  | { readonly by: string; readonly error: ErrorJson };

/** Sessions of one agent in one run. All but the last have failed. */
const MAX_SESSIONS = 100;

function createGuidedSession(deps: GuidedSessionDeps, name: string): GuidedSession {
  const { runs, environment, state } = deps;
  const { store, spawn } = runs;
  let live: LiveGuidedSession | undefined;

  const begin = (
    agent: LoadedAgent<unknown>,
    id: string,
    isNew: boolean,
    lineage: Lineage,
  ): LiveGuidedSession => {
    const lead = createGuidance({
      workflow: environment.workflow,
      command: environment.prepared.targets.command,
    });
    const model = agent.manifest.model === undefined ? { model: environment.prepared.model } : {};
    const begun: Begin = isNew
      ? {
          kind: 'start',
          id,
          agent,
          start: { input: openingInput(state, environment), ...model },
          lineage,
          lead,
        }
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
  /** The last session that has not ended, or the id of a new one. */
  const find = async (task: Task | undefined): Promise<FoundGuidedSession> => {
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
    const agent = environment.prepared.agents.get(name) ?? ownAgent(environment, name);
    if (agent === undefined) throw agentUnknown(name, [...environment.prepared.agents.keys()]);
    return agent;
  };

  const openOne: GuidedSession['open'] = async (task, { step, cause, signal }) => {
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
  /** Parallel tasks open the session one after the other. */
  let last: Promise<unknown> = Promise.resolve();

  return {
    open(task, call) {
      const opened = last.then(() => openOne(task, call));
      last = opened.catch(() => undefined); // the caller gets the error
      return opened;
    },
    parking: ({ suspend }) =>
      live === undefined ? () => undefined : suspendWithAgent(live.child, live.id, suspend),
    async end(end) {
      if (live === undefined && end.kind !== 'parked' && end.kind !== 'stopped') {
        const left = await find(undefined);
        if ('error' in left || left.isNew) return;
        if ((await store.info(left.id))?.owner !== undefined) return; // its owner is notified
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
      await child.result.catch(() => undefined); // the failure is on the session's log
    },
  };
}

/** Longer ids are replaced by their hash. */
const MAX_CHARS = 256;
const HASH_CHARS = 32;

function sessionId(run: string, agent: string, n: number): string {
  const id = `${run}~${agent}${n === 1 ? '' : `~${n}`}`;
  if (id.length <= MAX_CHARS) return id;
  return `ses_${createHash('sha256').update(id).digest('hex').slice(0, HASH_CHARS)}`;
}

/** The input of the session: the goal of the run, without the procedure. */
function openingInput({ input }: RunState, { workflow }: RunEnvironment): string {
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
