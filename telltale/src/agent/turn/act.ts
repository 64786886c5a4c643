import { decideTest, type EvaluateDecision } from '../../expressions/cel/evaluate.ts';
import { toRuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { HANDOFF } from '../../log/action.ts';
import { handsOver } from '../../log/fold-handoffs.ts';
import { showsTag } from '../../log/fold-turns.ts';
import type { ActionIntent, ParserEvent } from '../../parser/intents.ts';
import { clip } from '../../prompt/text.ts';
import { mayHandOver } from '../internal/handoff.ts';
import type { SessionContext } from '../session-context.ts';
import { settableBy, setVariable } from '../variables/session-variables.ts';
import { createGate, cut, type Hearing, holdAt, leftOpenIf, passBy } from './active-turn.ts';
import { declare, loop } from './declare.ts';
import { DIALECT_WORDS } from './dialect-words.ts';
import {
  badTest,
  closeBranch,
  closeGroup,
  endsWithoutTag,
  faultIn,
  fillGroups,
  isEmpty,
  keptFromActing,
  openBranch,
  openGroup,
  otherBranch,
} from './groups.ts';
import {
  closeThought,
  closeThoughts,
  endRun,
  openThought,
  record,
  sayText,
  think,
  writeLater,
  writeOutput,
} from './output-buffer.ts';
import { createResponseStream, endResponse, pushResponse, whenOut } from './response-stream.ts';

/** Acts on what the model said, in the order in which it did. `consumed` is how far the stream had been read. */
export function act(hearing: Hearing, event: ParserEvent, consumed: number): void {
  if (hearing.over) {
    if (isLateHandoff(hearing, event)) {
      declare(hearing, event, consumed);
      cut(hearing, 'final');
    } else passOver(hearing, event, consumed);
    return;
  }
  const { spoken, context } = hearing;
  hearing.tagged ||= isTag(event);
  if (event.type !== 'text' && event.type !== 'fault') endRun(spoken, consumed);
  if (!hearing.branchHolds && event.type !== 'if') {
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
    case 'action': {
      const awaited = declare(hearing, event, consumed);
      if (awaited !== undefined) waitFor(hearing, awaited);
      return;
    }
    case 'metadata':
      writeOutput(spoken, consumed);
      context.works.applyMetadata(event.value, 'model');
      context.scheduler.named(event.value, context.log.here());
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
        const id = event.id === undefined ? undefined : context.scheduler.claim(event.id);
        if (typeof id === 'object') {
          fillGroups(hearing);
          tell(hearing, id, consumed);
        }
        openGroup(hearing, typeof id === 'string' ? id : undefined, context.state.turn);
        return;
      }
      const wasEmpty = isEmpty(hearing);
      const group = closeGroup(hearing);
      if (group === undefined) return;
      // The log says that it was closed: after a restart it counts as whole. But what follows in place of an end tag is held
      // back, and is on the log when it is acted on.
      if (!wasEmpty && !hearing.endsUntagged) writeOutput(spoken, consumed);
      hearing.endsUntagged = false;
      context.scheduler.closed(group);
      waitFor(hearing, group);
      return;
    }
    case 'fault':
      if (keptFromActing([event]).length > 0) fillGroups(hearing);
      hearing.endsUntagged = endsWithoutTag(event);
      tell(hearing, event, consumed);
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

function closeIf(hearing: Hearing, consumed: number): void {
  closeBranch(hearing);
  const left = leftOpenIf(hearing);
  if (left !== undefined && hearing.branchHolds) tell(hearing, left, consumed);
}

function tell(hearing: Hearing, found: Problem, consumed: number): void {
  const fault = faultIn(hearing, found);
  if (fault.groups === undefined) writeLater(hearing.spoken, fault, consumed);
  else {
    record(hearing.spoken, fault, consumed); // before what it keeps from being done
    hearing.context.scheduler.spoil(fault.groups);
  }
}

/** Undefined where it cannot be decided: then the model is told, and a final response of its turn does not count. */
function decide(hearing: Hearing, test: string, consumed: number): boolean | undefined {
  const { spoken, context } = hearing;
  const decided = decideIf(context, test);
  const { held, problem } = decided;
  // Before the decision: a log that ends between the two must not have lost something unsaid.
  if (problem !== undefined) tell(hearing, badTest(test, problem), consumed);
  writeLater(spoken, { type: 'if.decided', test, ...decided }, consumed);
  return problem === undefined ? held : undefined;
}

/** Behind a closed final response. The end of what it stood in is no new tag, nor is the other branch of its `<if>`. */
function passOver(hearing: Hearing, event: ParserEvent, consumed: number): void {
  if (event.type === 'if' && event.body === 'else') otherBranch(hearing);
  else if (event.type === 'if' && event.body === 'close') closeBranch(hearing);
  else if (!hearing.afterFinal && hearing.branchHolds && isNewTag(event)) {
    hearing.afterFinal = true;
    const message = DIALECT_WORDS[hearing.context.manifest.dialect].afterFinal;
    record(hearing.spoken, { type: 'fault', code: 'after_final', message }, consumed);
  }
  if (event.type === 'if' && event.body === 'open') openBranch(hearing, () => false);
}

/** Models like to say their last word first, and hand over behind it. */
const isLateHandoff = (hearing: Hearing, event: ParserEvent): event is ActionIntent =>
  event.type === 'action' &&
  event.name === HANDOFF &&
  (event.kind ?? 'internal') === 'internal' &&
  hearing.branchHolds &&
  !hearing.afterFinal &&
  mayHandOver(hearing.context.manifest);

const isNewTag = (event: ParserEvent): boolean =>
  event.type === 'parallel'
    ? event.body === 'open'
    : event.type !== 'text' && event.type !== 'delta' && event.type !== 'close' && event.type !== 'fault';

/** Holds back what follows until the action or group has ended. */
function waitFor(hearing: Hearing, id: string): void {
  hearing.gate ??= createGate();
  holdAt(
    hearing.gate,
    (open) => hearing.context.scheduler.whenEnded([id], open),
    (event, consumed) => act(hearing, event, consumed),
  );
}

const FIELD = /\bmetadata\.([A-Za-z_]\w*)/g;

/** Decides the test of an `<if>`. That a field is declared and not set is said: "no such key" reads as a wrong name. */
export function decideIf(
  { works, manifest, state }: Pick<SessionContext, 'works' | 'manifest' | 'state'>,
  test: string,
): EvaluateDecision {
  const decided = decideTest(test, () => works.context());
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

function openResponse(hearing: Hearing, final: boolean): void {
  const { log, scheduler, manifest } = hearing.context;
  const before = hearing.responses.at(-1)?.stream;
  hearing.responseFinal = final;
  hearing.response = createResponseStream(scheduler, log, final, manifest.output !== undefined, before);
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
  hearing.responses = [...hearing.responses, { stream, final, ...inVain }];
  writeOutput(spoken, consumed);
  endResponse(stream);
  if (final) {
    hearing.over = true;
    const mayFollow = mayHandOver(context.manifest) && !handsOver(context.state);
    if (!hearing.endedOpen && !mayFollow) cut(hearing, 'final');
  } else whenOut(stream, () => context.log.append({ type: 'response', text: stream.text, final: false }));
}

const CUT_OFF = { type: 'close', tag: 'response', truncated: true } as const;

/** The stream is over, and it was the runtime that cut it: what is still open is said as far as it went. */
export function closeOpen(hearing: Hearing): void {
  closeResponse(hearing, CUT_OFF, hearing.parser.consumed);
  closeThoughts(hearing.spoken);
}
