import type { RunJournal } from '../../engine/run-journal.ts';
import type { RunState } from '../../events/run-state.ts';
import type { SessionState } from '../../events/state.ts';
import { usageOf } from '../../events/usage-of.ts';
import type { ErrorJson } from '../../kernel/runtime-error.ts';
import { allSteps } from '../../workflows/all-steps.ts';
import type { Task, TaskReport, TaskWorkers, WorkerCall } from '../../workflows/guided/task.ts';
import type { Lead, Standing } from '../guide/lead.ts';
import { forSession } from '../guide/lead-run.ts';
import { readSession } from '../read-session.ts';
import type { RunWalkEnd } from './drive-run.ts';
import { createLedSession, type LedSession, type LedSessionEdges } from './led-session.ts';
import { wakeLed } from './tell-end.ts';

export interface LedSessionsEdges extends LedSessionEdges {
  readonly journal: RunJournal;
  /** The session that the run leads, where it leads one and this process works on it. */
  readonly bound: () => Lead | undefined;
  /** Called when that session may be here again. */
  readonly claims: Set<() => void>;
}

/** The agents that work on the tasks of a run: each in one session, which goes on from task to task. */
export interface LedSessions extends TaskWorkers {
  /** The walk has ended: so do they, or they wait with it. */
  end(end: RunWalkEnd): Promise<void>;
}

export function createLedSessions(edges: LedSessionsEdges): LedSessions {
  const { journal, realm } = edges;
  const { state } = journal;
  const own = realm.agent.manifest.name;
  const isBound = (agent: string | undefined) =>
    state.origin.leads === true && (agent === undefined || agent === own);
  const live = new Map<string, LedSession>();
  /** Tasks that are over, and those who wait for one to be. */
  const done = new Set<string>();
  const waiting = new Set<() => void>();
  const sessionOf = (agent: string): LedSession => {
    const known = live.get(agent) ?? createLedSession(edges, agent);
    live.set(agent, known);
    return known;
  };

  /** `exchange` gives undefined where the session was released meanwhile: it is repeated once the session is back. */
  const withLead = async (
    task: Task,
    call: WorkerCall,
    exchange: (lead: Lead) => Promise<TaskReport | undefined>,
  ): Promise<TaskReport> => {
    const session = isBound(call.agent) ? undefined : sessionOf(call.agent ?? own);
    for (;;) {
      const lead = session === undefined ? await boundLead(edges, call) : await session.open(task, call);
      if ('error' in lead) return { kind: 'failed', ...lead };
      const goOn = session?.parking(call);
      const withdraw = () => {
        if (!edges.isLetGo()) lead.withdraw(task.key);
      };
      call.signal.addEventListener('abort', withdraw, { once: true });
      try {
        const report = await exchange(lead);
        if (report !== undefined) return report;
      } finally {
        call.signal.removeEventListener('abort', withdraw);
        goOn?.();
      }
    }
  };
  const reported = (task: Task, call: WorkerCall, at: Standing): TaskReport | undefined => {
    if (at.kind === 'ended') return { kind: 'failed', by: at.session, error: at.error };
    if (at.kind !== 'report' || at.task !== task.key) return undefined;
    if (!isBound(call.agent)) tellUsage(journal, call, at);
    return at.report;
  };

  return {
    give: (task, call) =>
      withLead(task, call, async (lead) => {
        for (;;) {
          const at = await lead.standing(call.signal);
          const report = reported(task, call, at);
          if (report !== undefined || at.kind === 'released') return report;
          // An agent has one step in hand: another that is worked on beside it comes first.
          if (at.kind === 'resumed' && at.task === task.key) lead.order({ kind: 'go_on' });
          else if ('task' in at && isOpen(state, at.task, done)) await woken(waiting, 'its agent', call);
          else lead.order({ kind: 'task', task, cause: call.cause });
        }
      }),
    answer: (task, nth, word, call) =>
      withLead(task, call, async (lead) => {
        let at = await lead.standing(call.signal);
        if (at.kind === 'resumed' && at.task === task.key) {
          lead.order({ kind: 'go_on' });
          at = await lead.standing(call.signal);
        }
        const report = reported(task, call, at);
        if (report === undefined) return at.kind === 'released' ? undefined : lost(task);
        // One that has an answer, on the session's log, is not answered again.
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
        for (const step of allSteps(realm.workflow))
          if (step.type === 'task' && !isBound(step.agent)) sessionOf(step.agent ?? own);
      await Promise.all([...live.values()].map((session) => session.end(end)));
    },
  };
}

/** Whether the attempt at a step that a task stands for has not ended. */
function isOpen({ id, steps }: RunState, key: string, done: ReadonlySet<string>): boolean {
  const [, address = '', attempt] = /^(.*)#(\d+)$/s.exec(key.slice(id.length + 1)) ?? [];
  const step = steps.get(address);
  return !done.has(key) && step?.status === 'running' && step.attempts === Number(attempt);
}

/** Resolves when `waiting` is called. Until then there is nothing to do: the run may be let go of. */
function woken(waiting: Set<() => void>, what: string, { park, signal }: WorkerCall): Promise<void> {
  return new Promise((resolve, reject) => {
    const goOn = park(what);
    const leave = () => {
      waiting.delete(wake);
      signal.removeEventListener('abort', stop);
      goOn();
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

/** Nobody else can give it tasks: until its session is worked on here, the run waits. */
async function boundLead(edges: LedSessionsEdges, call: WorkerCall): Promise<Lead> {
  const { bound, claims, journal, runs } = edges;
  const session = journal.state.origin.session?.id ?? '';
  if (bound() === undefined && waitsForRun(await readSession(runs.store, session)))
    await wakeLed(runs.store, journal.state);
  for (;;) {
    const lead = bound();
    if (lead !== undefined) return lead;
    await woken(claims, forSession(session), call);
  }
}

/** Whether a session that waits does so for its run. With a step in hand it waits for people. */
const waitsForRun = ({ status, task }: SessionState): boolean =>
  status === 'waiting' && (task === undefined || task.open !== undefined);

/** What the session has used beyond what the run's log says. */
function tellUsage(
  journal: RunJournal,
  { step, cause }: WorkerCall,
  { report, used }: Extract<Standing, { kind: 'report' }>,
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
