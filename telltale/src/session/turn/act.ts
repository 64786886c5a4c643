import { showsTag } from '../../events/shows-tag.ts';
import type { ParserEvent } from '../../protocol/intents.ts';
import { badTest, closeBranch, openBranch, otherBranch } from './branches.ts';
import { decideIf } from './decide-if.ts';
import { declare, loop } from './declare.ts';
import { DIALECT_WORDS } from './dialect-words.ts';
import { createGate, holdAt } from './gate.ts';
import { endsWithoutTag, faultIn } from './group-faults.ts';
import { closeGroup, fillGroups, isEmpty, openGroup } from './groups.ts';
import type { Hearing } from './hearing-state.ts';
import { keptFromActing } from './kept-from-acting.ts';
import { leftOpenIf, passBy } from './passed-faults.ts';
import { pushResponse } from './response-stream.ts';
import { closeResponse, openResponse } from './responses.ts';
import { setVariables } from './set-variables.ts';
import {
  closeThought,
  endRun,
  openThought,
  record,
  sayText,
  think,
  writeLater,
  writeOutput,
} from './spoken.ts';

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
