import { type DeclaredAction, isForEach, isReported } from '../log/action.ts';
import { handsOver } from '../log/fold-handoffs.ts';
import { TURN_CUT_SHORT } from '../log/fold-turns.ts';
import type { SessionState } from '../log/state.ts';
import type { FaultBody } from '../scheduler/faults.ts';
import { loopOf } from '../scheduler/foreach.ts';
import { costWith, countUsage } from './cost.ts';
import { modelInTurn } from './fallback.ts';
import type { SessionContext } from './session-context.ts';
import type { AfterTurn } from './turn/final-response.ts';
import { completedWith, responsesComplete, settle } from './turn/final-response.ts';
import { finishTurn } from './turn/finish-turn.ts';
import { type ReplayedTurn, replayTurn } from './turn/replay-turn.ts';
import { setVariables } from './turn/turn-interpreter.ts';

/** What the last turn before a restart left to do. */
export type UnfinishedTurn =
  /** It is over, and nobody has decided on what follows. */
  | { readonly kind: 'undecided'; readonly heard: ReplayedTurn }
  /** It broke off: what held its stream up still has to end, and its responses to go out. */
  | { readonly kind: 'broken'; readonly heard: ReplayedTurn }
  /** Its final response is on the log, and the session's end is not. */
  | { readonly kind: 'final'; readonly text: string };

/**
 * Takes a folded session up where its log ends. What had been started without a result is run again or written down as
 * interrupted; the turn that was open is closed. `promptTokens` is what it was asked with.
 */
export function recover(context: SessionContext, promptTokens: number): UnfinishedTurn | undefined {
  const { state, log, scheduler } = context;
  scheduler.restore(state);
  if (state.turn === 0) return undefined;
  const { response } = state;
  if (response?.final === true && response.turn === state.turn) return { kind: 'final', text: response.text };
  const heard = replayTurn(context);
  if (!state.turnOpen) {
    const isBroken = state.news.broken !== undefined || state.again === true;
    scheduler.turnEnded(isBroken ? 'broken' : 'well');
    if (!isBroken) return { kind: 'undecided', heard };
    reportLost(context, heard);
    return { kind: 'broken', heard };
  }
  const usage = countUsage(state, promptTokens);
  const cost_usd = costWith(modelInTurn(context), usage);
  if (heard.final || heard.cutAtAction !== undefined) {
    reportFaults(context, heard);
    sayThoughts(context, heard);
    // Its final response had been closed, or it was to wait for a sync action: the stream would have been cut anyway.
    log.append({ type: 'turn.completed', usage, cost_usd, ms: 0, first_token_ms: 0, finish: 'cut' });
    scheduler.turnEnded('well');
    return { kind: 'undecided', heard };
  }
  reportFaults(context, heard);
  setLast(context, heard);
  sayThoughts(context, heard);
  reportLost(context, heard);
  const error = { code: TURN_CUT_SHORT, message: CUT_SHORT, retryable: true };
  const { groups } = heard;
  const within = groups.length === 0 ? {} : { groups };
  const again = state.turns.at(-1)?.output === '' ? ({ again: true } as const) : {};
  log.append({ type: 'turn.failed', error, retry_in: 0, ...again, ...within, usage, cost_usd });
  scheduler.invalidateParallels(groups);
  scheduler.turnEnded('broken');
  return { kind: 'broken', heard };
}

const CUT_SHORT =
  'You were cut short: the runtime was restarted, or let go of the session while it waited for a person.';

/**
 * Writes down the faults of the turn that are not on the log yet: they go there behind the text they are about, and one
 * of them may be why its final response does not count.
 */
function reportFaults(context: SessionContext, { faults }: ReplayedTurn): void {
  const known = [...context.state.news.faults];
  for (const fault of faults) {
    const at = known.findIndex(({ code, message }) => fault.code === code && fault.message === message);
    if (at === -1) reportFault(context, fault);
    else known.splice(at, 1);
  }
}

function reportFault({ log, scheduler }: SessionContext, fault: FaultBody): void {
  log.append(fault);
  if (fault.groups !== undefined) scheduler.invalidateParallels(fault.groups);
}

/** What the turn set last, and the log ends before. An action there is not begun: it could be one too many. */
function setLast(context: SessionContext, { unset }: ReplayedTurn): void {
  if (unset?.type === 'metadata') {
    context.services.applyMetadata(unset.value, 'model');
    context.scheduler.valuesSet(unset.value, context.log.here()); // a `<foreach>` may wait for its list
  } else if (unset?.type === 'variables') setVariables(context, unset.value);
}

function sayThoughts({ log }: SessionContext, { thoughts }: ReplayedTurn): void {
  for (const thought of thoughts) log.append({ type: 'thought', ...thought });
}

/** Tells the model, once, which of its actions were never run. */
function reportLost(context: SessionContext, { lost }: ReplayedTurn): void {
  for (const fault of lost)
    if (!context.state.news.faults.some(({ message }) => message === fault.message))
      reportFault(context, fault);
}

/** Does what was left to do, and says what follows. */
export async function finishUnfinishedTurn(
  context: SessionContext,
  left: UnfinishedTurn,
): Promise<AfterTurn> {
  const { state } = context;
  if (left.kind !== 'undecided' && handsOver(state)) {
    await settle(context);
    if (state.handoff !== undefined) return { kind: 'completed', result: null };
  }
  switch (left.kind) {
    case 'undecided':
      return finishTurn(context, left.heard);
    case 'broken':
      await heldEnded(context);
      await responsesComplete(context, left.heard.responses);
      return { kind: 'turn' };
    case 'final': {
      // Somebody has spoken to it since: there is nobody but this session to answer.
      if (state.chat !== true && state.news.messages.length > 0) return { kind: 'turn' };
      const output = context.deps.prepared.checkOutput(left.text);
      return output.ok ? completedWith(context, output.value) : { kind: 'turn' };
    }
  }
}

/**
 * Waits until what held the last turn's stream up has ended. Whoever has a word for the agent while all that is left
 * waits for people, perhaps for days, is heard before that.
 */
async function heldEnded({ scheduler, reviews, stop, state }: SessionContext): Promise<void> {
  const held = heldUpBy(state);
  let isOver = held.length === 0;
  while (!isOver && stop.reason === undefined && !reviews.hasUserMessage())
    await reviews.untilMessage((done) =>
      scheduler.whenAllEnded(held, () => {
        isOver = true;
        done();
      }),
    );
}

/** What has not ended of its sync actions, and of its `<parallel>`s that were closed. */
function heldUpBy({ open, actions, turn, news }: SessionState): readonly string[] {
  const inClosed = ({ group }: DeclaredAction) =>
    group !== undefined && news.broken?.groups?.includes(group) !== true;
  return [...open].filter((id) => {
    const known = actions.get(id);
    if (known?.turn !== turn || !isReported(known.action)) return false;
    const { action } = known;
    if (action.mode === 'sync' && action.base === undefined) return true;
    return (isForEach(action) ? loopOf(action).actions : [action]).some(inClosed);
  });
}
