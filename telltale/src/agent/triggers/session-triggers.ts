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

/** The triggers of a session. They start workflows in the background, which nobody waits for. */
export interface SessionTriggers {
  /** Continues open firings after the session was resumed. Call it once, before the first turn. */
  begin(): void;
  /** Called before `session.completed`. Firings that wait for a time fire now. */
  end(): void;
  /** Disarms timers and drops open questions. Waiting firings continue when the session is resumed. */
  close(): void;
}

export interface SessionTriggerDeps {
  readonly triggers: CompiledTriggers;
  readonly log: Pick<SessionLog, 'state' | 'append' | 'committed' | 'react' | 'here'>;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** The values that tests on events can read: `agent` and `actions`. */
  readonly testContext: () => Readonly<Record<string, unknown>>;
  readonly invoke?: Invoke | undefined;
  /** The context that artifacts get. */
  readonly decisionContext: () => DecisionContext;
  /**
   * Called with each `trigger.fired`, whose commit it has to await, and again for each open run when the
   * session is resumed. A run that exists already is left alone.
   */
  readonly startRun: (run: StartedRun) => void;
  /** Cancels a run, which may have ended already. */
  readonly cancelRun: (run: string, reason: string) => void;
}

/** Only created for agents that have triggers. */
export function createSessionTriggers(deps: SessionTriggerDeps): SessionTriggers {
  const { triggers, log, clock } = deps;
  const { state } = log;
  const chains = createChains(state.runs);
  const problems = new Map<string, string>();
  let inHand: SessionEvent | undefined;

  const now = { metadata: { ...state.metadata }, vars: valuesOf(state.variables) };
  /** Reports a test that cannot be evaluated once, and again if the reason changes. */
  const onProblem = (id: string, message: string | undefined) => {
    const known = problems.get(id);
    if (message === undefined) problems.delete(id);
    else problems.set(id, message);
    const trigger = triggers.byId.get(id);
    if (message === undefined || message === known || trigger === undefined) return;
    // Without an event the session is being resumed, and the problem was reported before. A suppression must
    // not cause another one.
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
    } else chains.of(event); // its consequences may fire triggers
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

/** The position of an event, as the cause of its consequences. */
const causeOf = ({ session, seq, cause }: SessionEvent): Cause => ({
  stream: session,
  seq,
  depth: cause.depth + 1,
});

/** The log shows a field without a value and default as null. Here such a field is absent. */
const newMetadata = ({ changes }: EventOf<'metadata.changed'>) =>
  Object.entries(changes).map(([name, { to }]) => [name, to === null ? undefined : to] as const);

const valuesOf = (variables: ReadonlyMap<string, { readonly value: Json }>): Record<string, Json> =>
  Object.fromEntries([...variables].map(([name, { value }]) => [name, value]));

/** The maximum characters of an event field in `${trigger.event.*}`. The log has the whole field. */
const MAX_SHOWN = 16_384;

export interface EventValues {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly vars: Readonly<Record<string, unknown>>;
  /** `agent` and `actions`, computed when a test names them. */
  readonly context: () => Readonly<Record<string, unknown>>;
}

export type EventMatch =
  | { readonly held: boolean; readonly problem?: undefined }
  | { readonly held: false; readonly problem: string };

/** Whether an event of the right type matches the trigger, apart from a question to an artifact. */
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

/** The value of `${trigger.*}` for an event. */
function seenOfEvent({ id, workflow }: SessionTrigger, event: SessionEvent): JsonObject {
  const shown = Object.entries(event).map(([name, value]) => [name, short(value as Json)] as const);
  return { type: 'event', trigger: id, workflow, at: event.at, fields: {}, event: Object.fromEntries(shown) };
}

/**
 * Shortens a value that is too long. An object becomes text, because half of it would be a different object.
 */
function short(value: Json): Json {
  const text = typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : '';
  if (text.length <= MAX_SHOWN) return value;
  const { head, tail, omitted } = cutText(text, MAX_SHOWN);
  return `${head}\n… ${omitted} characters left out …\n${tail}`;
}

/** The event that fired a trigger. */
export interface Origin {
  readonly cause: Cause;
  /** The chain of workflows that led to it. */
  readonly chain: readonly string[];
  /** Whether it reports that another firing was suppressed. */
  readonly isEcho: boolean;
}

/** Why an artifact is asked: an update, a restart (its last answer may be lost), or inherited values. */
export type QuestionReason = 'update' | 'restart' | 'taken over';

export interface ArtifactTestDeps {
  readonly log: Pick<SessionLog, 'state' | 'append'>;
  readonly questions: Questions;
  readonly chains: Chains;
  readonly firings: Pick<Firings, 'suppress'>;
  readonly fireTrigger: (found: TriggerMatch, origin: Origin) => void;
}

/** Tests of triggers that artifacts decide. An answer is written to the log before it counts. */
export interface ArtifactTests {
  ask(found: TriggerMatch, origin: Origin, asking: QuestionReason): void;
  /** The last answer. */
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
      // A question that causes the next one would be asked forever.
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

/** The effect of an answer. Null fires a trigger on events, undefined does nothing. */
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

/** The maximum number of open questions per session. An artifact takes at most 100 ms. */
const MAX_QUESTIONS = 256;

/** Asks artifacts for tests of triggers. Answers arrive in the order of the questions. */
export interface Questions {
  /** Returns false if too many questions are open. */
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
              expected: { type: 'boolean' },
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

/** A trigger that an event has matched. */
export interface TriggerMatch {
  readonly trigger: SessionTrigger;
  /** null for a trigger on events. */
  readonly as: Firing['as'] | null;
  readonly seen: JsonObject;
}

/** Values by name. Undefined means that the value is gone. */
export type NewValues = readonly (readonly [name: string, value: Json | undefined])[];

/**
 * The metadata or variables as of the current event, and the state of their triggers. The session's own state
 * may be ahead of that event.
 */
export interface FieldMirror {
  /** Applies an update. Inherited values fire nothing, but end conditions that no longer hold. */
  update(
    values: NewValues,
    options: { readonly at: number; readonly isTakenOver: boolean },
  ): readonly TriggerMatch[];
  /** Evaluates tests again, because other values that they read have changed. */
  lookAgain(at: number): readonly TriggerMatch[];
  /** Whether the condition of a trigger holds now. */
  holds(trigger: SessionTrigger): boolean;
  /** The value of `${trigger.*}` without a change. */
  seen(trigger: SessionTrigger, at: number): JsonObject;
}

export interface FieldMirrorDeps {
  readonly side: TriggerSide;
  /** The current values, which the mirror changes. */
  readonly now: Record<string, Json>;
  /** Whether there was an update before. */
  readonly begun: boolean;
  /** The values of the other kind: variables for metadata, and the reverse. */
  readonly beyond: Readonly<Record<string, Json>>;
  readonly onProblem: NonNullable<FieldUpdate['onProblem']>;
}

function createFieldMirror({ side, now, begun, beyond, onProblem }: FieldMirrorDeps): FieldMirror {
  /** The values before the update. Only changed values are copied. */
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
