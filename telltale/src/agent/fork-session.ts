import type { Clock } from '../lib/clock.ts';
import { RuntimeError, toRuntimeError } from '../lib/errors.ts';
import { isJsonObject } from '../lib/json.ts';
import { encodeEvent } from '../log/codec.ts';
import type { Cause, EventBody, SessionEvent } from '../log/event.ts';
import { fold } from '../log/reduce.ts';
import { openReviews } from '../log/reviews.ts';
import type { SessionState } from '../log/state.ts';
import type { Store, StreamWriter } from '../store/store.ts';
import { MAX_APPEND_CHARS } from '../store/store-errors.ts';
import { appendCommitted } from '../store/upkeep/append-committed.ts';
import { RESTORING } from '../store/upkeep/upkeep.ts';
import { titleOf } from './begin-stream.ts';
import type { LoadedAgent } from './loaded-agent.ts';
import { eventUnknown } from './log/read-log.ts';
import { readEvents } from './read-session.ts';
import type { ForkOptions } from './runtime-types.ts';

/** The status of one that nobody has begun to work on. */
const BRANCHED_OFF = 'interrupted';

/** What a fork changes, and the agent that its variables are checked against. */
export interface ForkChanges extends Pick<ForkOptions, 'message' | 'model' | 'vars'> {
  readonly agent?: (state: SessionState) => Promise<LoadedAgent<unknown>>;
}

/**
 * Makes a new session whose log begins as the other's did, up to and with `seq`; it can then be resumed. What it changes is
 * on its log from the start, so it counts however often the session is resumed.
 */
export async function forkSession(
  store: Store,
  session: string,
  seq: number,
  id: string,
  clock: Clock,
  changes: ForkChanges = {},
): Promise<string> {
  checkChanges(changes);
  const { message } = changes;
  const model = await fullModel(changes.model);
  const all = await readEvents(store, session);
  const events = all.filter((event) => event.seq <= seq);
  const [first] = events;
  const last = events.at(-1);
  if (first?.type !== 'session.started' || last === undefined || last.seq !== seq)
    throw eventUnknown(session, seq, all.at(-1)?.seq ?? 0);
  const state = fold(events);
  if (state.status === 'completed') throw forkedAtTheEnd(session, seq);
  const isReplaced = message !== undefined && isMessage(last);
  const lines = events.map((event) => {
    const changed = event === last && isReplaced ? withText(event, message) : event;
    return copied(changed, session, id, seq, model);
  });
  const cause: Cause = { stream: session, seq, depth: last.cause.depth + 1 };
  const withModel = model === undefined ? '' : `, with the model ${model}`;
  const forked: EventBody = {
    type: 'audit',
    who: 'fork',
    what: `branched off from ${session} at ${seq}${withModel}`,
  };
  // Its questions are the other session's: this one asks its own.
  const withdrawn = openReviews(state).map(
    ({ review }): EventBody => ({ type: 'review.resolved', review, answer: 'withdrawn', by: 'fork' }),
  );
  // Also the runs under way: one whose stream is not there yet would else be begun by this one.
  const cancelled = state.runs.map(
    ({ run, workflow }): EventBody => ({
      type: 'workflow.cancelled',
      run,
      workflow,
      reason: 'It belongs to the session that this one was forked from.',
    }),
  );
  const given = await givenVariables(state, changes);
  const told: EventBody[] =
    message === undefined || isReplaced
      ? []
      : [{ type: 'message.received', from: state.chat === true ? 'user' : 'steer', text: message }];
  for (const [index, body] of [forked, ...withdrawn, ...cancelled, ...given, ...told].entries())
    lines.push(
      encodeEvent({ seq: seq + 1 + index, at: clock.now(), session: id, turn: last.turn, cause }, body),
    );
  const parts = inParts(lines);
  const { writer, made } = store.begin(id, {
    kind: 'session',
    name: first.agent,
    // Until it is whole nobody can take it: it would answer the other's questions, and end its runs.
    status: parts.length === 1 ? BRANCHED_OFF : RESTORING,
    title: titleOf(last === first && isReplaced ? message : first.input),
  });
  let isMade = false;
  const making = made.then(() => {
    isMade = true;
  });
  try {
    await Promise.all([making, written(writer, parts)]);
  } catch (thrown) {
    throw isMade ? await takenOut(store, writer, toRuntimeError(thrown)) : thrown;
  } finally {
    // Where there is no room for it, letting go is tried again by itself; what is written is there.
    await writer.release().catch(() => undefined);
  }
  return id;
}

/** The same event on the other log: causes in its own stream stay in its own stream. */
function copied(
  event: SessionEvent,
  from: string,
  to: string,
  forkedAt: number,
  model: string | undefined,
): string {
  const { seq, at, session: _, turn, cause, ...body } = event;
  const moved = cause.stream === from ? { ...cause, stream: to } : cause;
  if (body.type !== 'session.started')
    return encodeEvent({ seq, at, session: to, turn, cause: moved }, body as EventBody);
  // A sub-agent's session that is branched off works for nobody.
  const { parent: _parent, ...own } = body;
  const forked = { session: from, seq: forkedAt };
  const started = { ...own, ...(model === undefined ? {} : { model }), forked };
  return encodeEvent({ seq, at, session: to, turn, cause: moved }, started);
}

type ForkSessionMessage = Extract<SessionEvent, { readonly type: 'session.started' | 'message.received' }>;

/** What a person said: the input, or a message of theirs. */
const isMessage = (event: SessionEvent): event is ForkSessionMessage =>
  event.type === 'session.started' ||
  (event.type === 'message.received' && (event.from === 'user' || event.from === 'steer'));

const withText = (event: SessionEvent, text: string): SessionEvent =>
  event.type === 'session.started' ? { ...event, input: text } : ({ ...event, text } as SessionEvent);

/** Throws what cannot be changed to that. */
function checkChanges({ message, vars }: ForkChanges): void {
  if (message !== undefined && (typeof message !== 'string' || message.trim() === ''))
    throw notChanged('message', 'Give a text, or leave it out.');
  if (vars !== undefined && !isJsonObject(vars)) throw notChanged('vars', 'Give an object.');
}

/** The model as a session's log names it, with its provider. */
async function fullModel(model: string | undefined): Promise<string | undefined> {
  if (model === undefined) return undefined;
  const { fullModelRef, isModelRef } = await import('../manifest/schema/model-ref.ts');
  if (typeof model !== 'string' || !isModelRef(model))
    throw notChanged('model', 'Write provider/model (anthropic/claude-sonnet-4-5) or scripted:FILE.');
  return fullModelRef(model);
}

/** The variables that a fork sets, checked as those that are given at a start. */
async function givenVariables(
  state: SessionState,
  { vars = {}, agent }: ForkChanges,
): Promise<readonly EventBody[]> {
  const names = Object.keys(vars);
  if (names.length === 0 || agent === undefined) return [];
  // Loaded by those who set variables: most forks are made by commands that load little.
  const [{ manifest }, { classOf }, { checkGiven }] = await Promise.all([
    agent(state),
    import('./variables/declared-variables.ts'),
    import('./variables/session-variables.ts'),
  ]);
  checkGiven(manifest, vars, 'user');
  return names.map((name) => ({
    type: 'variable.changed',
    name,
    class: classOf(manifest, name) ?? 'runtime',
    by: 'user',
    from: state.variables.get(name)?.value ?? null,
    to: vars[name] ?? null,
  }));
}

const notChanged = (option: string, hint: string) =>
  new RuntimeError('bad_option', `A fork was given a "${option}" that it does not take.`, { hint });

/** One append where the log fits into one, else as many as it takes. */
function inParts(lines: readonly string[]): readonly (readonly string[])[] {
  const parts: (readonly string[])[] = [];
  let from = 0;
  let chars = 0;
  for (const [at, line] of lines.entries()) {
    if (at > from && chars + line.length + 1 > MAX_APPEND_CHARS) {
      parts.push(lines.slice(from, at));
      from = at;
      chars = 0;
    }
    chars += line.length + 1;
  }
  return [...parts, lines.slice(from)];
}

/**
 * In order, and the last one says that the log is whole. The first is queued at once, so that it is in one commit with
 * the stream.
 */
async function written(writer: StreamWriter, parts: readonly (readonly string[])[]): Promise<void> {
  let expectedSeq = 0;
  for (const [at, events] of parts.entries()) {
    const isLast = at > 0 && at === parts.length - 1;
    await appendCommitted(writer, { expectedSeq, events, ...(isLast ? { status: BRANCHED_OFF } : {}) });
    expectedSeq += events.length;
  }
}

/** What to tell of a fork that failed between two parts: no more than that, unless what is written of it stays. */
async function takenOut(store: Store, writer: StreamWriter, failure: RuntimeError): Promise<RuntimeError> {
  try {
    await store.upkeep.remove(writer.stream, writer.epoch);
    return failure;
  } catch {
    return halfForked(writer.stream, failure);
  }
}

const halfForked = (id: string, failure: RuntimeError) =>
  new RuntimeError(failure.code, `${failure.message} An unusable part of the fork is left as ${id}.`, {
    // No command that could be pasted: it would take out other sessions, too.
    hint: `${failure.hint ?? 'Check the store.'} Then fork again. "telltale store prune" deletes the rest when it is old enough.`,
    retryable: failure.retryable,
    cause: failure,
  });

const forkedAtTheEnd = (session: string, seq: number) =>
  new RuntimeError(
    'session_completed',
    `${session} has completed at event ${seq}, so nothing can continue from there.`,
    { hint: 'Fork it from an event before its end.' },
  );
