import { evaluateTest } from '../../expressions/cel/evaluate.ts';
import { matches } from '../../expressions/maps/conditions.ts';
import { deepEqual } from '../../expressions/values.ts';
import type { InvokeRecord } from '../../lib/calls.ts';
import type { Clock } from '../../lib/clock.ts';
import type { IdSource } from '../../lib/ids.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { Cause, EventOf, SessionEvent } from '../../log/event.ts';
import { TRIGGER_QUESTION } from '../../log/fold-runs.ts';
import { SEED_WRITER } from '../../log/fold-values.ts';
import type { StartedRun } from '../../log/state.ts';
import { cutText } from '../../prompt/text.ts';
import type { DecisionContext } from '../../tools/artifacts/artifacts.ts';
import type { Invoke } from '../../tools/artifacts/create-invoke.ts';
import {
  type CompiledTriggers,
  contextOf,
  type SessionTrigger,
  type TestQuestion,
  type TriggerSide,
} from '../../triggers/compile-triggers.ts';
import { holdsNow, lookAgain, matchTriggers, restoreTriggerStand } from '../../triggers/match-triggers.ts';
import { MAX_CHAIN } from '../../triggers/pacing.ts';
import type { FieldUpdate, Firing } from '../../triggers/state-trigger.ts';
import type { SessionLog } from '../session-log.ts';
import { type Chains, createChains, createFirings, type Firings } from './firings.ts';

/** What a session's events set off. Nobody waits for any of it. */
export interface SessionTriggers {
  /** Goes on with what was under way when the session was let go of. Once, before its first turn. */
  begin(): void;
  /** Called before `session.completed`: firings that wait for a time fire now, since quiet is certain. */
  end(): void;
  /** Disarms timers and drops open questions; what waits goes on when the session is taken up again. */
  close(): void;
}

export interface SessionTriggerDeps {
  readonly triggers: CompiledTriggers;
  readonly log: Pick<SessionLog, 'state' | 'append' | 'committed' | 'react' | 'here'>;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** What tests on events read: `agent` and `actions`. */
  readonly testContext: () => Readonly<Record<string, unknown>>;
  readonly invoke?: Invoke | undefined;
  /** What artifacts are given. */
  readonly decisionContext: () => DecisionContext;
  /**
   * Called with its `trigger.fired`, whose commit it has to wait for, and again for each run that has not ended when a
   * session is taken up: a run that is there already is left alone.
   */
  readonly startRun: (run: StartedRun) => void;
  /** Asks for the end of a run; it may have ended already. */
  readonly cancelRun: (run: string, reason: string) => void;
}

/** Only for an agent that has triggers: others pay nothing. */
export function createSessionTriggers(deps: SessionTriggerDeps): SessionTriggers {
  const { triggers, log, clock } = deps;
  const { state } = log;
  const chains = createChains(state.runs);
  const problems = new Map<string, string>();
  let inHand: SessionEvent | undefined;

  const now = { metadata: { ...state.metadata }, vars: valuesOf(state.variables) };
  /** A test that cannot be evaluated is told of once, and again if the reason is another. */
  const onProblem = (id: string, message: string | undefined) => {
    const known = problems.get(id);
    if (message === undefined) problems.delete(id);
    else problems.set(id, message);
    const trigger = triggers.byId.get(id);
    if (message === undefined || message === known || trigger === undefined) return;
    // Without an event the session is taken up, and it was told of before. Of a suppression none may follow each.
    if (inHand === undefined || inHand.type === 'trigger.suppressed') return;
    const why = `The test of "${id}" cannot be evaluated, so it is false: ${message}`;
    firings.suppress(trigger, 'test', why, originOf(inHand));
  };
  const metadata = createFieldMirror({
    side: triggers.metadata,
    now: now.metadata,
    begun: state.metadataUpdates > 0,
    beyond: now.vars,
    onProblem,
  });
  const vars = createFieldMirror({
    side: triggers.vars,
    now: now.vars,
    begun: state.variableUpdates > 0,
    beyond: now.metadata,
    onProblem,
  });
  const mirrorOf = ({ type }: SessionTrigger) => (type === 'metadata_match' ? metadata : vars);
  const holds = (trigger: SessionTrigger): boolean => {
    if (trigger.fire === undefined) return true;
    return trigger.question === undefined ? mirrorOf(trigger).holds(trigger) : tests.held(trigger);
  };
  const firings = createFirings({ ...deps, chains, holds });
  const questions = createQuestions({ invoke: deps.invoke, context: deps.decisionContext });

  const fireTrigger = ({ trigger, as, seen }: TriggerMatch, { cause, chain, isEcho }: Origin) => {
    if (as === 'exit' && trigger.cancelsOnExit) firings.cancelRuns(trigger);
    else
      firings.attempt({
        trigger,
        stage: 'begun',
        as,
        seen,
        chain: [...chain, trigger.workflow],
        cause,
        isEcho,
      });
  };
  const tests = createArtifactTests({ log, questions, chains, firings, fireTrigger });
  const originOf = (event: SessionEvent): Origin => ({
    cause: causeOf(event),
    chain: chains.of(event),
    isEcho: event.type === 'trigger.suppressed',
  });

  const changed = (event: EventOf<'metadata.changed' | 'variable.changed'>): readonly TriggerMatch[] => {
    const isMetadata = event.type === 'metadata.changed';
    const [mirror, other] = isMetadata ? [metadata, vars] : [vars, metadata];
    const isTakenOver = event.by === SEED_WRITER;
    const found = [
      ...mirror.update(isMetadata ? newMetadata(event) : [[event.name, event.to]], {
        at: event.at,
        isTakenOver,
      }),
      ...other.lookAgain(event.at),
    ];
    const { asked } = isMetadata ? triggers.metadata : triggers.vars;
    const hasBegun = (isMetadata ? state.metadataUpdates : state.variableUpdates) > 0;
    if (hasBegun)
      for (const trigger of asked)
        tests.ask(
          { trigger, as: 'stay', seen: mirror.seen(trigger, event.at) },
          originOf(event),
          isTakenOver ? 'taken over' : 'update',
        );
    return found;
  };

  const events = (event: SessionEvent): readonly TriggerMatch[] =>
    (triggers.byEvent.get(event.type) ?? []).flatMap((trigger) => {
      const values = { ...now, context: deps.testContext };
      const { held, problem } = matchEvent(trigger, event, values);
      onProblem(trigger.id, problem);
      return held ? [{ trigger, as: null, seen: seenOfEvent(trigger, event) }] : [];
    });

  const react = (event: SessionEvent) => {
    inHand = event;
    const found: TriggerMatch[] = [];
    const isUpdate = event.type === 'metadata.changed' || event.type === 'variable.changed';
    if (isUpdate) found.push(...changed(event));
    if (isEndOfRun(event)) firings.ended(event.run, event.workflow);
    if (triggers.byEvent.size > 0) found.push(...events(event));
    if (found.length > 0) {
      found.sort((a, b) => a.trigger.place - b.trigger.place);
      const origin = originOf(event);
      for (const each of found)
        if (each.as === null && each.trigger.question !== undefined) tests.ask(each, origin, 'update');
        else fireTrigger(each, origin);
    } else chains.of(event); // what follows from it may set something off
    if (isUpdate) firings.cancelLeft();
    if (isEndOfRun(event)) chains.ended(event.run);
    inHand = undefined;
  };
  log.react(react);

  return {
    begin() {
      firings.begin();
      const origin = { cause: log.here(), chain: [], isEcho: false };
      for (const [{ asked }, mirror, updates] of [
        [triggers.metadata, metadata, state.metadataUpdates],
        [triggers.vars, vars, state.variableUpdates],
      ] as const)
        if (updates > 0)
          for (const trigger of asked)
            tests.ask({ trigger, as: 'stay', seen: mirror.seen(trigger, clock.now()) }, origin, 'restart');
    },
    end: firings.end,
    close() {
      firings.close();
      questions.close();
    },
  };
}

type EndOfRun = EventOf<'workflow.completed' | 'workflow.failed' | 'workflow.cancelled'>;

const isEndOfRun = (event: SessionEvent): event is EndOfRun =>
  event.type === 'workflow.completed' ||
  event.type === 'workflow.failed' ||
  event.type === 'workflow.cancelled';

/** The place of an event, for what it brings about. */
const causeOf = ({ session, seq, cause }: SessionEvent): Cause => ({
  stream: session,
  seq,
  depth: cause.depth + 1,
});

/** A field that is not set and has no default is absent; on the log that is null. */
const newMetadata = ({ changes }: EventOf<'metadata.changed'>) =>
  Object.entries(changes).map(([name, { to }]) => [name, to === null ? undefined : to] as const);

const valuesOf = (variables: ReadonlyMap<string, { readonly value: Json }>): Record<string, Json> =>
  Object.fromEntries([...variables].map(([name, { value }]) => [name, value]));

/** Characters of one field of an event that `${trigger.event.*}` shows; the whole is on the log. */
const MAX_SHOWN = 16_384;

export interface EventValues {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly vars: Readonly<Record<string, unknown>>;
  /** `agent` and `actions`, made where a test names them. */
  readonly context: () => Readonly<Record<string, unknown>>;
}

export type EventMatch =
  | { readonly held: boolean; readonly problem?: undefined }
  | { readonly held: false; readonly problem: string };

/** Whether an event of the right type is one that the trigger asks for; the question to an artifact aside. */
function matchEvent({ event: wanted }: SessionTrigger, event: SessionEvent, values: EventValues): EventMatch {
  if (wanted?.match !== undefined) {
    const fields = { ...event };
    return { held: matches(wanted.match, { current: fields, previous: fields }) };
  }
  if (wanted?.test === undefined) return { held: true };
  const { context, ...mirrors } = values;
  const known = Object.defineProperties({ event, ...mirrors }, lazily(context, ['agent', 'actions']));
  const held = evaluateTest(wanted.test, contextOf(wanted.test, known));
  return held.ok ? { held: held.value } : { held: false, problem: held.error.message };
}

const lazily = (context: () => Readonly<Record<string, unknown>>, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, { enumerable: true, get: () => context()[name] }]));

/** What `${trigger.*}` shows of an event. */
function seenOfEvent({ id, workflow }: SessionTrigger, event: SessionEvent): JsonObject {
  const shown = Object.entries(event).map(([name, value]) => [name, short(value as Json)] as const);
  return { type: 'event', trigger: id, workflow, at: event.at, fields: {}, event: Object.fromEntries(shown) };
}

/** A value that is too long is text from there on: half an object would be another one. */
function short(value: Json): Json {
  const text = typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : '';
  if (text.length <= MAX_SHOWN) return value;
  const { head, tail, omitted } = cutText(text, MAX_SHOWN);
  return `${head}\n… ${omitted} characters left out …\n${tail}`;
}

/** The event that set something off, for what follows from it. */
export interface Origin {
  readonly cause: Cause;
  /** The workflows that led to it. */
  readonly chain: readonly string[];
  /** Whether it says of another firing that it was suppressed. */
  readonly isEcho: boolean;
}

/** Why an artifact is asked: an update, a restart (its last answer may be lost), or values taken over from others. */
export type QuestionReason = 'update' | 'restart' | 'taken over';

export interface ArtifactTestDeps {
  readonly log: Pick<SessionLog, 'state' | 'append'>;
  readonly questions: Questions;
  readonly chains: Chains;
  readonly firings: Pick<Firings, 'suppress'>;
  readonly fireTrigger: (found: TriggerMatch, origin: Origin) => void;
}

/** Tests of triggers that artifacts decide: the answer is put on the log before it counts. */
export interface ArtifactTests {
  ask(found: TriggerMatch, origin: Origin, asking: QuestionReason): void;
  /** What was answered last. */
  held(trigger: SessionTrigger): boolean;
}

function createArtifactTests({
  log,
  questions,
  chains,
  firings,
  fireTrigger,
}: ArtifactTestDeps): ArtifactTests {
  const { state } = log;
  const held = ({ id }: SessionTrigger) =>
    state.triggers.find(({ trigger }) => trigger === id)?.held === true;
  const charge = ({ cost }: InvokeRecord, cause: Cause) => {
    if (cost === 0 || state.balance === undefined) return;
    log.append(
      { type: 'budget.charged', what: 'artifact', amount: cost, balance: state.balance - cost },
      cause,
    );
  };
  return {
    held,
    ask(found, origin, asking) {
      const { trigger } = found;
      const chain = [...origin.chain, trigger.workflow];
      // Whose question sets off the next one would be asked for ever.
      if (trigger.fire === undefined && chain.length > MAX_CHAIN) {
        fireTrigger(found, origin);
        return;
      }
      const isAsked = questions.ask(trigger, (record) => {
        const was = held(trigger);
        chains.note(state.seq + 1, chain);
        const cause = log.append({ type: 'invoke', ...record }, origin.cause);
        charge(record, cause);
        const as = answered(trigger, was, record.result === true, asking);
        if (as === undefined) return;
        const seen = as === null ? found.seen : { ...found.seen, as };
        fireTrigger({ trigger, as, seen }, { ...origin, cause });
      });
      if (!isAsked)
        firings.suppress(
          trigger,
          'busy',
          `${MAX_QUESTIONS} questions to artifacts are open already.`,
          origin,
        );
    },
  };
}

/** What an answer makes a trigger do: null for one on events; undefined for nothing. */
function answered(
  { fire, cancelsOnExit }: SessionTrigger,
  was: boolean,
  is: boolean,
  asking: QuestionReason,
): TriggerMatch['as'] | undefined {
  if (fire === undefined) return is ? null : undefined;
  if (was && !is && cancelsOnExit) return 'exit';
  if (asking === 'taken over') return undefined;
  if (was && !is) return fire === 'on_exit' ? 'exit' : undefined;
  if (is && !was) return fire === 'on_exit' ? undefined : 'enter';
  return is && asking === 'update' && (fire === 'on_update' || fire === 'on_change') ? 'stay' : undefined;
}

/** Questions of one session that have no answer yet. An artifact takes 100 ms at most. */
const MAX_QUESTIONS = 256;

/** Asks artifacts for the tests of triggers. Answers come in the order of the questions. */
export interface Questions {
  /** False where too many are open. */
  ask(trigger: SessionTrigger, then: (record: InvokeRecord) => void): boolean;
  close(): void;
}

export interface QuestionDeps {
  readonly invoke: Invoke | undefined;
  readonly context: () => DecisionContext;
}

interface PendingQuestion {
  readonly then: (record: InvokeRecord) => void;
  record: InvokeRecord | undefined;
}

function createQuestions({ invoke, context }: QuestionDeps): Questions {
  const open: PendingQuestion[] = [];
  const closing = new AbortController();
  const settle = () => {
    for (let first = open[0]; first?.record !== undefined && !closing.signal.aborted; first = open[0]) {
      open.shift();
      first.then(first.record);
    }
  };
  return {
    ask({ id, question }, then) {
      if (question === undefined || open.length >= MAX_QUESTIONS) return false;
      const asked: PendingQuestion = { then, record: undefined };
      open.push(asked);
      const where = `${TRIGGER_QUESTION}${id}`;
      const answer = (record: InvokeRecord) => {
        asked.record = record;
        settle();
      };
      const given =
        invoke === undefined
          ? Promise.resolve(unanswered(where, question, 'No artifacts can be asked here.'))
          : invoke({
              where,
              invocation: question,
              wanted: { type: 'boolean' },
              context: context(),
              signal: closing.signal,
            });
      given.then(answer, (thrown: unknown) => {
        if (!closing.signal.aborted) answer(unanswered(where, question, String(thrown)));
      });
      return true;
    },
    close: () => closing.abort(new Error('The session was released.')),
  };
}

const unanswered = (where: string, question: TestQuestion, message: string): InvokeRecord => ({
  where,
  artifact: question.invoke,
  method: question.method,
  args: question.args,
  result: question.fallback,
  fallback: { reason: 'unavailable', message },
  cached: false,
  ms: 0,
  cost: 0,
});

/** What an event means to a trigger. */
export interface TriggerMatch {
  readonly trigger: SessionTrigger;
  /** null: it is set off by an event. */
  readonly as: Firing['as'] | null;
  readonly seen: JsonObject;
}

/** Values by name; undefined: gone. */
export type NewValues = readonly (readonly [name: string, value: Json | undefined])[];

/**
 * The metadata, or the variables, as of the event in hand, and how the triggers on them stand: the session's state may
 * be further on already.
 */
export interface FieldMirror {
  /** Takes an update. One that is `taken over` from others fires nothing, but ends what holds no longer. */
  update(
    values: NewValues,
    options: { readonly at: number; readonly isTakenOver: boolean },
  ): readonly TriggerMatch[];
  /** Something changed that tests may read beside. */
  lookAgain(at: number): readonly TriggerMatch[];
  /** Whether the condition of a trigger is so now. */
  holds(trigger: SessionTrigger): boolean;
  /** What `${trigger.*}` shows of a trigger while nothing changes. */
  seen(trigger: SessionTrigger, at: number): JsonObject;
}

export interface FieldMirrorDeps {
  readonly side: TriggerSide;
  /** The values: the mirror's own to change. */
  readonly now: Record<string, Json>;
  /** Whether there was an update. */
  readonly begun: boolean;
  /** The values of the other side. */
  readonly beyond: Readonly<Record<string, Json>>;
  readonly onProblem: NonNullable<FieldUpdate['onProblem']>;
}

function createFieldMirror({ side, now, begun, beyond, onProblem }: FieldMirrorDeps): FieldMirror {
  /** Follows `now` behind each update, so that one costs what it changes. */
  const before: Record<string, Json> = { ...now };
  const stand = restoreTriggerStand(side.index, { current: now, begun, beyond, onProblem });
  const put = (into: Record<string, Json>, values: NewValues) => {
    for (const [name, value] of values)
      if (value === undefined) delete into[name];
      else into[name] = value;
  };
  const found = (
    firings: readonly Firing[],
    changed: readonly string[],
    at: number,
  ): readonly TriggerMatch[] =>
    firings.map(({ trigger: place, as }) => {
      const trigger = side.indexed[place] as SessionTrigger;
      return { trigger, as, seen: seenOf(trigger, as, changed, at) };
    });
  const seenOf = (
    { id, type, workflow, names }: SessionTrigger,
    as: Firing['as'],
    changed: readonly string[],
    at: number,
  ): JsonObject => ({
    type,
    trigger: id,
    workflow,
    as,
    at,
    fields: Object.fromEntries(
      (names === 'all' ? changed : names).map((name) => [
        name,
        { from: own(before, name) ?? null, to: own(now, name) ?? null },
      ]),
    ),
  });
  return {
    update(values, { at, isTakenOver }) {
      put(now, values);
      const changed = values.flatMap(([name]) =>
        deepEqual(own(now, name), own(before, name)) ? [] : [name],
      );
      const isQuiet = isTakenOver && !stand.begun;
      const firings = isQuiet
        ? []
        : matchTriggers(stand, { current: now, previous: before, changed, beyond, onProblem });
      const shown = found(
        isTakenOver
          ? firings.filter(({ trigger, as }) => as === 'exit' && side.indexed[trigger]?.cancelsOnExit)
          : firings,
        changed,
        at,
      );
      put(before, values);
      return shown;
    },
    lookAgain: (at) => found(lookAgain(stand, { current: now, beyond, onProblem }), [], at),
    holds(trigger) {
      if (trigger.afterwards !== undefined)
        return matches(trigger.afterwards, { current: now, previous: now });
      const place = side.placeOf.get(trigger);
      return place !== undefined && holdsNow(stand, place);
    },
    seen: (trigger, at) => seenOf(trigger, 'stay', [], at),
  };
}

const own = (values: Readonly<Record<string, Json>>, name: string): Json | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined;
