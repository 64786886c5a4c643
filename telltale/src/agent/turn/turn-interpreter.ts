import { decideTest, type EvaluateDecision } from '../../expressions/cel/evaluate.ts';
import { deepEqual } from '../../expressions/values.ts';
import { type Result, type RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { completesStep, type DeclaredAction, HANDOFF } from '../../log/action.ts';
import { handsOver } from '../../log/fold-handoffs.ts';
import { showsTag } from '../../log/fold-turns.ts';
import type { ActionIntent, ParserEvent } from '../../parser/intents.ts';
import { clip } from '../../prompt/text.ts';
import { mayHandOver } from '../internal/handoff.ts';
import type { SessionContext } from '../session-context.ts';
import { settableBy, setVariable } from '../variables/session-variables.ts';
import {
  type ActiveTurn,
  createHoldBuffer,
  cutStream,
  holdUntil,
  noteSkipped,
  unclosedIfFault,
} from './active-turn.ts';
import { DIALECT_WORDS } from './dialect-words.ts';
import {
  badTest,
  closeBranch,
  closeGroup,
  closesWithoutTag,
  elseBranch,
  faultWithGroups,
  isEmpty,
  markGroupsUsed,
  openBranch,
  openGroup,
  preventedActions,
  withoutEmptyGroups,
} from './groups.ts';
import {
  appendText,
  appendThought,
  closeThought,
  closeThoughts,
  deferEvent,
  endText,
  openThought,
  writeEvent,
  writeOutput,
} from './output-buffer.ts';
import { createResponseStream, endResponse, pushResponse, whenComplete } from './response-stream.ts';

/** Acts on what the model said, in the order in which it did. `consumed` is how far the stream had been read. */
export function act(activeTurn: ActiveTurn, event: ParserEvent, consumed: number): void {
  if (activeTurn.ignoresRest) {
    if (isLateHandoff(activeTurn, event)) {
      declareAction(activeTurn, event, consumed);
      cutStream(activeTurn, 'final');
    } else skipAfterFinal(activeTurn, event, consumed);
    return;
  }
  const { output, context } = activeTurn;
  activeTurn.hasTag ||= isTag(event);
  if (event.type !== 'text' && event.type !== 'fault') endText(output, consumed);
  if (!activeTurn.branchHolds && event.type !== 'if') {
    noteSkipped(activeTurn, event);
    return;
  }
  switch (event.type) {
    case 'text':
      appendText(output, event.text);
      return;
    case 'open':
      if (event.tag === 'thought') openThought(output, event.depth);
      else openResponse(activeTurn, event.final);
      return;
    case 'delta':
      if (event.tag === 'thought') appendThought(output, event.text);
      else if (activeTurn.response !== undefined) pushResponse(activeTurn.response, event.text);
      return;
    case 'close':
      if (event.tag === 'thought') closeThought(output, consumed);
      else closeResponse(activeTurn, event, consumed);
      return;
    case 'action': {
      const awaited = declareAction(activeTurn, event, consumed);
      if (awaited !== undefined) holdForAction(activeTurn, awaited);
      return;
    }
    case 'metadata':
      writeOutput(output, consumed);
      context.services.applyMetadata(event.value, 'model');
      context.scheduler.valuesSet(event.value, context.log.here());
      return;
    case 'variables':
      writeOutput(output, consumed);
      setVariables(context, event.value);
      return;
    case 'if':
      if (event.body === 'else') elseBranch(activeTurn);
      else if (event.body === 'close') closeIf(activeTurn, consumed);
      else openBranch(activeTurn, () => decideBranch(activeTurn, event.test, consumed));
      return;
    case 'foreach':
      declareForEach(activeTurn, event, consumed);
      return;
    case 'parallel': {
      if (event.body === 'open') {
        const id = event.id === undefined ? undefined : context.scheduler.claimId(event.id);
        if (typeof id === 'object') {
          markGroupsUsed(activeTurn);
          reportFault(activeTurn, id, consumed);
        }
        openGroup(activeTurn, typeof id === 'string' ? id : undefined, context.state.turn);
        return;
      }
      const wasEmpty = isEmpty(activeTurn);
      const group = closeGroup(activeTurn);
      if (group === undefined) return;
      // The log says that it was closed: after a restart it counts as whole. But what follows in place of an end tag is held
      // back, and is on the log when it is acted on.
      if (!wasEmpty && !activeTurn.endsUntagged) writeOutput(output, consumed);
      activeTurn.endsUntagged = false;
      context.scheduler.parallelClosed(group);
      holdForAction(activeTurn, group);
      return;
    }
    case 'fault':
      if (preventedActions([event]).length > 0) markGroupsUsed(activeTurn);
      activeTurn.endsUntagged = closesWithoutTag(event);
      reportFault(activeTurn, event, consumed);
      return;
  }
}

interface Problem {
  readonly code: string;
  readonly message: string;
}

/** Whether it came of a tag or call that says more than what the model thinks. */
export function isTag(event: ParserEvent): boolean {
  switch (event.type) {
    case 'text':
      return false;
    case 'fault':
      return showsTag(event.code);
    case 'open':
    case 'delta':
    case 'close':
      return event.tag === 'response';
    default:
      return true;
  }
}

function closeIf(activeTurn: ActiveTurn, consumed: number): void {
  closeBranch(activeTurn);
  const left = unclosedIfFault(activeTurn);
  if (left !== undefined && activeTurn.branchHolds) reportFault(activeTurn, left, consumed);
}

function reportFault(activeTurn: ActiveTurn, found: Problem, consumed: number): void {
  const fault = faultWithGroups(activeTurn, found);
  if (fault.groups === undefined) deferEvent(activeTurn.output, fault, consumed);
  else {
    writeEvent(activeTurn.output, fault, consumed); // before what it keeps from being done
    activeTurn.context.scheduler.invalidateParallels(fault.groups);
  }
}

/** Undefined where it cannot be decided: then the model is told, and a final response of its turn does not count. */
function decideBranch(activeTurn: ActiveTurn, test: string, consumed: number): boolean | undefined {
  const { output, context } = activeTurn;
  const decided = decideIf(context, test);
  const { held, problem } = decided;
  // Before the decision: a log that ends between the two must not have lost something unsaid.
  if (problem !== undefined) reportFault(activeTurn, badTest(test, problem), consumed);
  deferEvent(output, { type: 'if.decided', test, ...decided }, consumed);
  return problem === undefined ? held : undefined;
}

/** Behind a closed final response. The end of what it stood in is no new tag, nor is the other branch of its `<if>`. */
function skipAfterFinal(activeTurn: ActiveTurn, event: ParserEvent, consumed: number): void {
  if (event.type === 'if' && event.body === 'else') elseBranch(activeTurn);
  else if (event.type === 'if' && event.body === 'close') closeBranch(activeTurn);
  else if (!activeTurn.toldAfterFinal && activeTurn.branchHolds && isNewTag(event)) {
    activeTurn.toldAfterFinal = true;
    const message = DIALECT_WORDS[activeTurn.context.manifest.dialect].afterFinal;
    writeEvent(activeTurn.output, { type: 'fault', code: 'after_final', message }, consumed);
  }
  if (event.type === 'if' && event.body === 'open') openBranch(activeTurn, () => false);
}

/** A handoff after a final response. Models like to say their last word first and then hand over. */
const isLateHandoff = (activeTurn: ActiveTurn, event: ParserEvent): event is ActionIntent =>
  event.type === 'action' &&
  event.name === HANDOFF &&
  (event.kind ?? 'internal') === 'internal' &&
  activeTurn.branchHolds &&
  !activeTurn.toldAfterFinal &&
  mayHandOver(activeTurn.context.manifest);

const isNewTag = (event: ParserEvent): boolean =>
  event.type === 'parallel'
    ? event.body === 'open'
    : event.type !== 'text' && event.type !== 'delta' && event.type !== 'close' && event.type !== 'fault';

/** Holds back what follows until the action or group has ended. */
function holdForAction(activeTurn: ActiveTurn, id: string): void {
  activeTurn.holdBuffer ??= createHoldBuffer();
  holdUntil(
    activeTurn.holdBuffer,
    (open) => activeTurn.context.scheduler.whenAllEnded([id], open),
    (event, consumed) => act(activeTurn, event, consumed),
  );
}

const FIELD = /\bmetadata\.([A-Za-z_]\w*)/g;

/** Decides the test of an `<if>`. That a field is declared and not set is said: "no such key" reads as a wrong name. */
export function decideIf(
  { services, manifest, state }: Pick<SessionContext, 'services' | 'manifest' | 'state'>,
  test: string,
): EvaluateDecision {
  const decided = decideTest(test, () => services.context());
  if (decided.problem === undefined) return decided;
  const declared = manifest.metadata?.fields ?? {};
  const named = new Set([...test.matchAll(FIELD)].map(([, name = '']) => name));
  const unset = [...named].filter(
    (name) => Object.hasOwn(declared, name) && !Object.hasOwn(state.metadata, name),
  );
  if (unset.length === 0) return decided;
  const which = unset.map((name) => `metadata.${name}`).join(', ');
  return { ...decided, problem: `${decided.problem} Declared, but not set yet: ${which}.` };
}

const MAX_NAME_QUOTED = 100;

/** Sets the variables that a step names: those that the model may write. `null` puts the default back. */
export function setVariables({ log, deps }: SessionContext, updates: JsonObject): void {
  const { variables } = deps;
  for (const [name, sent] of Object.entries(updates)) {
    try {
      if (sent === null) {
        const byDefault = (settableBy(variables.manifest, name, 'model').default ?? null) as Json;
        setVariable(variables, name, byDefault, 'model', { resets: true });
      } else setVariable(variables, name, sent, 'model');
    } catch (thrown) {
      const { message, hint } = toRuntimeError(thrown);
      log.append({
        type: 'fault',
        code: 'bad_variable',
        message: `"${clip(name, MAX_NAME_QUOTED)}" of "context_updates" was not set. ${message}${hint === undefined ? '' : ` ${hint}`}`,
      });
    }
  }
}

function openResponse(activeTurn: ActiveTurn, final: boolean): void {
  const { log, scheduler, manifest } = activeTurn.context;
  const before = activeTurn.responses.at(-1)?.stream;
  activeTurn.responseFinal = final;
  activeTurn.response = createResponseStream(scheduler, log, final, manifest.output !== undefined, before);
}

function closeResponse(
  activeTurn: ActiveTurn,
  close: Extract<ParserEvent, { type: 'close' }>,
  consumed: number,
): void {
  const { response: stream, output, context } = activeTurn;
  if (stream === undefined) return;
  const meant = (close.final ?? activeTurn.responseFinal) && close.truncated !== true;
  const final = meant && context.guide === undefined;
  activeTurn.response = undefined;
  const inVain = meant && !final ? { inVain: true as const } : {};
  activeTurn.responses = [...activeTurn.responses, { stream, final, ...inVain }];
  writeOutput(output, consumed);
  endResponse(stream);
  if (final) {
    activeTurn.ignoresRest = true;
    const mayFollow = mayHandOver(context.manifest) && !handsOver(context.state);
    if (!activeTurn.endedOpen && !mayFollow) cutStream(activeTurn, 'final');
  } else
    whenComplete(stream, () => context.log.append({ type: 'response', text: stream.text, final: false }));
}

const TRUNCATED_RESPONSE = { type: 'close', tag: 'response', truncated: true } as const;

/** The stream is over, and it was the runtime that cut it: what is still open is said as far as it went. */
export function closeOpen(activeTurn: ActiveTurn): void {
  closeResponse(activeTurn, TRUNCATED_RESPONSE, activeTurn.parser.consumed);
  closeThoughts(activeTurn.output);
}

/** Declares an action, and returns its id if nothing behind it counts before it has ended. */
function declareAction(activeTurn: ActiveTurn, intent: ActionIntent, consumed: number): string | undefined {
  const { context, groups, output } = activeTurn;
  if (repeatsTooOften(activeTurn, intent)) return undefined;
  markGroupsUsed(activeTurn);
  const action = context.deps.prepared.toAction(intent, groups);
  if (!action.ok) {
    reportRejected(activeTurn, errorAsFault(action.error), consumed);
    return undefined;
  }
  if (isAfterStep(activeTurn, consumed)) return undefined;
  activeTurn.stepCompleted = context.guide !== undefined && completesStep(action.value);
  writeOutput(output, consumed);
  // The turn waits for what ends a step: else the next one would begin in the midst of it.
  const asked = withoutEmptyGroups(activeTurn, inOwnMode(context, action.value));
  const declared = activeTurn.stepCompleted && !isAwaited(asked) ? asTracked(asked) : asked;
  const id = context.scheduler.declare(declared, context.log.here());
  if (id === undefined || declared.mode !== 'sync' || groups.length > 0) return undefined;
  if (context.manifest.protocol.on_sync === 'buffer') return id;
  // The model is shown the result at once: no tokens are spent on guessing it.
  activeTurn.cutAtAction = id;
  activeTurn.ignoresRest = true;
  activeTurn.toldAfterFinal = true;
  cutStream(activeTurn, 'sync');
  return undefined;
}

/** The same call in a row in one turn, without ids to tell them apart: nobody means that. */
const MAX_SAME_CALLS = 50;

/** Whether the model repeats itself: then nothing that follows is heard. */
function repeatsTooOften(activeTurn: ActiveTurn, action: ActionIntent): boolean {
  const last = activeTurn.sameAction;
  if (last === undefined || !isSame(last.action, action)) {
    activeTurn.sameAction = GIVEN_ID.test(action.id) ? { action, times: 1 } : undefined;
    return false;
  }
  last.times++;
  if (last.times <= MAX_SAME_CALLS) return false;
  activeTurn.repeated = sameCall(action.name ?? '', MAX_SAME_CALLS);
  activeTurn.ignoresRest = true;
  activeTurn.toldAfterFinal = true;
  cutStream(activeTurn, 'repeats');
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
export const errorAsFault = ({ code, message, hint = '' }: RuntimeError) => ({
  code,
  message: `${message} ${hint}`.trim(),
});

/** Says why what was asked for is not done. */
function reportRejected(
  activeTurn: ActiveTurn,
  problem: { readonly code: string; readonly message: string },
  consumed: number,
): void {
  const fault = faultWithGroups(activeTurn, problem);
  writeEvent(activeTurn.output, fault, consumed);
  if (fault.groups !== undefined) activeTurn.context.scheduler.invalidateParallels(fault.groups);
}

const isAwaited = ({ mode }: DeclaredAction): boolean => mode !== 'fire_and_forget' && mode !== 'background';

/** A tool may say of itself that nobody waits for it. The close of a `<parallel>` waits for all that stands in it. */
function inOwnMode({ deps }: SessionContext, action: DeclaredAction): DeclaredAction {
  const { kind, name, mode, group } = action;
  if (mode !== 'async' || group !== undefined) return action;
  const target = deps.prepared.targets.find(kind, name);
  return target?.background === true ? { ...action, mode: 'background' } : action;
}

const asTracked = (action: DeclaredAction): DeclaredAction => ({ ...action, mode: 'async' });

/** What follows the end of a step in its turn would be done before anybody knows what comes next. Told once. */
function isAfterStep(activeTurn: ActiveTurn, consumed: number): boolean {
  if (!activeTurn.stepCompleted || activeTurn.toldAfterStep) return activeTurn.stepCompleted;
  activeTurn.toldAfterStep = true;
  writeEvent(activeTurn.output, { type: 'fault', code: 'after_step', message: AFTER_STEP }, consumed);
  return true;
}

const AFTER_STEP =
  'Something followed complete_step in the same turn and was not begun: a step ends with it. Do everything else before it.';

/** Declares what a `<foreach>` is to do for each of its list. */
function declareForEach(
  activeTurn: ActiveTurn,
  event: Extract<ParserEvent, { type: 'foreach' }>,
  consumed: number,
): void {
  const { context, groups, output } = activeTurn;
  if (isAfterStep(activeTurn, consumed)) return;
  markGroupsUsed(activeTurn);
  writeOutput(output, consumed);
  const actions = event.actions.map((intent) => context.deps.prepared.toAction(intent, groups));
  const bad = forEachProblem(context, actions);
  if (bad !== undefined) {
    reportRejected(activeTurn, bad, consumed);
    return;
  }
  const declared = actions.flatMap((action) =>
    action.ok ? [withoutEmptyGroups(activeTurn, inOwnMode(context, action.value))] : [],
  );
  context.scheduler.declareForEach({ in: event.in, as: event.as, actions: declared }, context.log.here());
}

/** Why a `<foreach>` of these cannot be made, if it cannot. */
export function forEachProblem(
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
