import { evaluateTest } from '../expressions/cel/evaluate.ts';
import { type Expression, parseExpression } from '../expressions/cel/parse-expression.ts';
import { type Condition, type FieldTest, fieldsOf } from '../expressions/maps/conditions.ts';
import { parseConditions } from '../expressions/maps/parse-conditions.ts';
import { RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { WorkflowManifest } from '../manifest/schema/kinds.ts';
import type { Pacing } from './pacing.ts';
import type { Fire, OpaqueTest, StateTrigger } from './state-trigger.ts';
import { createTriggerIndex, type TriggerIndex } from './trigger-index.ts';

export type TriggerManifest = NonNullable<WorkflowManifest['triggers']>[number];
type StateManifest = Extract<TriggerManifest, { readonly type: 'metadata_match' | 'variable_match' }>;
type EventManifest = Extract<TriggerManifest, { readonly type: 'event' }>;

/** A test that an artifact decides, as manifests write it. */
export interface TestQuestion {
  readonly invoke: string;
  readonly method: string;
  readonly args: readonly Json[];
  readonly cache: boolean;
  readonly fallback: boolean;
}

/** A trigger that a session sets off. */
export interface SessionTrigger {
  /** `WORKFLOW#0`. */
  readonly id: string;
  readonly workflow: string;
  readonly type: 'metadata_match' | 'variable_match' | 'event';
  /** Its rank among all: higher priority first, then file order. */
  readonly place: number;
  /** Undefined where it is set off by an event. */
  readonly fire: Fire | undefined;
  readonly cancelsOnExit: boolean;
  readonly pacing: Pacing;
  /** Top-level fields that it names; `all` where that cannot be told. */
  readonly names: readonly string[] | 'all';
  /** The artifact that decides, where one does. */
  readonly question: TestQuestion | undefined;
  /** Where it asks for a change: what has to be so after a wait. */
  readonly afterwards: Condition | undefined;
  /** What is asked of an event. */
  readonly event:
    | { readonly type: string; readonly match?: Condition; readonly test?: Expression }
    | undefined;
}

/** The triggers on metadata, or those on variables. */
export interface TriggerSide {
  readonly index: TriggerIndex;
  /** By their place in the index. */
  readonly indexed: readonly SessionTrigger[];
  readonly placeOf: ReadonlyMap<SessionTrigger, number>;
  readonly asked: readonly SessionTrigger[];
  /** Whether one of them has to hear of updates that change nothing. */
  readonly hearsEach: boolean;
}

/** All triggers that a session of an agent can set off: made once for all its sessions. */
export interface CompiledTriggers {
  readonly all: readonly SessionTrigger[];
  readonly byId: ReadonlyMap<string, SessionTrigger>;
  readonly metadata: TriggerSide;
  readonly vars: TriggerSide;
  readonly byEvent: ReadonlyMap<string, readonly SessionTrigger[]>;
}

/** The triggers as their manifest has them, with their names. */
export const triggersOf = ({
  name,
  trigger,
  triggers,
}: WorkflowManifest): readonly { readonly id: string; readonly manifest: TriggerManifest }[] =>
  (triggers ?? (trigger === undefined ? [] : [trigger])).map((manifest, index) => ({
    id: `${name}#${index}`,
    manifest,
  }));

/** The workflows stand in the order of their files. */
export function compileTriggers(workflows: readonly WorkflowManifest[]): CompiledTriggers {
  const listed = workflows.flatMap((workflow) =>
    triggersOf(workflow).flatMap(({ id, manifest }) =>
      manifest.type === 'metadata_match' || manifest.type === 'variable_match' || manifest.type === 'event'
        ? [{ id, manifest, workflow: workflow.name }]
        : [],
    ),
  );
  listed.sort((a, b) => b.manifest.priority - a.manifest.priority);
  const states: Record<TestSide, { trigger: SessionTrigger; state: StateTrigger }[]> = {
    metadata: [],
    vars: [],
  };
  const all = listed.map(({ id, manifest, workflow }, place): SessionTrigger => {
    const named = { id, workflow, place };
    if (manifest.type === 'event') return eventTrigger(named, manifest);
    const side = manifest.type === 'metadata_match' ? 'metadata' : 'vars';
    const { trigger, state } = stateTrigger(named, manifest, side);
    if (state !== undefined) states[side].push({ trigger, state });
    return trigger;
  });
  const byEvent = new Map<string, SessionTrigger[]>();
  for (const trigger of all) {
    if (trigger.event === undefined) continue;
    byEvent.set(trigger.event.type, [...(byEvent.get(trigger.event.type) ?? []), trigger]);
  }
  const sideOf = (side: TestSide, type: SessionTrigger['type']): TriggerSide => {
    const asked = all.filter((trigger) => trigger.type === type && trigger.question !== undefined);
    return {
      index: createTriggerIndex(states[side].map(({ state }) => state)),
      indexed: states[side].map(({ trigger }) => trigger),
      placeOf: new Map(states[side].map(({ trigger }, place) => [trigger, place])),
      asked,
      hearsEach: asked.length > 0 || states[side].some(({ trigger }) => trigger.fire === 'on_update'),
    };
  };
  return {
    all,
    byId: new Map(all.map((trigger) => [trigger.id, trigger])),
    metadata: sideOf('metadata', 'metadata_match'),
    vars: sideOf('vars', 'variable_match'),
    byEvent,
  };
}

type Named = Pick<SessionTrigger, 'id' | 'workflow' | 'place'>;

function stateTrigger(
  named: Named,
  manifest: StateManifest,
  side: TestSide,
): { readonly trigger: SessionTrigger; readonly state: StateTrigger | undefined } {
  const { test, conditions, match_all: matchAll, fire, cancel_on_exit: cancelsOnExit } = manifest;
  const common = {
    ...named,
    type: manifest.type,
    fire,
    cancelsOnExit: cancelsOnExit && fire !== 'on_exit',
    pacing: pacingOf(manifest, fire === 'once', cancelsOnExit),
    event: undefined,
  };
  const watchesExit = common.cancelsOnExit;
  if (typeof test === 'object')
    return {
      trigger: { ...common, names: 'all', question: test as TestQuestion, afterwards: undefined },
      state: undefined,
    };
  if (test !== undefined) {
    const compiled = compileTest(test, side, named.id);
    return {
      trigger: { ...common, names: compiled.fields, question: undefined, afterwards: undefined },
      state: { test: compiled, fire, watchesExit },
    };
  }
  const condition = readConditions(named.id, conditions ?? {}, matchAll);
  const uses = fieldsOf(condition);
  return {
    trigger: {
      ...common,
      names: [...new Set(uses.map(({ path }) => String(path[0])))],
      question: undefined,
      afterwards: uses.some(({ change }) => change) ? withoutChange(condition) : undefined,
    },
    state: { test: condition, fire, watchesExit },
  };
}

function eventTrigger(named: Named, manifest: EventManifest): SessionTrigger {
  const { event: type, match, test } = manifest;
  return {
    ...named,
    type: 'event',
    fire: undefined,
    cancelsOnExit: false,
    pacing: pacingOf(manifest, false, false),
    names: [],
    question: typeof test === 'object' ? (test as TestQuestion) : undefined,
    afterwards: undefined,
    event: {
      type,
      ...(match === undefined ? {} : { match: readConditions(named.id, match, true) }),
      ...(typeof test === 'string' ? { test: readTest(test) } : {}),
    },
  };
}

function pacingOf(
  { debounce, cooldown, delay, concurrency }: StateManifest | EventManifest,
  isOnce: boolean,
  dropsOnExit: boolean,
): Pacing {
  return {
    isOnce,
    dropsOnExit,
    debounceMs: debounce?.ms ?? 0,
    cooldownMs: cooldown?.ms ?? 0,
    delayMs: delay?.ms ?? 0,
    ...(concurrency === undefined
      ? {}
      : { concurrency: { max: concurrency.max, whenBusy: concurrency.when_busy } }),
  };
}

function readConditions(id: string, conditions: JsonObject, matchAll: boolean): Condition {
  const parsed = parseConditions(conditions, { matchAll });
  if (!parsed.ok) throw unreadableConditions(id, parsed.error[0]?.message ?? '');
  return parsed.value;
}

const unreadableConditions = (id: string, why: string) =>
  new RuntimeError('bad_conditions', `The conditions of the trigger "${id}" cannot be read: ${why}`, {
    hint: 'Check the manifest with "telltale validate".',
  });

const YES: FieldTest = { kind: 'every', tests: [] };
const NO: FieldTest = { kind: 'any_of', tests: [] };

/**
 * The condition without what it asks of a change: holds wherever the values could satisfy it. So it can be told some
 * time after a change whether what it was for is still so: `{ from: A, to: B }` asks for B then.
 */
export const withoutChange = (condition: Condition): Condition => loosen(condition, true);

/** `wants`: whether a part helps the whole by holding; inside a `not` it helps by not holding. */
function loosen(condition: Condition, wants: boolean): Condition {
  switch (condition.kind) {
    case 'all':
    case 'any':
      return { kind: condition.kind, of: condition.of.map((each) => loosen(each, wants)) };
    case 'not':
      return { kind: 'not', of: loosen(condition.of, !wants) };
    case 'field':
      return { ...condition, test: loosenTest(condition.test, wants) };
  }
}

function loosenTest(test: FieldTest, wants: boolean): FieldTest {
  switch (test.kind) {
    case 'changed':
    case 'from':
      return wants ? YES : NO;
    case 'to':
      return wants ? loosenTest(test.test, true) : NO;
    case 'any_of':
    case 'every':
      return { kind: test.kind, tests: test.tests.map((each) => loosenTest(each, wants)) };
    case 'not':
      return { kind: 'not', test: loosenTest(test.test, !wants) };
    case 'inside':
      return { kind: 'inside', condition: loosen(test.condition, wants) };
    case 'equals':
    case 'compare':
    case 'in':
    case 'contains':
    case 'matches':
    case 'exists':
      return test;
  }
}

/** What a test's updates are of; the other of the two is what they hold `beyond`. */
export type TestSide = 'metadata' | 'vars';

type CompileTriggersValues = Readonly<Record<string, unknown>>;

/** Reads a CEL test that the manifest's check has passed. */
export function readTest(source: string): Expression {
  const parsed = parseExpression(source);
  if (!parsed.ok) throw unreadableTest(source, parsed.error.message);
  return parsed.value;
}

/** A CEL test on state. One that cannot be evaluated is false, and says why under the name of its trigger. */
export function compileTest(source: string, side: TestSide, trigger: string): OpaqueTest {
  const expression = readTest(source);
  return {
    kind: 'opaque',
    ...readsOf(expression, side),
    holds({ current, beyond = {}, onProblem }) {
      const metadata = side === 'metadata' ? current : beyond;
      const vars = side === 'metadata' ? beyond : current;
      const held = evaluateTest(expression, contextOf(expression, { metadata, vars }));
      onProblem?.(trigger, held.ok ? undefined : held.error.message);
      return held.ok && held.value;
    },
  };
}

/** The names that `expression` uses, and no others: a bare one is a variable. */
export function contextOf(
  { names }: Expression,
  values: {
    readonly metadata: CompileTriggersValues;
    readonly vars: CompileTriggersValues;
  } & CompileTriggersValues,
): CompileTriggersValues {
  const context: Record<string, unknown> = {};
  for (const { root } of names) {
    if (Object.hasOwn(values, root)) context[root] = values[root];
    else if (Object.hasOwn(values.vars, root)) context[root] = values.vars[root];
  }
  return context;
}

function readsOf(
  { names }: Expression,
  side: TestSide,
): Pick<OpaqueTest, 'fields'> & { readsBeyond: boolean } {
  const fields = new Set<string>();
  let all = false;
  let readsBeyond = false;
  for (const { root, path } of names) {
    const isOther = root === (side === 'metadata' ? 'vars' : 'metadata');
    const isBare = root !== 'vars' && root !== 'metadata';
    if (isOther || (isBare && side === 'metadata')) readsBeyond = true;
    else if (isBare) fields.add(root);
    else if (typeof path[0] === 'string') fields.add(path[0]);
    else all = true;
  }
  return { fields: all ? 'all' : [...fields], readsBeyond };
}

const unreadableTest = (source: string, why: string) =>
  new RuntimeError(
    'bad_expression',
    `The test ${JSON.stringify(source)} of a trigger cannot be read: ${why}`,
    {
      hint: 'Check the manifest with "telltale validate".',
    },
  );
