import { completesStep, type DeclaredAction, isTracked } from '../../events/action.ts';
import type { EventBody } from '../../events/event.ts';
import { showsTag } from '../../events/shows-tag.ts';
import { added } from '../../kernel/grow.ts';
import type { ActionIntent, ParserEvent } from '../../protocol/intents.ts';
import { badTest, closeBranch, openBranch, otherBranch } from './branches.ts';
import { decideIf } from './decide-if.ts';
import { DIALECT_WORDS } from './dialect-words.ts';
import { createGate, holdAt } from './gate.ts';
import { closeGroup, fillGroups, openGroup, withoutEmpty } from './groups.ts';
import { cut, type Hearing } from './hearing-state.ts';
import { keptFromActing } from './kept-from-acting.ts';
import { type Fault, leftOpenIf, passBy } from './passed-faults.ts';
import { createResponseStream, endResponse, pushResponse, whenOut } from './response-stream.ts';
import { setVariables } from './set-variables.ts';
import {
  closeThought,
  closeThoughts,
  endRun,
  openThought,
  sayText,
  think,
  writeLater,
  writeOutput,
} from './spoken.ts';
import { noteUnused } from './unused-ids.ts';

/** Acts on what the model said, in the order in which it did. `consumed` is how far the stream had been read. */
export function act(hearing: Hearing, event: ParserEvent, consumed: number): void {
  if (hearing.over) {
    passOver(hearing, event, consumed);
    return;
  }
  const { spoken, context } = hearing;
  hearing.tagged ||= isTag(event);
  if (event.type !== 'text' && event.type !== 'fault') endRun(spoken, consumed);
  if (!hearing.branchHolds && event.type !== 'if') {
    noteUnused(hearing, event);
    passBy(hearing, event);
    return;
  }
  switch (event.type) {
    case 'text':
      sayText(spoken, event.text);
      return;
    case 'open':
      if (event.tag === 'thought') openThought(spoken, event.depth);
      else openResponse(hearing, event.final);
      return;
    case 'delta':
      if (event.tag === 'thought') think(spoken, event.text);
      else if (hearing.response !== undefined) pushResponse(hearing.response, event.text);
      return;
    case 'close':
      if (event.tag === 'thought') closeThought(spoken, consumed);
      else closeResponse(hearing, event, consumed);
      return;
    case 'action':
      declare(hearing, event, consumed);
      return;
    case 'metadata':
      writeOutput(spoken, consumed);
      context.works.applyMetadata(event.value, 'model');
      return;
    case 'variables':
      writeOutput(spoken, consumed);
      setVariables(context, event.value);
      return;
    case 'if':
      if (event.body === 'else') otherBranch(hearing);
      else if (event.body === 'close') closeIf(hearing, consumed);
      else openBranch(hearing, () => decide(hearing, event.test, consumed));
      return;
    case 'foreach':
      loop(hearing, event, consumed);
      return;
    case 'parallel': {
      if (event.body === 'open') {
        noteUnused(hearing, event); // where no action comes to stand in it
        openGroup(hearing, event.id, context.state.turn);
        return;
      }
      const group = closeGroup(hearing);
      if (group !== undefined) waitFor(hearing, group);
      return;
    }
    case 'fault':
      if (keptFromActing([event]).length > 0) fillGroups(hearing);
      tell(hearing, event, consumed);
      return;
  }
}

/** Whether it came of a tag. */
export const isTag = (event: ParserEvent): boolean =>
  event.type === 'fault' ? showsTag(event.code) : event.type !== 'text';

function closeIf(hearing: Hearing, consumed: number): void {
  closeBranch(hearing);
  const left = leftOpenIf(hearing);
  if (left !== undefined && hearing.branchHolds) tell(hearing, left, consumed);
}

function tell({ spoken }: Hearing, { code, message }: Fault, consumed: number): void {
  writeLater(spoken, { type: 'fault', code, message }, consumed);
}

/** Undefined where it cannot be decided: then the model is told, and a final response of its turn does not count. */
function decide({ spoken, context }: Hearing, test: string, consumed: number): boolean | undefined {
  const decided = decideIf(context, test);
  const { held, problem } = decided;
  // Before the decision: a log that ends between the two must not have lost something unsaid.
  if (problem !== undefined) writeLater(spoken, badTest(test, problem), consumed);
  writeLater(spoken, { type: 'if.decided', test, ...decided }, consumed);
  return problem === undefined ? held : undefined;
}

/** Behind a closed final response. The end of what it stood in is no new tag, nor is the other branch of its `<if>`. */
function passOver(hearing: Hearing, event: ParserEvent, consumed: number): void {
  noteUnused(hearing, event);
  if (event.type === 'if' && event.body === 'else') otherBranch(hearing);
  else if (event.type === 'if' && event.body === 'close') closeBranch(hearing);
  else if (!hearing.afterFinal && hearing.branchHolds && isNewTag(event)) {
    hearing.afterFinal = true;
    const message = DIALECT_WORDS[hearing.context.manifest.dialect].afterFinal;
    record(hearing, { type: 'fault', code: 'after_final', message }, consumed);
  }
  if (event.type === 'if' && event.body === 'open') openBranch(hearing, () => false);
}

const isNewTag = (event: ParserEvent): boolean =>
  event.type === 'parallel'
    ? event.body === 'open'
    : event.type !== 'text' && event.type !== 'delta' && event.type !== 'close' && event.type !== 'fault';

function record({ spoken, context }: Hearing, body: EventBody, consumed: number): void {
  writeOutput(spoken, consumed);
  context.log.append(body);
}

function declare(hearing: Hearing, intent: ActionIntent, consumed: number): void {
  const { context, groups, spoken } = hearing;
  fillGroups(hearing);
  const group = groups.at(-1);
  const action = context.edges.prepared.toAction(intent, groups);
  if (!action.ok) {
    noteUnused(hearing, intent);
    const { code, message, hint } = action.error;
    record(hearing, { type: 'fault', code, message: `${message} ${hint ?? ''}`.trim() }, consumed);
    return;
  }
  if (isAfterStep(hearing, intent, consumed)) return;
  hearing.completed = context.guide !== undefined && completesStep(action.value);
  writeOutput(spoken, consumed);
  // The turn waits for what ends a step: else the next one would begin in the midst of it.
  const asked = withoutEmpty(hearing, action.value);
  const declared = hearing.completed && !isTracked(asked) ? inTurn(asked) : asked;
  const { id, mode } = declared;
  context.scheduler.declare(declared, context.log.here());
  if (group !== undefined || mode !== 'sync') return;
  if (context.manifest.protocol.on_sync === 'buffer') waitFor(hearing, id);
  else {
    // The model is shown the result at once: no tokens are spent on guessing it.
    hearing.observed = id;
    hearing.over = true;
    hearing.afterFinal = true;
    cut(hearing, 'sync');
  }
}

const inTurn = (action: DeclaredAction): DeclaredAction => ({ ...action, mode: 'async' });

/** What follows the end of a step in its turn would be done before anybody knows what comes next. Told once. */
function isAfterStep(hearing: Hearing, event: ParserEvent, consumed: number): boolean {
  if (hearing.completed) noteUnused(hearing, event);
  if (!hearing.completed || hearing.afterStep) return hearing.completed;
  hearing.afterStep = true;
  record(hearing, { type: 'fault', code: 'after_step', message: AFTER_STEP }, consumed);
  return true;
}

const AFTER_STEP =
  'Something followed complete_step in the same turn and was not begun: a step ends with it. Do everything else before it.';

/** Holds back what follows until the action or group has ended. */
function waitFor(hearing: Hearing, id: string): void {
  hearing.gate ??= createGate();
  holdAt(
    hearing.gate,
    (open) => hearing.context.scheduler.whenEnded([id], open),
    (event, consumed) => act(hearing, event, consumed),
  );
}

function loop(hearing: Hearing, event: Extract<ParserEvent, { type: 'foreach' }>, consumed: number): void {
  const { context, groups, spoken } = hearing;
  if (isAfterStep(hearing, event, consumed)) return;
  fillGroups(hearing);
  writeOutput(spoken, consumed);
  const actions = event.actions.map((intent) => context.edges.prepared.toAction(intent, groups));
  const bad = actions.find((action) => !action.ok);
  if (bad !== undefined && !bad.ok) {
    noteUnused(hearing, event);
    record(hearing, { type: 'fault', code: bad.error.code, message: bad.error.message }, consumed);
    return;
  }
  const declared = actions.flatMap((action) => (action.ok ? [withoutEmpty(hearing, action.value)] : []));
  if (context.guide !== undefined && declared.some(completesStep)) {
    noteUnused(hearing, event);
    record(hearing, { type: 'fault', code: 'bad_action', message: IN_LOOP }, consumed);
    return;
  }
  context.scheduler.loop({ in: event.in, as: event.as, actions: declared }, context.log.here());
}

const IN_LOOP = 'complete_step stands in a <foreach>, so nothing of it was run: a step is completed once.';

function openResponse(hearing: Hearing, final: boolean): void {
  const { log, scheduler } = hearing.context;
  hearing.responseFinal = final;
  hearing.response = createResponseStream(scheduler, log, final, hearing.responses.at(-1)?.stream);
}

function closeResponse(
  hearing: Hearing,
  close: Extract<ParserEvent, { type: 'close' }>,
  consumed: number,
): void {
  const { response: stream, spoken, context } = hearing;
  if (stream === undefined) return;
  const meant = (close.final ?? hearing.responseFinal) && close.truncated !== true;
  const final = meant && context.guide === undefined;
  hearing.response = undefined;
  const inVain = meant && !final ? { inVain: true as const } : {};
  // A copy: docs/decisions/copies.md
  hearing.responses = added(hearing.responses, { ...{ stream, final }, ...inVain });
  writeOutput(spoken, consumed);
  endResponse(stream);
  if (final) {
    hearing.over = true;
    cut(hearing, 'final');
  } else whenOut(stream, () => context.log.append({ type: 'response', text: stream.text, final: false }));
}

const CUT_OFF = { type: 'close', tag: 'response', truncated: true } as const;

/** The stream is over, and it was the runtime that cut it: what is still open is said as far as it went. */
export function closeOpen(hearing: Hearing): void {
  closeResponse(hearing, CUT_OFF, hearing.parser.consumed);
  closeThoughts(hearing.spoken);
}
