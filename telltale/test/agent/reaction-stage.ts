import { createSessionLog } from '../../src/agent/create-session-log.ts';
import { openSession, readEvents } from '../../src/agent/read-session.ts';
import type { SessionLog } from '../../src/agent/session-log.ts';
import { createStop } from '../../src/agent/stop.ts';
import { createSessionTriggers, type SessionTriggers } from '../../src/agent/triggers/session-triggers.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { createLastFront } from '../../src/log/codec.ts';
import type { Cause, EventBody, EventOf, EventType, SessionEvent } from '../../src/log/event.ts';
import { createSnapshotWriter } from '../../src/log/snapshot.ts';
import type { StartedRun } from '../../src/log/state.ts';
import { emptyState } from '../../src/log/state.ts';
import { workflow } from '../../src/manifest/schema/workflow.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { StreamWriter } from '../../src/store/store.ts';
import type { DecisionContext } from '../../src/tools/artifacts/artifacts.ts';
import type { Invoke } from '../../src/tools/artifacts/create-invoke.ts';
import { compileTriggers } from '../../src/triggers/compile-triggers.ts';

/** A workflow with these triggers, as a manifest has it. */
export const workflowOf = (name: string, ...triggers: readonly object[]) =>
  workflow().parse({
    kind: 'Workflow',
    name,
    triggers,
    steps: [{ name: 'tell', type: 'notify', message: 'It began.' }],
  });

export interface StageOptions {
  readonly defaults?: JsonObject;
  readonly vars?: JsonObject;
  readonly balance?: number;
  readonly invoke?: Invoke;
}

/** A session of which there is only the log and what its triggers make of it. Runs are noted, and never begun. */
export async function openStage(
  workflows: readonly ReturnType<typeof workflowOf>[],
  { defaults = {}, vars = {}, balance, invoke }: StageOptions = {},
) {
  const clock = createSimulatedClock();
  const store = createMemoryStore({ clock });
  const triggers = compileTriggers(workflows);
  const started: StartedRun[] = [];
  const cancelled: string[] = [];
  let count = 0;
  let writer: StreamWriter;
  let log: SessionLog;
  let reactions: SessionTriggers;
  const react = () => {
    reactions = createSessionTriggers({
      triggers,
      log,
      clock,
      ids: { next: (prefix) => `${prefix}_${++count}` },
      testContext: () => ({ agent: { iteration_count: log.state.turn }, actions: {} }),
      invoke,
      decisionContext: () => ({ metadata: { ...log.state.metadata } }) as unknown as DecisionContext,
      startRun: (run) =>
        log.committed(run.seq, (error) => {
          if (error === undefined && !started.some((each) => each.run === run.run)) started.push(run);
        }),
      cancelRun: (run, reason) => {
        if (!cancelled.includes(run)) cancelled.push(run);
        if (reason === '') throw new Error('A cancellation without a reason.');
      },
    });
  };
  const deps = { clock, stop: createStop(), front: createLastFront() };
  writer = await store.create('s', { kind: 'session', name: 'a', status: 'running', title: '' });
  log = createSessionLog({ ...deps, writer, state: emptyState(), snapshots: createSnapshotWriter() });
  log.append({
    type: 'session.started',
    agent: 'a',
    input: '',
    manifest: { path: '', hash: '' },
    model: 'none',
    metadata: defaults,
    vars,
    ...(balance === undefined ? {} : { balance }),
  });
  react();
  reactions!.begin();

  const resume = () => log.append({ type: 'session.resumed', by: 'user' }, { stream: 's', seq: 0, depth: 0 });
  const events = async (): Promise<readonly SessionEvent[]> => {
    await log.flushed();
    return readEvents(store, 's');
  };
  return {
    clock,
    started,
    cancelled,
    events,
    append: (body: EventBody, cause?: Cause) => log.append(body, cause),
    state: () => log.state,
    /** Sets metadata as the model does; null unsets. */
    set(values: JsonObject, by = 'model', run?: string) {
      const changes: Record<string, { from: Json; to: Json }> = {};
      for (const [name, to] of Object.entries(values))
        changes[name] = { from: log.state.metadata[name] ?? null, to };
      log.append({ type: 'metadata.changed', changes, by, ...(run === undefined ? {} : { run }) });
    },
    setVariable(name: string, to: Json, by = 'model') {
      const from = log.state.variables.get(name)?.value ?? null;
      log.append({ type: 'variable.changed', name, class: 'runtime', from, to, by });
    },
    emit: (name: string, data: Json = null) => log.append({ type: 'custom', name, data }),
    /** The oldest run ends, or that one. */
    endRun(run = log.state.runs[0]?.run) {
      const found = log.state.runs.find((each) => each.run === run);
      if (found !== undefined)
        log.append({ type: 'workflow.completed', run: found.run, workflow: found.workflow, output: null });
    },
    end: () => reactions.end(),
    resume,
    /** As after a crash: only what is on the log is known. */
    async restart() {
      await log.flushed();
      reactions.close();
      log.seal();
      await writer.release();
      writer = await store.acquire('s');
      log = createSessionLog({ ...deps, writer, ...(await openSession(store, 's')) });
      resume();
      react();
      reactions.begin();
    },
    async all<Type extends EventType>(type: Type): Promise<readonly EventOf<Type>[]> {
      return (await events()).filter((event): event is EventOf<Type> => event.type === type);
    },
    /** The triggers that fired, in order. */
    async fired(): Promise<readonly string[]> {
      return (await events()).flatMap((event) => (event.type === 'trigger.fired' ? [event.trigger] : []));
    },
    /** The triggers that did not, with the reason. */
    async suppressed(): Promise<readonly string[]> {
      return (await events()).flatMap((event) =>
        event.type === 'trigger.suppressed' ? [`${event.trigger} ${event.reason}`] : [],
      );
    },
  };
}

export type Stage = Awaited<ReturnType<typeof openStage>>;
