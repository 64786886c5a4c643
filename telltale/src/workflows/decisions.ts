import type { RunJournal } from '../engine/run-log.ts';
import { evaluateTest } from '../expressions/cel/evaluate.ts';
import { type Expression, parseExpression } from '../expressions/cel/parse-expression.ts';
import type { ConditionConditionIssue } from '../expressions/issue.ts';
import { parseTemplate } from '../expressions/templates/parse-template.ts';
import { resolveTemplate } from '../expressions/templates/resolve-template.ts';
import type { InvokeRecord } from '../lib/calls.ts';
import { err, ok, type Result, RuntimeError, toRuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { Artifacts, DecisionContext } from '../tools/artifacts/artifacts.ts';
import type { ExpectedAnswer, Invocation, Invoke } from '../tools/artifacts/create-invoke.ts';
import type { Locals, Scope } from './scope.ts';
import { type ResolveOptions, resolveDeep } from './scope.ts';
import type { Decisions, Test } from './step-executor.ts';

/** The maximum number of cached tests per run. */
const MAX_PARSED = 1_000;

export function createDecisions(deps: DecisionDeps): Decisions {
  const { journal, scope, invoke, context, hasEnded } = deps;
  const { state } = journal;
  const parsed = new Map<string, Result<Expression, ConditionConditionIssue>>();

  const put = async (
    { where, step, locals, at }: DecisionQuestion,
    invocation: Invocation<unknown>,
    wanted: ExpectedAnswer,
    about: JsonObject = {},
    within: AbortSignal = hasEnded(),
  ): Promise<InvokeRecord> => {
    const args = await resolvedArgs(invocation.args, scope, { what: where, locals, at });
    const record = await invoke({
      where,
      invocation: { ...invocation, args: args.ok ? args.value : invocation.args } as Invocation,
      ...(args.ok ? {} : { unavailable: args.error }),
      expected: wanted,
      context: { ...(await context(step)), ...about },
      signal: within,
    });
    within.throwIfAborted();
    journal.append({ type: 'invoke', ...record });
    if (record.cost > 0 && state.balance !== undefined)
      journal.append({
        type: 'budget.charged',
        what: 'artifact',
        amount: record.cost,
        balance: state.balance - record.cost,
      });
    return record;
  };
  const ask: AskArtifact = async <Answer>(
    asker: DecisionQuestion,
    invocation: Invocation<Answer>,
    wanted: ExpectedAnswer,
  ) => {
    const known = state.answers.get(asker.where);
    return (known ?? (await put(asker, invocation, wanted)).result) as Answer;
  };
  const read = (source: string): Result<Expression, ConditionConditionIssue> => {
    const known = parsed.get(source);
    if (known !== undefined) return known;
    const made = parseExpression(source);
    if (parsed.size < MAX_PARSED) parsed.set(source, made);
    return made;
  };
  const evaluate = async (
    source: string,
    locals: Locals,
    at: string,
  ): Promise<Result<boolean, ConditionConditionIssue>> => {
    const expression = read(source);
    if (!expression.ok) return expression;
    const roots = [...new Set(expression.value.names.map(({ root }) => root))];
    return evaluateTest(expression.value, await scope.forTest(roots, locals, at));
  };
  const test = async (at: string, given: Test, locals: Locals): Promise<boolean> => {
    const known = state.decided.get(at);
    if (known !== undefined) return known;
    if (typeof given === 'boolean') return given; // a constant needs no record
    if (typeof given === 'string') {
      const result = await evaluate(given, locals, at);
      const held = result.ok && result.value;
      const problem = result.ok ? {} : { problem: problemOf(result.error) };
      journal.append({ type: 'if.decided', at_step: at, test: given, held, ...problem });
      return held;
    }
    const held = await ask(askerAt(at, locals), given, { type: 'boolean' });
    journal.append({ type: 'if.decided', at_step: at, test: nameOf(given), held });
    return held;
  };
  const components = componentsFor({ ...deps, ask, test });

  return {
    test,
    async prompt(step, address, locals) {
      const own = await writtenPrompt(`step ${address}: prompt`, step.name, step, address, locals, {
        ...deps,
        ask,
      });
      const fragments = await components(step.name, address, locals);
      return [own, ...fragments].join('\n\n');
    },
    answer: (at, invocation, answers, locals = {}) =>
      ask(askerAt(at, locals), invocation, { type: 'one_of', values: answers }),
    verdict: (at, invocation, judged, locals, within) =>
      put(
        askerAt(at, locals),
        invocation,
        { type: 'verdict' },
        { judged },
        AbortSignal.any([hasEnded(), within]),
      ),
  };
}

const TRANSITION = /^transition\b/;

const askerAt = (at: string, locals: Locals): DecisionQuestion => ({
  where: whereOf(at),
  step: stepAt(at),
  locals,
  at,
});

/** The arguments with resolved references, or the reason why that failed. The fallback counts then. */
async function resolvedArgs(
  args: readonly Json[],
  scope: Scope,
  place: ResolveOptions,
): Promise<Result<readonly Json[], string>> {
  try {
    return ok((await resolveDeep(args as Json, scope, place)) as readonly Json[]);
  } catch (thrown) {
    const { message, hint } = toRuntimeError(thrown);
    return err(hint === undefined ? message : `${message} ${hint}`);
  }
}

/** `write@2:if` is `step write@2: if`, `drafting@3:transition 0` is `state drafting@3: transition 0`. */
function whereOf(at: string): string {
  const [place, what] = split(at);
  return `${TRANSITION.test(what) ? 'state' : 'step'} ${place}: ${what}`;
}

/** The step's name, or null for a transition between steps. */
function stepAt(at: string): string | null {
  const [place, what] = split(at);
  if (TRANSITION.test(what) || place === '') return null;
  return place.slice(place.lastIndexOf('/') + 1).replace(/~\d+$/, '');
}

function split(at: string): readonly [place: string, what: string] {
  const colon = at.lastIndexOf(':');
  return colon < 0 ? [at, 'decision'] : [at.slice(0, colon), at.slice(colon + 1)];
}

const problemOf = ({ message, hint }: ConditionConditionIssue): string =>
  hint === undefined ? message : `${message} ${hint}`;

interface ComponentDeps extends DecisionDeps {
  readonly ask: AskArtifact;
  readonly test: Decisions['test'];
}

/** The components for the prompt of a step, in manifest order. Each is recorded on the log. */
const componentsFor =
  (deps: ComponentDeps) =>
  async (step: string, address: string, locals: Locals): Promise<readonly string[]> => {
    const fragments: string[] = [];
    for (const component of deps.components ?? []) {
      const because = await whyInjected(component, step, address, locals, deps);
      if (because === undefined) continue;
      const where = `step ${address}: component ${component.name}: prompt`;
      fragments.push(await writtenPrompt(where, step, component, address, locals, deps));
      const { journal } = deps;
      if (journal.state.injected.has(`${component.name} ${address}`)) continue;
      journal.append({ type: 'component.injected', component: component.name, step: address, because });
    }
    return fragments;
  };

/** Why a component is added: `always`, a test, or an artifact. Undefined if it is not added. */
async function whyInjected(
  { name, inject_into: into }: Component,
  step: string,
  address: string,
  locals: Locals,
  { ask, test }: ComponentDeps,
): Promise<string | undefined> {
  if (!Array.isArray(into)) {
    const asked = into as Invocation<readonly string[]>;
    const where = `step ${address}: component ${name}`;
    const steps = await ask({ where, step, locals, at: address }, asked, { type: 'names' });
    return steps.includes(step) ? nameOf(asked) : undefined;
  }
  for (const [index, entry] of into.entries()) {
    if (typeof entry === 'string') {
      if (entry === step) return 'always';
      continue;
    }
    if (entry.step !== step) continue;
    if (entry.if === undefined) return 'always';
    const at = `${address}:component ${name}#${index}`;
    if (await test(at, entry.if, locals))
      return typeof entry.if === 'object' ? nameOf(entry.if) : String(entry.if);
  }
  return undefined;
}

/** The prompt keys of a step or component. */
export interface PromptKeys {
  readonly prompt?: string | Invocation<string> | undefined;
  readonly prompt_artifact_id?: string | undefined;
}

/**
 * A prompt: text of the manifest or of an artifact with resolved references, or the unchanged result of an
 * artifact's method, whose fallback is written text. Rejects if a path or the artifact with the text does not
 * exist.
 */
async function writtenPrompt(
  where: string,
  step: string,
  { prompt, prompt_artifact_id: artifact }: PromptKeys,
  address: string,
  locals: Locals,
  deps: Pick<DecisionDeps, 'scope' | 'artifacts'> & { readonly ask: AskArtifact },
): Promise<string> {
  const written = (text: string) => filled(text, where, address, locals, deps);
  if (typeof prompt !== 'object')
    return written(artifact === undefined ? (prompt ?? '') : await sourceOf(artifact, where, deps));
  const fallback = await written(prompt.fallback);
  return deps.ask({ where, step, locals, at: address }, { ...prompt, fallback }, { type: 'string' });
}

async function filled(
  text: string,
  where: string,
  address: string,
  locals: Locals,
  deps: Pick<DecisionDeps, 'scope'>,
): Promise<string> {
  const template = parseTemplate(text, { names: Object.keys(locals) });
  if (!template.ok) throw badPrompt(where, template.error[0]);
  const resolved = resolveTemplate(template.value, await deps.scope.forTemplate(text, locals, address));
  if (!resolved.ok) throw badPrompt(where, resolved.error);
  return typeof resolved.value === 'string' ? resolved.value : JSON.stringify(resolved.value);
}

async function sourceOf(
  artifact: string,
  where: string,
  { artifacts }: Pick<DecisionDeps, 'artifacts'>,
): Promise<string> {
  const found = await artifacts.read(artifact);
  if (found === undefined) throw promptMissing(artifact, where);
  return found.source;
}

const badPrompt = (where: string, issue: ConditionConditionIssue | undefined) =>
  new RuntimeError(
    'bad_prompt',
    `The prompt of ${where.replace(/: prompt$/, '')} cannot be made: ${issue?.message ?? ''}`,
    {
      hint: issue?.hint,
    },
  );

const promptMissing = (artifact: string, where: string) =>
  new RuntimeError('artifact_unknown', `${where}: no artifact is named "${artifact}".`, {
    hint: 'Import it, have it written first, or use "prompt: { invoke, method, fallback }", which has a fallback.',
  });

export type Component = AgentManifest['components'][number];

export interface DecisionDeps {
  readonly journal: Pick<RunJournal, 'state' | 'append'>;
  readonly scope: Scope;
  readonly invoke: Invoke;
  readonly artifacts: Pick<Artifacts, 'read'>;
  /** The agent's, then the workflow's. */
  readonly components?: readonly Component[];
  /** The context of an artifact for a step, or for null between steps. */
  readonly context: (step: string | null) => DecisionContext | Promise<DecisionContext>;
  /** Aborted once the walk has ended. */
  readonly hasEnded: () => AbortSignal;
}

/** A question to an artifact. */
export interface DecisionQuestion {
  /** Its name on the log, unique within a run. */
  readonly where: string;
  /** The step that the decision is about. Null between steps. */
  readonly step: string | null;
  /** The items of loops for the references in arguments. `at` is the address of the step. */
  readonly locals: Locals;
  readonly at: string;
}

/** Asks an artifact, or returns the recorded answer of an earlier question. */
export type AskArtifact = <Answer>(
  asker: DecisionQuestion,
  invocation: Invocation<Answer>,
  wanted: ExpectedAnswer,
) => Promise<Answer>;

/** The name of the artifact's method for the log: `gate.should_continue`. */
const nameOf = ({ invoke, method }: Pick<Invocation, 'invoke' | 'method'>): string => `${invoke}.${method}`;
