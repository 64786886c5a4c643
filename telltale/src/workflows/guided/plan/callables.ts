import { type ErrorJson, RuntimeError, toRuntimeError } from '../../../lib/errors.ts';
import type { Json } from '../../../lib/json.ts';
import { suggest } from '../../../lib/nearest.ts';
import type { PlannedAction } from '../../../log/run-event.ts';
import type { WorkflowManifest } from '../../../manifest/schema/kinds.ts';
import { cutText } from '../../../prompt/text.ts';
import type { Target, TargetKind, TargetTable } from '../../../tools/target.ts';

/** Never internal actions, which act on a session; nor prompts and artifacts: a plan is executed without a model. */
const KINDS = ['tool', 'relic', 'agent', 'workflow'] as const;
/** What an agent has by itself: its agents and workflows are called in the name of the run's own. */
export const OWN_KINDS = ['tool', 'relic'] as const;
export type CallableKind = (typeof KINDS)[number];

export interface Callable {
  readonly kind: CallableKind;
  readonly target: Target;
}

/** What a plan may call, by the name that the model writes: the target's own, or `KIND:NAME` where two kinds have it. */
export type Callables = ReadonlyMap<string, Callable>;

/**
 * The targets of `tools`, or all that can be called; of these the workflow that plans is none, so that no plan begins
 * itself over again unless that was written down. Throws `target_unknown` for a name that is not there.
 */
export function callablesOf(
  { all }: Pick<TargetTable, 'all'>,
  tools: readonly string[] | undefined,
  { name: own }: Pick<WorkflowManifest, 'name'>,
  kinds: readonly CallableKind[] = KINDS,
): Callables {
  const there = all.flatMap((target): readonly Callable[] =>
    isOneOf(kinds, target.kind) ? [{ kind: target.kind, target }] : [],
  );
  const names = there.map(({ target }) => target.name);
  for (const tool of tools ?? []) if (!names.includes(tool)) throw toolUnknown(tool, names);
  const chosen = there.filter(({ kind, target: { name } }) =>
    tools === undefined ? kind !== 'workflow' || name !== own : tools.includes(name),
  );
  if (chosen.length === 0) throw nothingToCall();
  const isTwice = (name: string) => chosen.filter(({ target }) => target.name === name).length > 1;
  return new Map(
    chosen.map((each) => {
      const { name } = each.target;
      return [isTwice(name) ? `${each.kind}:${name}` : name, each];
    }),
  );
}

const isOneOf = (kinds: readonly CallableKind[], kind: TargetKind): kind is CallableKind =>
  (kinds as readonly TargetKind[]).includes(kind);

const toolUnknown = (name: string, known: readonly string[]) =>
  new RuntimeError('target_unknown', `"tools" names "${name}", which is no tool, relic, agent or workflow.`, {
    hint: suggest(name, known, 'There are'),
  });

const nothingToCall = () =>
  new RuntimeError('target_unknown', 'There is nothing that a plan could call.', {
    hint: 'Import tools into the agent, or name some in "tools".',
  });

const SHOWN_CHARS = 500;

/** The action's result is not what its `expect` asks for. */
export const notExpected = (expect: string, result: Json, why: string) =>
  new RuntimeError('not_expected', `Expected: ${expect}. ${why} It gave ${shown(result)}`);

/** A crash left it in doubt. */
export const actionInterrupted = (action: string) =>
  new RuntimeError(
    'interrupted',
    `The process ended while "${action}" was called; whether it took effect is not known.`,
    { hint: 'Find out whether it did before it is done again.' },
  );

/** The manifest has changed since the plan was made. */
export const actionGone = (action: string) =>
  new RuntimeError('target_unknown', `"${action}" can no longer be called.`, {
    hint: 'The plan was made when it still could.',
  });

export const resultsTooLarge = (action: string, chars: number) =>
  new RuntimeError(
    'output_too_large',
    `What "${action}" gave has ${chars} characters; the results of one plan may have ${MAX_RESULTS_CHARS} together.`,
    { hint: 'It was done. Have it give less, or write to a file.' },
  );

/** The second plan did not come to its end either, or there can be no second one. */
export function planFailed(what: string, trouble: Trouble, nth: number, cause?: unknown): RuntimeError {
  if (trouble.kind === 'rejected') return planRejected(what, trouble);
  const which = nth === 1 ? 'The plan' : 'The second plan';
  const again = cause === undefined ? '' : ` A new plan could not be had: ${toRuntimeError(cause).message}`;
  return new RuntimeError('plan_failed', `${which} of ${what} failed. ${sentence(trouble)}${again}`, {
    hint: HINTS[trouble.kind],
    cause: cause ?? (trouble.kind === 'failed' ? asError(trouble.error) : undefined),
  });
}

const planRejected = (what: string, { by, note }: Extract<Trouble, { readonly kind: 'rejected' }>) =>
  new RuntimeError(
    'rejected',
    `The plan of ${what} was rejected by ${by}${note === undefined ? '.' : `: ${note}`}`,
    {
      hint: 'With "on_error" or a "try" around it the run can go another way.',
    },
  );

/** What went wrong, for the model and for people. */
export function sentence(trouble: Exclude<Trouble, { readonly kind: 'rejected' }>): string {
  switch (trouble.kind) {
    case 'unusable':
      return `It cannot be executed. ${trouble.problem}`;
    case 'failed':
      return `${nameOf(trouble.planned, trouble.index)} ${failure(trouble.error)}`;
    case 'judged':
      return `It was executed, but ${trouble.by} is not content: ${trouble.text}`;
  }
}

const nameOf = ({ action }: PlannedAction, index: number) => `Action ${index + 1} ("${action}")`;

const failure = ({ code, message, hint }: ErrorJson): string =>
  code === 'not_expected'
    ? `did not give what was expected. ${message}`
    : `failed with ${code}: ${message}${hint === undefined ? '' : ` ${hint}`}`;

const HINTS: Readonly<Record<Exclude<Trouble['kind'], 'rejected'>, string>> = {
  unusable: 'See "plan.made" on the log. Say in the prompt what is wanted, or name fewer "tools".',
  failed: 'See "plan.made" and "plan.acted" on the log: what was done before it stays done.',
  judged: 'See "verify" on the log: what was done stays done.',
};

const asError = ({ code, message, hint, retryable }: ErrorJson) =>
  new RuntimeError(code, message, { hint, retryable });

/** A result in a message: as JSON, its middle left out where it is long. */
export function shown(value: Json, max = SHOWN_CHARS): string {
  const { head, tail, omitted } = cutText(JSON.stringify(value), max);
  return omitted === 0 ? head : `${head} … (${omitted} characters left out) … ${tail}`;
}

/** Why a plan did not come to its end. The first gives the model another plan, the second fails the step. */
export type Trouble =
  /** It was not executed: it cannot be. */
  | { readonly kind: 'unusable'; readonly problem: string }
  /** A person does not want it executed. */
  | { readonly kind: 'rejected'; readonly by: string; readonly note?: string }
  /** An action failed, or gave something else than was expected. */
  | {
      readonly kind: 'failed';
      readonly planned: PlannedAction;
      readonly index: number;
      readonly error: ErrorJson;
    }
  /** It was executed, and a verifier or a person is not content with what came of it. */
  | { readonly kind: 'judged'; readonly by: string; readonly text: string };

/** A plan, and the one that may follow a failed one. */
export const MAX_PLANS = 2;
export const MAX_ACTIONS = 50;
/** Characters of a plan as JSON: it is written to the log, shown to people and sent to the model again. */
export const MAX_PLAN_CHARS = 100_000;
/** Nesting of a plan as JSON. */
export const MAX_PLAN_DEPTH = 40;
/** Characters of all results of a step, as JSON: they are written to the log once more when it completes. */
export const MAX_RESULTS_CHARS = 4 * 1024 * 1024;
/** Of what is wrong with a plan so many things are told. */
export const MAX_PROBLEMS = 10;
