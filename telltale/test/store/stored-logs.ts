import { encodeEvent } from '../../src/log/codec.ts';
import type { EventBody, SessionEvent } from '../../src/log/event.ts';
import { fold, reduce } from '../../src/log/reduce.ts';
import { encodeRunEvent } from '../../src/log/run-codec.ts';
import type { RunEventBody } from '../../src/log/run-event.ts';
import { createSnapshotWriter } from '../../src/log/snapshot.ts';
import { emptyState } from '../../src/log/state.ts';
import type { Store, StoredSnapshot, StreamHead, StreamWriter } from '../../src/store/store.ts';
import { append } from './appending.ts';

const STARTED: EventBody = {
  type: 'session.started',
  agent: 'coder',
  input: 'Do it',
  model: 'scripted:x',
  manifest: { path: 'agent.yml', hash: 'h' },
};
export const thought = (text: string): EventBody => ({ type: 'thought', text, depth: 0 });
export const COMPLETED: EventBody = { type: 'session.completed', result: 'done' };

/** The log of a session with these events behind its first. */
export function sessionLog(session: string, bodies: readonly EventBody[]): readonly SessionEvent[] {
  const cause = { stream: session, seq: 1, depth: 0 };
  let turn = 0;
  return [STARTED, ...bodies].map((body, at) => {
    if (body.type === 'turn.started') turn++;
    return { ...body, seq: at + 1, at: 1_000 + at, session, turn, cause } as SessionEvent;
  });
}

export const linesOf = (events: readonly SessionEvent[]): readonly string[] =>
  events.map(({ seq, at, session, turn, cause, ...body }) =>
    encodeEvent({ seq, at, session, turn, cause }, body as EventBody),
  );

export interface SessionParts {
  readonly bodies?: readonly EventBody[];
  readonly head?: Partial<StreamHead>;
  /** A snapshot is taken each time so many events have come. */
  readonly every?: number;
}

/** A session as the runtime writes it, still owned. */
export async function putSession(
  store: Store,
  session: string,
  { bodies = [COMPLETED], head = {}, every }: SessionParts = {},
): Promise<StreamWriter> {
  const log = sessionLog(session, bodies);
  const { status } = fold(log);
  const writer = await store.create(session, {
    kind: 'session',
    name: 'coder',
    title: 'Do it',
    status: 'running',
    ...head,
  });
  await append(writer, { expectedSeq: 0, events: linesOf(log), status });
  if (every !== undefined) for (const { seq, body } of snapshotsOf(log, every)) writer.snapshot(seq, body);
  return writer;
}

/** The snapshots of a log, one each time that so many events have come. */
export function snapshotsOf(log: readonly SessionEvent[], every: number): readonly StoredSnapshot[] {
  const state = emptyState();
  const snapshots = createSnapshotWriter();
  return log.flatMap((event) => {
    reduce(state, event);
    snapshots.note(event);
    return snapshots.due() === every ? [{ seq: event.seq, body: snapshots.take(state) }] : [];
  });
}

/** The same, and given up. */
export async function keepSession(store: Store, session: string, parts: SessionParts = {}): Promise<void> {
  await (await putSession(store, session, parts)).release();
}

/** A workflow run that completed, or whatever it is to end with. */
export async function keepRun(
  store: Store,
  run: string,
  head: Partial<StreamHead> = {},
  last: RunEventBody = { type: 'workflow.completed', output: null },
): Promise<void> {
  const bodies: readonly RunEventBody[] = [
    {
      type: 'workflow.started',
      workflow: 'release',
      input: {},
      vars: {},
      manifest: { path: 'agent.yml', hash: 'h', agent: 'coder' },
      origin: { agents: [], chain: ['release'] },
    },
    last,
  ];
  const cause = { stream: run, seq: 1, depth: 0 };
  const lines = bodies.map((body, at) => encodeRunEvent({ seq: at + 1, at: 1_000 + at, run, cause }, body));
  const status = last.type.slice('workflow.'.length);
  const writer = await store.create(run, {
    kind: 'run',
    name: 'release',
    title: '',
    status: 'running',
    ...head,
  });
  const due = last.type === 'workflow.waiting' ? { due: 9_999_999 } : {};
  await append(writer, { expectedSeq: 0, events: lines, status, ...due });
  await writer.release();
}
