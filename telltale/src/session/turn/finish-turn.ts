import { handsOver } from '../../events/fold-handoffs.ts';
import type { SessionState } from '../../events/state.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { OUTPUT_LIMIT, REPEATS, TURN_TOO_LONG } from '../../prompt/own-words.ts';
import type { SessionContext } from '../context.ts';
import { bareText, isAnswer } from './bare-text.ts';
import { actOnCalls, mayHoldCalls, tellOfCalls } from './calls-in-text.ts';
import { concludeWith, finishWithFinal } from './final-response.ts';
import { finishLedTurn } from './finish-led-turn.ts';
import type { Heard } from './hearing-state.ts';
import type { Next } from './next.ts';
import { lacksNotes, noTags, remind, tellOnce } from './remind.ts';
import { MAX_SAME_TURNS, sameTurns, stalledInRow, tellsOfSame } from './same-turns.ts';
import { isOnlyInBackground, responsesOut, settle, untilNews } from './settle-actions.ts';

/** Turns in a row without an action, a change of metadata or a response. */
const MAX_IDLE_TURNS = 3;

const STOPPED: Next = { kind: 'stopped' };
const TURN: Next = { kind: 'turn' };
const HANDED_OVER: Next = { kind: 'completed', result: null };

/**
 * Decides, once the stream has ended and all of it was acted on, whether and how the session goes on. A promise where
 * something has to be waited for: a turn that only acted, and whose actions have ended, needs none.
 */
export function finishTurn(context: SessionContext, heard: Heard): Promise<Next> | Next {
  const isPlain =
    heard.tagged && heard.responses.length === 0 && heard.observed === undefined && !mayHoldCalls(heard.text);
  if (!isPlain || context.guide !== undefined) return finishWith(context, heard);
  const settling = settle(context);
  return settling === undefined ? goOn(context) : settling.then(() => goOn(context));
}

async function finishWith(context: SessionContext, heard: Heard): Promise<Next> {
  const { stop, scheduler } = context;
  if (heard.responses.length > 0) await responsesOut(context, heard.responses);
  if (handsOver(context.state)) {
    await settle(context);
    if (stop.reason !== undefined) return STOPPED;
    if (context.state.handoff !== undefined) return endWithHandoff(context, heard);
  }
  const final = heard.responses.findLast((response) => response.final);
  if (final !== undefined) {
    const next = await finishWithFinal(context, final);
    if (next.kind === 'turn') await tellOfCalls(context, heard);
    return next;
  }
  if (heard.observed !== undefined) {
    const { observed } = heard;
    await context.reviews.untilSpokenTo((done) => scheduler.whenEnded([observed], done));
  }
  const text = isCutOff(context.state) ? undefined : bareText(context, heard);
  const holdsCalls = text === undefined ? await tellOfCalls(context, heard) : await actOnCalls(context, text);
  if (context.guide !== undefined) return finishLedTurn(context, context.guide, heard);
  await settle(context);
  if (stop.reason !== undefined) return STOPPED;
  return text === undefined || holdsCalls ? goOn(context) : finishBare(context, text);
}

/** What the agent says beside a handoff is its last word, whatever else its actions came to: nobody asks it again. */
function endWithHandoff({ log }: SessionContext, heard: Heard): Next {
  const final = heard.responses.findLast((response) => response.final);
  if (final === undefined) return HANDED_OVER;
  const { text } = final.stream;
  if (/\S/.test(text)) log.append({ type: 'response', text, final: true });
  log.speaking = undefined;
  return { kind: 'completed', result: text };
}

/** The turn was nothing but text: it is the answer, or the model is told how to give one. */
async function finishBare(context: SessionContext, text: string): Promise<Next> {
  const { state, scheduler, inbox, stop } = context;
  const isUnseen = state.news.results.length > 0 || scheduler.tracked().length > 0;
  // It cannot rest on what has not ended. A chat goes on with what runs in the background, and the person is answered.
  if (isUnseen || (state.chat !== true && isOnlyInBackground(context))) return goOn(context);
  if (!isAnswer(context)) {
    if (state.idleTurns >= MAX_IDLE_TURNS) return { kind: 'stalled', error: stalled(state) };
    tellOnce(context, 'no_tags', noTags(context, text).message);
    return TURN;
  }
  await inbox.underWay();
  return stop.reason === undefined ? concludeWith(context, { text, source: text }) : STOPPED;
}

/** The model is asked again, once there is something to tell it or something that it may still do. */
function goOn(context: SessionContext): Promise<Next> | Next {
  const { stop, state, scheduler } = context;
  if (stop.reason !== undefined) return STOPPED;
  if (state.handoff !== undefined) return HANDED_OVER;
  if (isOnlyInBackground(context))
    return untilNews(context).then(() => (stop.reason === undefined ? TURN : STOPPED));
  const running = scheduler.tracked();
  if (state.idleTurns >= MAX_IDLE_TURNS && running.length === 0)
    return { kind: 'stalled', error: stalled(state) };
  if (isAlwaysCut(state)) return { kind: 'stalled', error: alwaysCut(state) };
  const same = sameTurns(state);
  if (same >= MAX_SAME_TURNS) return { kind: 'stalled', error: stalledInRow(state) };
  const told = tellsOfSame(same);
  if (told !== undefined) tellOnce(context, 'no_progress', told);
  if (!lacksNotes(state)) remind(context, running, NEXT);
  return TURN;
}

const NEXT = 'Go on with the task: act, or give your final response.';

/** Whether the runtime cut the turn off: nobody knows what its text would have come to. */
const isCutOff = ({ news }: SessionState): boolean =>
  news.faults.some(({ code }) => code === REPEATS || code === TURN_TOO_LONG);

/** Turns in a row that the provider's output limit ended, or that were cut off for what they repeated. */
const MAX_CUT_TURNS = 3;

function isAlwaysCut({ news, turns }: SessionState): boolean {
  const told = [news, ...turns.slice(1 - MAX_CUT_TURNS).map((turn) => turn.news)];
  const isCut = ({ faults }: (typeof told)[number]) =>
    faults.some(({ code }) => code === OUTPUT_LIMIT || code === REPEATS);
  return told.length === MAX_CUT_TURNS && told.every(isCut);
}

const alwaysCut = ({ id, news }: SessionState) =>
  new RuntimeError(
    'stalled',
    news.faults.some(({ code }) => code === REPEATS)
      ? `The model repeated itself until it was cut off, or reached its output limit, ${MAX_CUT_TURNS} turns in a row.`
      : `The output limit of the model ended ${MAX_CUT_TURNS} turns in a row, although it was told how long an answer may be.`,
    {
      hint: `Raise the output limit or use another model, or tell it what to leave out: telltale steer ${id} "…", then telltale resume ${id}.`,
    },
  );

function stalled({ idleTurns, id, news }: SessionState): RuntimeError {
  const mistake = news.faults.at(-1);
  const last = mistake === undefined ? '' : ` Its last mistake was ${mistake.code}: ${mistake.message}`;
  return new RuntimeError(
    'stalled',
    `The model did nothing for ${idleTurns} turns in a row: no action, no metadata, no response.${last}`,
    { hint: `Give it a hint and go on: telltale steer ${id} "…", then telltale resume ${id}.` },
  );
}
