import type { Cause, EventOf, SessionEvent } from '../../events/event.ts';
import { SEED_WRITER } from '../../events/fold-values.ts';
import type { StartedRun } from '../../events/reaction-state.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { IdSource } from '../../kernel/ids.ts';
import type { Json } from '../../kernel/json.ts';
import type { DecisionContext } from '../../targets/artifacts/artifacts.ts';
import type { Invoke } from '../../targets/artifacts/invoker.ts';
import type { CompiledTriggers, SessionTrigger } from '../../triggers/compile-triggers.ts';
import type { SessionLog } from '../session-log.ts';
import { createArtifactTests, type Origin } from './artifact-tests.ts';
import { createChains } from './chains.ts';
import { matchEvent, seenOfEvent } from './event-match.ts';
import { createFieldMirror, type Found } from './field-mirror.ts';
import { createFirings } from './firings.ts';
import { createQuestions } from './questions.ts';

/** What a session's events set off. Nobody waits for any of it. */
export interface TriggerReactions {
  /** Goes on with what was under way when the session was let go of. Once, before its first turn. */
  begin(): void;
  /** Called before `session.completed`: firings that wait for a time fire now, since quiet is certain. */
  end(): void;
  /** Disarms timers and drops open questions; what waits goes on when the session is taken up again. */
  close(): void;
}

export interface TriggerReactionDeps {
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
export function createTriggerReactions(deps: TriggerReactionDeps): TriggerReactions {
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

  const setOff = ({ trigger, as, seen }: Found, { cause, chain, isEcho }: Origin) => {
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
  const tests = createArtifactTests({ log, questions, chains, firings, setOff });
  const originOf = (event: SessionEvent): Origin => ({
    cause: causeOf(event),
    chain: chains.of(event),
    isEcho: event.type === 'trigger.suppressed',
  });

  const changed = (event: EventOf<'metadata.changed' | 'variable.changed'>): readonly Found[] => {
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

  const events = (event: SessionEvent): readonly Found[] =>
    (triggers.byEvent.get(event.type) ?? []).flatMap((trigger) => {
      const values = { ...now, context: deps.testContext };
      const { held, problem } = matchEvent(trigger, event, values);
      onProblem(trigger.id, problem);
      return held ? [{ trigger, as: null, seen: seenOfEvent(trigger, event) }] : [];
    });

  const react = (event: SessionEvent) => {
    inHand = event;
    const found: Found[] = [];
    const isUpdate = event.type === 'metadata.changed' || event.type === 'variable.changed';
    if (isUpdate) found.push(...changed(event));
    if (isEndOfRun(event)) firings.ended(event.run, event.workflow);
    if (triggers.byEvent.size > 0) found.push(...events(event));
    if (found.length > 0) {
      found.sort((a, b) => a.trigger.place - b.trigger.place);
      const origin = originOf(event);
      for (const each of found)
        if (each.as === null && each.trigger.question !== undefined) tests.ask(each, origin, 'update');
        else setOff(each, origin);
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
