import { NONE } from '../../kernel/grow.ts';
import type { SessionContext } from '../context.ts';
import { renewBranches } from './branches.ts';
import { renewCloseSplitter } from './close-splitter.ts';
import { renewGroups } from './groups.ts';
import type { Hearing } from './hearing-state.ts';
import { openSpeech } from './open-speech.ts';
import { renewPassed } from './passed-faults.ts';
import { createSpoken, renewSpoken } from './spoken.ts';
import { takeTurnParser } from './turn-parser.ts';

/**
 * For the turn in hand, which has begun: that of the turn before, made as new. With a hundred sessions what a turn makes
 * outlives it, and all that it points to: 1.3 KB of 7.9 KB a step. One that held something back may still be called by
 * what it waited for, and is not used again.
 */
export function takeHearing(context: SessionContext, before: Hearing | undefined): Hearing {
  const parser = takeTurnParser(context);
  const isSpent = before === undefined || before.gate !== undefined;
  if (isSpent) return createHearing(context, parser);
  renew(before, context, parser);
  return before;
}

function createHearing(context: SessionContext, parser: Hearing['parser']): Hearing {
  return {
    // A copy: docs/decisions/copies.md
    context,
    abort: new AbortController(),
    streaming: undefined,
    streamed: undefined,
    cutFor: undefined,
    repeated: undefined,
    sameAction: undefined,
    parser,
    calls: 'advance' in parser ? parser : undefined,
    closing: false,
    endsWithLess: false,
    gate: undefined,
    branchHolds: true,
    openIfs: NONE,
    spoken: createSpoken(context.log),
    openSpeech,
    responses: NONE,
    groups: NONE,
    spoilt: 0,
    parallels: 0,
    emptyGroups: undefined,
    response: undefined,
    responseFinal: false,
    over: false,
    endedOpen: false,
    tagged: false,
    afterFinal: false,
    observed: undefined,
    endsUntagged: false,
    completed: false,
    afterStep: false,
    passedLast: undefined,
    passed: NONE,
  };
}

/** All that a turn changes, but for a gate: it has none. */
function renew(hearing: Hearing, context: SessionContext, parser: Hearing['parser']): void {
  hearing.context = context;
  hearing.abort = new AbortController();
  hearing.streaming = undefined;
  hearing.streamed = undefined;
  hearing.cutFor = undefined;
  hearing.repeated = undefined;
  hearing.sameAction = undefined;
  hearing.parser = parser;
  hearing.calls = 'advance' in parser ? parser : undefined;
  renewCloseSplitter(hearing);
  renewBranches(hearing);
  renewSpoken(hearing.spoken);
  hearing.responses = NONE;
  renewGroups(hearing);
  hearing.response = undefined;
  hearing.responseFinal = false;
  hearing.over = false;
  hearing.endedOpen = false;
  hearing.tagged = false;
  hearing.afterFinal = false;
  hearing.observed = undefined;
  hearing.endsUntagged = false;
  hearing.completed = false;
  hearing.afterStep = false;
  renewPassed(hearing);
}
