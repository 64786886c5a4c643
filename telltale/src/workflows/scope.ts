import { evaluate } from '../expressions/cel/evaluate.ts';
import { type Expression, parseExpression } from '../expressions/cel/parse-expression.ts';
import { RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { Cause } from '../log/event.ts';
import { stepName } from '../log/reduce-run.ts';
import type { RunState, StepState } from '../log/run-state.ts';
import type { WorkflowManifest } from '../manifest/schema/kinds.ts';
import { isMap } from '../manifest/schema/plain-values.ts';
import type { DecisionContext } from '../tools/artifacts/artifacts.ts';
import { allSteps } from './machine/composite.ts';
import {
  allThere,
  entry,
  type MemberNames,
  type ReadTemplates,
  readTemplates,
  type Templates,
} from './templates.ts';

export interface ScopeDeps {
  readonly state: RunState;
  readonly workflow: Pick<WorkflowManifest, 'context_variables' | 'steps' | 'states'>;
  readonly session?: Pick<SessionLink, 'agent'> | undefined;
  /** The value of `agent` in a run without a session: name, tools, folder… */
  readonly agentOf?: (() => JsonObject) | undefined;
  readonly read?: ReadTemplates;
}

export interface RunScope extends Scope {
  /** The value of `${agent.*}`, read once per run on first use. */
  agent(): Promise<JsonObject>;
  /** The same, synchronously, in a run without a session. */
  readonly ownAgent: (() => JsonObject) | undefined;
}

export function createScope(deps: ScopeDeps): RunScope {
  const { state, workflow, session, agentOf, read = readTemplates } = deps;
  let reading: Promise<JsonObject> | undefined;
  let own: JsonObject | undefined;
  const ownAgent = (): JsonObject => {
    own ??= Object.freeze(agentOf?.() ?? {});
    return own;
  };
  const agent = (): Promise<JsonObject> => {
    reading ??= readAgent();
    return reading;
  };
  const readAgent = async (): Promise<JsonObject> => {
    try {
      return session === undefined ? ownAgent() : Object.freeze(await session.agent());
    } catch (thrown) {
      reading = undefined; // another attempt may succeed
      throw thrown;
    }
  };

  const variables = createRunVariables(state, workflow, agent);
  const findStep = createStepFinder(state);
  let stepNames: ReadonlySet<string> | undefined;
  const stepViews = (names: MemberNames, asker: string | undefined): JsonObject => {
    stepNames ??= new Set(allSteps(workflow).map(({ name }) => name));
    const wanted = allThere(names, (name) => stepNames?.has(name) === true) ?? [...stepNames];
    return Object.fromEntries(wanted.map((name) => [name, viewOf(findStep(name, asker))]));
  };

  const rootValue = async (
    root: string,
    names: MemberNames,
    asker: string | undefined,
  ): Promise<Json | undefined> => {
    switch (root) {
      case 'agent':
        return agent();
      case 'trigger':
        return state.origin.trigger?.seen ?? {};
      case 'steps':
        return stepViews(names, asker);
      case 'vars':
        return variables.some(names);
      case 'input':
        return state.input;
      case 'run':
        return runView(state);
    }
    return undefined;
  };
  const bareName = async (name: string): Promise<Json | undefined> =>
    name === 'metadata' ? ((await agent()).metadata ?? {}) : variables.named(name);

  return {
    agent,
    ownAgent: session === undefined ? ownAgent : undefined,
    read,
    async forTemplate(source, locals, at) {
      const { roots } = read(source, Object.keys(locals), 'a step');
      const asker = addressOf(at);
      const values: Record<string, Json> = {}; // all roots are reserved names, except those of items
      for (const [root, names] of roots) {
        if (Object.hasOwn(locals, root)) continue;
        const value = await rootValue(root, names, asker);
        if (value !== undefined) values[root] = value;
      }
      return { ...values, ...locals };
    },
    async forTest(roots, locals, at) {
      const asker = addressOf(at);
      const values: [string, Json][] = [];
      for (const root of roots)
        if (!Object.hasOwn(locals, root))
          values.push(...entry(root, (await rootValue(root, undefined, asker)) ?? (await bareName(root))));
      return { ...Object.fromEntries(values), ...locals };
    },
  };
}

/** The address of the step in `ADDRESS:if`. */
function addressOf(at: string | undefined): string | undefined {
  const colon = at?.indexOf(':') ?? -1;
  return colon === -1 ? at : at?.slice(0, colon);
}

/** A step that has not started only has a status. */
function viewOf(step: StepState | undefined): JsonObject {
  if (step === undefined) return { status: 'pending' };
  const { status, output, error } = step;
  return {
    status,
    ...(output === undefined ? {} : { output }),
    ...(error === undefined || status === 'completed'
      ? {}
      : { error: { ...error } as unknown as JsonObject }),
  };
}

function runView({ id, workflow, manifest, startedAt, state, visited, origin }: RunState): JsonObject {
  return {
    id,
    workflow,
    agent: manifest.agent,
    started_at: new Date(startedAt).toISOString(),
    state: state ?? null,
    visits: visited.length,
    session: origin.session?.id ?? null,
    parent: origin.parent?.run ?? null,
  };
}

/**
 * Finds the execution of the step with this name that `asker` sees: in its own round, in the surrounding
 * rounds, or else the latest. `asker` is an address. Without it, the latest of all executions is found.
 */
export type FindStep = (name: string, asker?: string) => StepState | undefined;

/** Indexes each address once, because a run over thousands of items searches in each of them. */
function createStepFinder({ steps }: Pick<RunState, 'steps'>): FindStep {
  const addresses = steps.keys();
  let known = 0;
  /** The latest address for each surrounding round and step name. */
  const latest = new Map<string, string>();

  const catchUp = () => {
    // Stop before the iterator is exhausted, because an exhausted Map iterator does not see later entries.
    for (; known < steps.size; known++) {
      const address: string = addresses.next().value ?? '';
      const name = stepName(address);
      for (const rounds of roundsAround(address)) latest.set(keyOf(rounds, name), address);
    }
  };

  return (name, asker = '') => {
    catchUp();
    for (const rounds of roundsAround(asker)) {
      const address = latest.get(keyOf(rounds, name));
      if (address !== undefined) return steps.get(address);
    }
    return undefined;
  };
}

const keyOf = (rounds: string, name: string) => `${rounds}\n${name}`;

/** `a[1]/b[2]/c` is inside `a[1]/b[2]`, `a[1]` and the run. */
function* roundsAround(address: string): Generator<string> {
  for (let end = address.lastIndexOf('/'); end > 0; end = address.lastIndexOf('/', end - 1))
    yield address.slice(0, end);
  yield '';
}

/**
 * The variables that a run sees. Newest first: values that it has set or declared, or that a step has stored
 * by `output_key`. Then values computed by the workflow's expressions, and then the session's variables as of
 * the run's start.
 */
export interface RunVariables {
  /**
   * At least the variables with these names. The session's log is read only for names that are not the run's
   * own.
   */
  some(names: MemberNames): JsonObject | Promise<JsonObject>;
  named(name: string): Promise<Json | undefined>;
}

function createRunVariables(
  state: Pick<RunState, 'variables'>,
  workflow: Pick<WorkflowManifest, 'context_variables'>,
  agent: () => Promise<JsonObject>,
): RunVariables {
  const declared = new Set(workflow.context_variables.runtime.map(({ name }) => name));

  const own = (name: string): Json | undefined => {
    return state.variables.get(name) ?? (declared.has(name) ? null : undefined);
  };
  const ownNames = () => [...new Set([...declared, ...state.variables.keys()])];
  const expressions = ownExpressions(workflow);
  const isExpressed = (name: string) => expressions?.names.has(name) === true;
  const inherited = async (): Promise<JsonObject> => {
    const { variables, metadata } = await agent();
    const below = isMap(variables) ? (variables as JsonObject) : {};
    if (expressions === undefined) return below;
    const all = { ...below, ...valuesOf(ownNames()) };
    return { ...below, ...expressions.over(all, isMap(metadata) ? (metadata as JsonObject) : {}) };
  };
  const valuesOf = (names: readonly string[]): JsonObject =>
    Object.fromEntries(names.flatMap((name) => (isExpressed(name) ? [] : entry(name, own(name)))));

  return {
    some(names) {
      const known = allThere(names, (name) => own(name) !== undefined && !isExpressed(name));
      const above = valuesOf(known ?? ownNames());
      return known === undefined ? inherited().then((below) => ({ ...below, ...above })) : above;
    },
    async named(name) {
      const value = isExpressed(name) ? undefined : own(name);
      if (value !== undefined) return value;
      const below = await inherited();
      return Object.hasOwn(below, name) ? below[name] : undefined;
    },
  };
}

/** The items of surrounding `foreach` steps, by the name in `as`. */
export type Locals = Readonly<Record<string, Json>>;

/**
 * The values that `${…}` and CEL can read in a run: `agent trigger steps vars input run`, the items, and in
 * CEL each variable by its name. `agent` is read from the session's log only if an expression names it.
 */
export interface Scope {
  /**
   * For templates; `source` is what will be resolved, so that nothing is read which it does not name. `at` is the
   * address that asks, or a place in it (`ADDRESS:if`): of a step that ran in several rounds the one of its own round
   * counts, else the latest.
   */
  forTemplate(source: Json, locals: Locals, at?: string): Promise<JsonObject>;
  /** Parses templates, with a cache. */
  readonly read?: ReadTemplates;
  /** The values for a CEL expression that names these roots. */
  forTest(roots: readonly string[], locals: Locals, at?: string): Promise<Readonly<Record<string, unknown>>>;
}

/**
 * The derived variables that a workflow declares by `expression`. They are not on a log. They are computed
 * from other variables when they are read.
 */
export interface OwnExpressions {
  readonly names: ReadonlySet<string>;
  /** Computes their values from the other variables. A variable whose expression fails has its default. */
  over(variables: JsonObject, metadata: JsonObject): JsonObject;
}

interface Expressed {
  readonly name: string;
  readonly byDefault: Json;
  readonly expression: Expression;
}

/** Undefined if the workflow has none. */
export function ownExpressions({
  context_variables: { derived },
}: Pick<WorkflowManifest, 'context_variables'>): OwnExpressions | undefined {
  const all = derived.flatMap(({ name, expression: source, default: byDefault = null }) => {
    const parsed = source === undefined ? undefined : parseExpression(source);
    return parsed?.ok === true ? [{ name, byDefault: byDefault as Json, expression: parsed.value }] : [];
  });
  if (all.length === 0) return undefined;
  const ordered = inOrder(all);
  return {
    names: new Set(all.map(({ name }) => name)),
    over(variables, metadata) {
      const vars: Record<string, Json> = { ...variables };
      const own: Record<string, Json> = {};
      for (const { name, byDefault, expression } of ordered) {
        const value = evaluate(expression, { ...vars, vars, metadata });
        own[name] = value.ok ? value.value : byDefault;
        vars[name] = own[name];
      }
      return own;
    },
  };
}

/**
 * Orders variables so that each comes after those that it reads. Validation refuses cycles. A remaining cycle
 * keeps the order of the file.
 */
function inOrder(all: readonly Expressed[]): readonly Expressed[] {
  const byName = new Map(all.map((each) => [each.name, each]));
  const ordered = new Set<Expressed>();
  const onTheWay = new Set<Expressed>();
  const add = (each: Expressed) => {
    if (ordered.has(each) || onTheWay.has(each)) return;
    onTheWay.add(each);
    for (const { root, path } of each.expression.names)
      for (const name of root === 'vars' ? path.slice(0, 1) : [root]) {
        const read = byName.get(String(name));
        if (read !== undefined) add(read);
      }
    ordered.add(each);
  };
  for (const each of all) add(each);
  return [...ordered];
}

/** A command of a run to its session. */
export type SessionAct =
  | { readonly kind: 'set_metadata'; readonly values: JsonObject }
  | { readonly kind: 'set_variable'; readonly values: JsonObject }
  | { readonly kind: 'notify'; readonly message: string; readonly to?: string; readonly data?: Json }
  | { readonly kind: 'emit'; readonly event: string; readonly data?: Json };

/** Connects a run to its session through the session's durable inbox, so that it works from any process. */
export interface SessionLink {
  readonly session: string;
  /**
   * The value of `${agent.*}`: the session as of the run's start, frozen. It is read from the log on first
   * use.
   */
  agent(): Promise<JsonObject>;
  /**
   * Sends a command. It is durable when this resolves. Commands with the same `key` are executed once.
   * Returns false if the session has ended and nobody will execute it.
   */
  ask(key: string, act: SessionAct, cause: Cause): Promise<boolean>;
}

/** The number of steps in `recent_actions`. */
const RECENT = 10;

/**
 * The context of a run's decisions, with its steps as actions. `metadata` is the session's as of the run's
 * start, or empty without a session. `below` are the agent's variables, which the run's own variables hide.
 * `expressions` are computed from all of them.
 */
export function runContext(
  state: RunState,
  step: string | null,
  metadata: JsonObject = {},
  below: JsonObject = {},
  expressions?: OwnExpressions,
): DecisionContext {
  const variables: JsonObject = { ...below, ...Object.fromEntries(state.variables) };
  const ended = [...state.steps.values()].filter(({ status }) => ENDED.has(status));
  const good = ended.filter(({ status }) => !BAD.has(status));
  return {
    agent_id: state.manifest.agent,
    current_state: state.state ?? null,
    step_name: step,
    balance: state.balance ?? null,
    success_rate: ended.length === 0 ? 1 : good.length / ended.length,
    recent_actions: ended.slice(-RECENT).map(shown),
    last_result: ended.findLast(({ output }) => output !== undefined)?.output ?? null,
    metadata,
    variables:
      expressions === undefined ? variables : { ...variables, ...expressions.over(variables, metadata) },
  };
}

const BAD: ReadonlySet<StepState['status']> = new Set(['failed', 'interrupted']);
const ENDED: ReadonlySet<StepState['status']> = new Set(['completed', 'compensated', ...BAD]);

const shown = ({ step, status, error }: StepState): JsonObject => ({
  id: step,
  name: stepName(step),
  status,
  ...(error === undefined ? {} : { error: error.code }),
});

/** Where a value is resolved. */
export interface ResolveOptions {
  /** For messages: `step "build"`. */
  readonly what: string;
  readonly locals: Locals;
  /** The address of the step. */
  readonly at?: string;
}

/** The maximum size of a resolved value as JSON, because it is written to the log whenever the step begins. */
const MAX_RESOLVED_CHARS = 4 * 1024 * 1024;

/**
 * The value with every `${…}` in its texts resolved, however deep. A text that is one reference becomes the value it
 * refers to, with its type. Rejects with `bad_reference` where a path does not exist, or with `input_too_large`.
 */
export async function resolveDeep(
  value: Json,
  scope: Pick<Scope, 'forTemplate' | 'read'>,
  { what, locals, at }: ResolveOptions,
): Promise<Json> {
  const templates = (scope.read ?? readTemplates)(value, Object.keys(locals), what);
  if (templates.references.length === 0) return templates.fill({}, what);
  return filled(templates, await scope.forTemplate(value, locals, at), what);
}

function filled(templates: Templates, context: JsonObject, what: string): Json {
  const resolved = templates.fill(context, what);
  if (atMost(resolved, MAX_RESOLVED_CHARS) > 0) return resolved;
  const chars = JSON.stringify(resolved).length;
  if (chars > MAX_RESOLVED_CHARS) throw tooLarge(what, chars);
  return resolved;
}

/** The length of an escaped character: `\u0000`. */
const WIDEST_CHAR = 6;
const WIDEST_NUMBER = 26;

/**
 * A lower bound of the characters left from a limit for a value as JSON. It is much faster than serializing
 * the value.
 */
function atMost(value: Json, chars: number): number {
  if (typeof value === 'string') return chars - value.length * WIDEST_CHAR - 2;
  if (typeof value !== 'object' || value === null) return chars - WIDEST_NUMBER;
  let left = chars - 2;
  if (Array.isArray(value)) {
    for (const item of value) {
      left = atMost(item as Json, left) - 1;
      if (left <= 0) break;
    }
    return left;
  }
  for (const key in value) {
    left = atMost((value as JsonObject)[key] as Json, left - key.length * WIDEST_CHAR - 4);
    if (left <= 0) break;
  }
  return left;
}

const tooLarge = (what: string, chars: number) =>
  new RuntimeError(
    'input_too_large',
    `What ${what} is given has ${chars} characters; ${MAX_RESOLVED_CHARS} are allowed.`,
    { hint: 'Refer to a part of the value, or keep it in a file or a relic and pass its place.' },
  );
