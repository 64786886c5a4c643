import { deepEqual } from '../../expressions/values.ts';
import type { Result, RuntimeError } from '../../lib/errors.ts';
import { completesStep, type DeclaredAction } from '../../log/action.ts';
import type { ActionIntent, ParserEvent } from '../../parser/intents.ts';
import { clip } from '../../prompt/text.ts';
import type { SessionContext } from '../session-context.ts';
import { cut, type Hearing } from './active-turn.ts';
import { faultIn, fillGroups, withoutEmpty } from './groups.ts';
import { record, writeOutput } from './output-buffer.ts';

/** Declares an action, and returns its id if nothing behind it counts before it has ended. */
export function declare(hearing: Hearing, intent: ActionIntent, consumed: number): string | undefined {
  const { context, groups, spoken } = hearing;
  if (isSaidTooOften(hearing, intent)) return undefined;
  fillGroups(hearing);
  const action = context.deps.prepared.toAction(intent, groups);
  if (!action.ok) {
    refuse(hearing, notMade(action.error), consumed);
    return undefined;
  }
  if (isAfterStep(hearing, consumed)) return undefined;
  hearing.completed = context.guide !== undefined && completesStep(action.value);
  writeOutput(spoken, consumed);
  // The turn waits for what ends a step: else the next one would begin in the midst of it.
  const asked = withoutEmpty(hearing, inOwnMode(context, action.value));
  const declared = hearing.completed && !isAwaited(asked) ? inTurn(asked) : asked;
  const id = context.scheduler.declare(declared, context.log.here());
  if (id === undefined || declared.mode !== 'sync' || groups.length > 0) return undefined;
  if (context.manifest.protocol.on_sync === 'buffer') return id;
  // The model is shown the result at once: no tokens are spent on guessing it.
  hearing.observed = id;
  hearing.over = true;
  hearing.afterFinal = true;
  cut(hearing, 'sync');
  return undefined;
}

/** The same call in a row in one turn, without ids to tell them apart: nobody means that. */
const MAX_SAME_CALLS = 50;

/** Whether the model repeats itself: then nothing that follows is heard. */
function isSaidTooOften(hearing: Hearing, action: ActionIntent): boolean {
  const last = hearing.sameAction;
  if (last === undefined || !isSame(last.action, action)) {
    hearing.sameAction = GIVEN_ID.test(action.id) ? { action, times: 1 } : undefined;
    return false;
  }
  last.times++;
  if (last.times <= MAX_SAME_CALLS) return false;
  hearing.repeated = sameCall(action.name ?? '', MAX_SAME_CALLS);
  hearing.over = true;
  hearing.afterFinal = true;
  cut(hearing, 'repeats');
  return true;
}

/** As the parser gives them out. */
const GIVEN_ID = /^a\d+$/;

const isSame = (one: ActionIntent, other: ActionIntent): boolean =>
  GIVEN_ID.test(other.id) &&
  one.name === other.name &&
  one.kind === other.kind &&
  deepEqual(one.parameters, other.parameters);

/** What is said of an action that cannot be made. */
export const notMade = ({ code, message, hint = '' }: RuntimeError) => ({
  code,
  message: `${message} ${hint}`.trim(),
});

/** Says why what was asked for is not done. */
function refuse(
  hearing: Hearing,
  problem: { readonly code: string; readonly message: string },
  consumed: number,
): void {
  const fault = faultIn(hearing, problem);
  record(hearing.spoken, fault, consumed);
  if (fault.groups !== undefined) hearing.context.scheduler.spoil(fault.groups);
}

const isAwaited = ({ mode }: DeclaredAction): boolean => mode !== 'fire_and_forget' && mode !== 'background';

/** A tool may say of itself that nobody waits for it. The close of a `<parallel>` waits for all that stands in it. */
function inOwnMode({ deps }: SessionContext, action: DeclaredAction): DeclaredAction {
  const { kind, name, mode, group } = action;
  if (mode !== 'async' || group !== undefined) return action;
  const target = deps.prepared.targets.find(kind, name);
  return target?.background === true ? { ...action, mode: 'background' } : action;
}

const inTurn = (action: DeclaredAction): DeclaredAction => ({ ...action, mode: 'async' });

/** What follows the end of a step in its turn would be done before anybody knows what comes next. Told once. */
function isAfterStep(hearing: Hearing, consumed: number): boolean {
  if (!hearing.completed || hearing.afterStep) return hearing.completed;
  hearing.afterStep = true;
  record(hearing.spoken, { type: 'fault', code: 'after_step', message: AFTER_STEP }, consumed);
  return true;
}

const AFTER_STEP =
  'Something followed complete_step in the same turn and was not begun: a step ends with it. Do everything else before it.';

/** Declares what a `<foreach>` is to do for each of its list. */
export function loop(
  hearing: Hearing,
  event: Extract<ParserEvent, { type: 'foreach' }>,
  consumed: number,
): void {
  const { context, groups, spoken } = hearing;
  if (isAfterStep(hearing, consumed)) return;
  fillGroups(hearing);
  writeOutput(spoken, consumed);
  const actions = event.actions.map((intent) => context.deps.prepared.toAction(intent, groups));
  const bad = loopNotMade(context, actions);
  if (bad !== undefined) {
    refuse(hearing, bad, consumed);
    return;
  }
  const declared = actions.flatMap((action) =>
    action.ok ? [withoutEmpty(hearing, inOwnMode(context, action.value))] : [],
  );
  context.scheduler.loop({ in: event.in, as: event.as, actions: declared }, context.log.here());
}

/** Why a `<foreach>` of these cannot be made, if it cannot. */
export function loopNotMade(
  { guide }: Pick<SessionContext, 'guide'>,
  actions: readonly Result<DeclaredAction>[],
): { readonly code: string; readonly message: string } | undefined {
  for (const action of actions) if (!action.ok) return action.error;
  const isLed = guide !== undefined && actions.some((action) => action.ok && completesStep(action.value));
  return isLed ? { code: 'bad_action', message: IN_LOOP } : undefined;
}

const IN_LOOP = 'complete_step stands in a <foreach>, so nothing of it was run: a step is completed once.';

const MAX_SHOWN = 60;
const GO_ON = 'What you had closed by then counts. Do not go on with it: do the next thing, or answer.';

/** What a model is told that wrote the same text until it was cut off. */
export function sameText(period: string, run: number): string {
  const what = period.length === 1 ? 'character' : `${period.length} characters`;
  const shown = JSON.stringify(clip(fromLineOrWord(period), MAX_SHOWN));
  return `You wrote the same ${what} again and again (${shown}), ${run.toLocaleString('en')} characters in all, and were cut off there. ${GO_ON}`;
}

/** What is repeated has no beginning of its own: it is shown from a line, or a word, on. */
function fromLineOrWord(period: string): string {
  const at = Math.max(period.indexOf('\n'), 0) || Math.max(period.indexOf(' '), 0);
  const from = at === 0 ? 0 : at + 1;
  return period.slice(from) + period.slice(0, from);
}

/** The same where it was a call. */
const sameCall = (name: string, times: number): string =>
  `You made the same call of "${name}" with the same parameters ${times} times in one turn, and were cut off there. ${GO_ON}`;
