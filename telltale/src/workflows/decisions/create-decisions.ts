import { evaluateTest } from '../../conditions/cel/evaluate.ts';
import { type Expression, parseExpression } from '../../conditions/cel/parse-expression.ts';
import type { Issue } from '../../conditions/issue.ts';
import type { InvokeRecord } from '../../kernel/invoke-record.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { err, ok, type Result } from '../../kernel/result.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { Invocation, Wanted } from '../../targets/artifacts/invoker.ts';
import type { Decisions, Test } from '../decisions.ts';
import { type ResolvePlace, resolveDeep } from '../resolve-deep.ts';
import type { Locals, Scope } from '../scope.ts';
import { componentsFor } from './components.ts';
import { type Ask, type Asker, type DecisionDeps, nameOf } from './decision-edges.ts';
import { writtenPrompt } from './written-prompt.ts';

/** Kept for as long as the run is worked on; a workflow has so many tests at most. */
const MAX_PARSED = 1_000;

export function createDecisions(deps: DecisionDeps): Decisions {
  const { journal, scope, invoke, context, hasEnded } = deps;
  const { state } = journal;
  const parsed = new Map<string, Result<Expression, Issue>>();

  const put = async (
    { where, step, locals, at }: Asker,
    invocation: Invocation<unknown>,
    wanted: Wanted,
    about: JsonObject = {},
    within: AbortSignal = hasEnded(),
  ): Promise<InvokeRecord> => {
    const args = await resolvedArgs(invocation.args, scope, { what: where, locals, at });
    const record = await invoke({
      where,
      invocation: { ...invocation, args: args.ok ? args.value : invocation.args } as Invocation,
      ...(args.ok ? {} : { unasked: args.error }),
      wanted,
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
  const ask: Ask = async <Answer>(asker: Asker, invocation: Invocation<Answer>, wanted: Wanted) => {
    const known = state.answers.get(asker.where);
    return (known ?? (await put(asker, invocation, wanted)).result) as Answer;
  };
  const read = (source: string): Result<Expression, Issue> => {
    const known = parsed.get(source);
    if (known !== undefined) return known;
    const made = parseExpression(source);
    if (parsed.size < MAX_PARSED) parsed.set(source, made);
    return made;
  };
  const evaluate = async (source: string, locals: Locals, at: string): Promise<Result<boolean, Issue>> => {
    const expression = read(source);
    if (!expression.ok) return expression;
    const roots = [...new Set(expression.value.names.map(({ root }) => root))];
    return evaluateTest(expression.value, await scope.forTest(roots, locals, at));
  };
  const test = async (at: string, given: Test, locals: Locals): Promise<boolean> => {
    const known = state.decided.get(at);
    if (known !== undefined) return known;
    if (typeof given === 'boolean') return given; // nothing is decided there
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

const askerAt = (at: string, locals: Locals): Asker => ({ where: whereOf(at), step: stepAt(at), locals, at });

/** The arguments with their `${…}` resolved, or why that is not possible: then the fallback counts. */
async function resolvedArgs(
  args: readonly Json[],
  scope: Scope,
  place: ResolvePlace,
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

/** The step's own name; null for a transition, which stands between steps. */
function stepAt(at: string): string | null {
  const [place, what] = split(at);
  if (TRANSITION.test(what) || place === '') return null;
  return place.slice(place.lastIndexOf('/') + 1).replace(/~\d+$/, '');
}

function split(at: string): readonly [place: string, what: string] {
  const colon = at.lastIndexOf(':');
  return colon < 0 ? [at, 'decision'] : [at.slice(0, colon), at.slice(colon + 1)];
}

const problemOf = ({ message, hint }: Issue): string => (hint === undefined ? message : `${message} ${hint}`);
