import { toRuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Cause } from '../../log/event.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { LoopEnd } from '../loop.ts';
import type { PreparedAgent } from '../prepare-agent.ts';
import type { Runs } from '../runs/create-runs.ts';
import { workflowUnknown } from '../runs/find-workflow.ts';
import { RUN_CANCELLED } from '../runs/run-errors.ts';
import type { SessionLog } from '../session-log.ts';
import { isReleased, type Stop } from '../stop.ts';
import { createGuidance, forSession, type Guidance, leadRun } from './guidance.ts';

export interface OwnGuidanceDeps {
  readonly runs: Runs;
  readonly prepared: PreparedAgent;
  readonly log: SessionLog;
  readonly stop: Stop;
  readonly origin: Cause;
  /** Keeps the session in this process while its run waits. */
  readonly hold: boolean;
}

/** The run that leads every session of an agent with `workflow: NAME`. */
export interface OwnGuidance {
  readonly lead: Guidance;
  /** The session's loop has ended; resolves when the run has, or is let go of. */
  close(end: LoopEnd): Promise<void>;
}

export async function openOwnGuidance(deps: OwnGuidanceDeps, name: string): Promise<OwnGuidance> {
  const { runs, prepared, log, stop } = deps;
  const { state } = log;
  const { agent } = prepared;
  const workflow = prepared.workflows.get(name);
  if (workflow === undefined) throw workflowUnknown(agent, name, [...prepared.workflows.keys()]);
  const lead = createGuidance();
  const run = leadRun(state.id);
  // A session that was forked has a task of the other one's run in hand.
  const { task } = state;
  if (task !== undefined && !task.given.task.startsWith(`${run}:`)) lead.withdraw(task.given.task);
  const over = new AbortController();
  let letGo = false;
  const model = prepared.model.id === agent.manifest.model ? undefined : prepared.model;
  await log.flushed(); // a run that nobody remembers would be lost
  runs.leads.set(state.id, lead);
  const forget = stop.onStop(() => over.abort(reasonOf(stop)));
  /** Where the run's end stands; undefined where that cannot be read. */
  const ended = () =>
    runs.state(run).then(
      (read) => read.ended,
      () => undefined,
    );
  const called = runs
    .call({
      id: run,
      workflow,
      signal: over.signal,
      cause: deps.origin,
      agentSource: { agent, model, ofSession: true },
      input: inputOf(workflow, state.input),
      balance: state.balance,
      origin: {
        session: { id: state.id, seq: state.seq },
        leads: true,
        chain: [name],
        agents: [...(state.parent?.agents ?? []), state.agent],
      },
      isReleased: () => letGo || isReleased(stop),
      onWaiting({ for: what }) {
        // It was at work before this session was here, and did not find it.
        if (what.includes(forSession(state.id))) runs.wakeCalled(run);
        else if (!deps.hold && stop.reason === undefined) lead.park(what);
        return lead.unpark;
      },
    })
    .then(
      async (output) => lead.end({ kind: 'completed', output, cause: await ended() }),
      async (thrown: unknown) => {
        const error = toRuntimeError(thrown);
        if (error.code === RUN_CANCELLED) lead.end({ kind: 'cancelled', reason: error.message });
        else lead.end({ kind: 'failed', error: error.toJSON(), cause: await ended() });
      },
    );
  return {
    lead,
    async close(end) {
      // It stays where it is: a session that is resumed, perhaps by another process, goes on with it.
      if (end.kind === 'failed' || end.kind === 'stalled') {
        letGo = true;
        runs.release(run);
        over.abort(end.error);
      } else if (stop.reason?.kind === 'interrupt' || stop.reason?.kind === 'lost') runs.release(run);
      await called;
      forget();
      if (stop.reason?.kind === 'wait') await log.flushed().catch(() => undefined); // `lost` knows why
      runs.leads.delete(state.id);
      // The run must not wait for this lead any more: the session is resumed with another one.
      if (stop.reason?.kind === 'wait') lead.release();
    },
  };
}

/** A workflow that says what it takes is given an object where the input is one; else the input is its `goal`. */
function inputOf({ input: schema }: WorkflowManifest, text: string): JsonObject {
  if (schema !== undefined && /^\s*\{/.test(text)) {
    try {
      return JSON.parse(text) as JsonObject;
    } catch {
      // It is text that begins with a brace.
    }
  }
  return { goal: text };
}

function reasonOf({ reason }: Stop): unknown {
  if (reason === undefined) return undefined;
  return 'error' in reason ? reason.error : reason.kind === 'cancel' ? reason.reason : reason.kind;
}
