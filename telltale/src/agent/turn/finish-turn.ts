import { deepEqual } from '../../expressions/values.ts';
import { FRAME_MARK } from '../../lib/calls.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { type ActionState, hasEnded, isShown } from '../../log/action.ts';
import { handsOver } from '../../log/fold-handoffs.ts';
import { turnsInOne } from '../../log/fold-turns.ts';
import type { SessionState } from '../../log/state.ts';
import type { News } from '../../log/turn-record.ts';
import { clip, OUTPUT_LIMIT, REPEATS, TURN_TOO_LONG } from '../../prompt/text.ts';
import { claimsUnderWay } from '../guided/give-way.ts';
import type { Guide } from '../guided/guidance.ts';
import type { SessionContext } from '../session-context.ts';
import type { TurnResult } from './active-turn.ts';
import {
  actOnCalls,
  lacksNotes,
  mayHoldCalls,
  noTags,
  remind,
  tellOfCalls,
  tellOnce,
} from './calls-in-text.ts';
import { createTurnParser } from './dialect.ts';
import { DIALECT_WORDS } from './dialect-words.ts';
import type { AfterTurn } from './final-response.ts';
import {
  allEndedOrSpokenTo,
  concludeWith,
  finishWithFinal,
  isOnlyInBackground,
  responsesComplete,
  settle,
  untilNews,
} from './final-response.ts';
import { isTag } from './turn-interpreter.ts';

/** Turns in a row without an action, a change of metadata or a response. */
const MAX_IDLE_TURNS = 3;

const STOPPED: AfterTurn = { kind: 'stopped' };
const TURN: AfterTurn = { kind: 'turn' };
const HANDED_OVER: AfterTurn = { kind: 'completed', result: null };

/**
 * Decides, once the stream has ended and all of it was acted on, whether and how the session goes on. A promise where
 * something has to be waited for: a turn that only acted, and whose actions have ended, needs none.
 */
export function finishTurn(context: SessionContext, heard: TurnResult): Promise<AfterTurn> | AfterTurn {
  const isPlain =
    heard.hasTag &&
    heard.responses.length === 0 &&
    heard.cutAtAction === undefined &&
    !mayHoldCalls(heard.text);
  if (!isPlain || context.guide !== undefined) return finishWith(context, heard);
  const settling = settle(context);
  return settling === undefined
    ? continueAfterTurn(context)
    : settling.then(() => continueAfterTurn(context));
}

async function finishWith(context: SessionContext, heard: TurnResult): Promise<AfterTurn> {
  const { stop, scheduler } = context;
  if (heard.responses.length > 0) await responsesComplete(context, heard.responses);
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
  if (heard.cutAtAction !== undefined) {
    const { cutAtAction: observed } = heard;
    await context.reviews.untilMessage((done) => scheduler.whenAllEnded([observed], done));
  }
  const text = isCutOff(context.state) ? undefined : bareText(context, heard);
  const holdsCalls = text === undefined ? await tellOfCalls(context, heard) : await actOnCalls(context, text);
  if (context.guide !== undefined) return finishGuidedTurn(context, context.guide, heard);
  await settle(context);
  if (stop.reason !== undefined) return STOPPED;
  return text === undefined || holdsCalls ? continueAfterTurn(context) : finishBare(context, text);
}

/** What the agent says beside a handoff is its last word, whatever else its actions came to: nobody asks it again. */
function endWithHandoff({ log }: SessionContext, heard: TurnResult): AfterTurn {
  const final = heard.responses.findLast((response) => response.final);
  if (final === undefined) return HANDED_OVER;
  const { text } = final.stream;
  if (/\S/.test(text)) log.append({ type: 'response', text, final: true });
  log.speaking = undefined;
  return { kind: 'completed', result: text };
}

/** The turn was nothing but text: it is the answer, or the model is told how to give one. */
async function finishBare(context: SessionContext, text: string): Promise<AfterTurn> {
  const { state, scheduler, inbox, stop } = context;
  const isUnseen = state.news.results.length > 0 || scheduler.tracked().length > 0;
  // It cannot rest on what has not ended. A chat goes on with what runs in the background, and the person is answered.
  if (isUnseen || (state.chat !== true && isOnlyInBackground(context))) return continueAfterTurn(context);
  if (!isAnswer(context)) {
    if (state.idleTurns >= MAX_IDLE_TURNS) return { kind: 'stalled', error: stalled(state) };
    tellOnce(context, 'no_tags', noTags(context, text).message);
    return TURN;
  }
  await inbox.underWay();
  return stop.reason === undefined ? concludeWith(context, { text, source: text }) : STOPPED;
}

/** The model is asked again, once there is something to tell it or something that it may still do. */
function continueAfterTurn(context: SessionContext): Promise<AfterTurn> | AfterTurn {
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
      hint: `Raise the output limit, use another model, or tell it what to leave out: telltale steer ${id} "…". Then resume it: telltale resume ${id}`,
    },
  );

function stalled({ idleTurns, id, news }: SessionState): RuntimeError {
  const mistake = news.faults.at(-1);
  const last = mistake === undefined ? '' : ` Its last mistake was ${mistake.code}: ${mistake.message}`;
  return new RuntimeError(
    'stalled',
    `The model did nothing for ${idleTurns} turns in a row: no action, no metadata, no response.${last}`,
    { hint: `Give it a hint and continue: telltale steer ${id} "…". Then resume it: telltale resume ${id}` },
  );
}

/** Only the run that leads a session ends it: a final response does not, and who does nothing is told by the guide. */
async function finishGuidedTurn(
  context: SessionContext,
  guide: Guide,
  heard: TurnResult,
): Promise<AfterTurn> {
  const { stop, scheduler, state } = context;
  const completes = claimsUnderWay(context).length > 0;
  if (completes) await allEndedOrSpokenTo(context);
  else await settle(context);
  const waits = !completes && isOnlyInBackground(context);
  if (waits) await untilNews(context);
  if (stop.reason !== undefined) return { kind: 'stopped' };
  const isToldAlready = lacksNotes(state);
  if (state.task?.open === undefined && !completes && !isToldAlready) {
    if (heard.responses.some(({ inVain }) => inVain))
      tellOnce(context, 'step_open', DIALECT_WORDS[context.manifest.dialect].stepOpen);
    else if (!waits && !holdsCalls(state) && bareText(context, heard) !== undefined)
      tellOnce(context, 'no_tags', noTags(context, heard.text, 'led').message);
  }
  guide.after();
  const isTold = isToldAlready || waits || state.news.faults.some(({ code }) => TELLS.has(code));
  if (state.task?.open === undefined && !isTold) remind(context, scheduler.tracked(), GUIDED_NEXT);
  return { kind: 'turn' };
}

const holdsCalls = ({ news }: SessionState): boolean =>
  news.faults.some(({ code }) => code === 'foreign_call');

/** Faults that say what to do next. */
const TELLS: ReadonlySet<string> = new Set(['no_tags', 'foreign_call']);

const GUIDED_NEXT = 'Go on with the step: act, or complete it.';

/** Turns of the same calls with the same results after which the model is told so, and after which the session stalls. */
const TELL_EVERY = 5;
const MAX_SAME_TURNS = 20;

/** Whoever waits this long for a result looks whether something has come; that may be done as often as limits allow. */
const WAITS_MS = 5_000;

/**
 * How many turns in a row, the last one among them, made the same calls with the same parameters and got the same
 * results, while nothing else happened: nobody spoke, no metadata and no feed changed, and nothing runs.
 */
function sameTurns(state: SessionState): number {
  if (state.open.size > 0 || hasNews(state.news)) return 0;
  const { recent, actions } = state;
  let at = recent.length;
  const madeBefore = (turn: number): readonly ActionState[] => {
    const made: ActionState[] = [];
    for (; at > 0; at--) {
      const action = actions.get(recent[at - 1] ?? '');
      if (action !== undefined && action.turn < turn) break;
      if (action?.turn === turn && isShown(action.action)) made.push(action);
    }
    return made;
  };
  const last = madeBefore(state.turn);
  if (last.length === 0 || !last.every(isQuick)) return 0;
  let row = 1;
  while (row < MAX_SAME_TURNS) {
    const turn = state.turn - row;
    // What the model was told before the later of the two.
    const told = state.turns.find((record) => record.turn === turn + 1);
    if (told !== undefined && hasNews(told.news)) break;
    const before = madeBefore(turn);
    if (before.length !== last.length || !before.every((each, n) => isSame(each, last[n]))) break;
    row++;
  }
  return row;
}

const isQuick = ({ status, ms = 0 }: ActionState): boolean => hasEnded(status) && ms < WAITS_MS;

const hasNews = ({ messages, changed, feeds = [], workflows = [], variables = [], task }: News): boolean =>
  messages.some(({ from }) => from !== 'runtime') ||
  changed.length + feeds.length + workflows.length + variables.length > 0 ||
  task !== undefined;

function isSame(one: ActionState, other: ActionState | undefined): boolean {
  if (other === undefined || one.action.kind !== other.action.kind || one.action.name !== other.action.name)
    return false;
  return (
    one.status === other.status &&
    isQuick(one) &&
    deepEqual(one.input ?? one.action.parameters, other.input ?? other.action.parameters) &&
    deepEqual(one.output, other.output) &&
    one.error?.message === other.error?.message
  );
}

/** What the model is told of it, at times. */
const tellsOfSame = (row: number): string | undefined =>
  row > 0 && row % TELL_EVERY === 0
    ? `You have made the same calls with the same parameters in ${row} turns in a row, and the results were the same each time. Do something else, or answer with what you have. After ${MAX_SAME_TURNS} such turns the session ends.`
    : undefined;

function stalledInRow({ id, actions, recent }: SessionState): RuntimeError {
  const last = actions.get(recent.at(-1) ?? '');
  const call =
    last === undefined
      ? ''
      : ` The last one was ${last.action.name} ${clip(JSON.stringify(last.input ?? {}), 200)}.`;
  return new RuntimeError(
    'stalled',
    `The model made the same calls with the same parameters in ${MAX_SAME_TURNS} turns in a row, and the results were the same each time.${call}`,
    { hint: `Tell it what to do instead: telltale steer ${id} "…". Then resume it: telltale resume ${id}` },
  );
}

/**
 * The text of a turn without any tag or call, thoughts aside; undefined where it has one, or no text. What the model was
 * asked to go on with, since a restart or its provider broke it off, is one answer with it: half a text must not become a
 * result, nor what is left of a thought.
 */
function bareText(context: SessionContext, { hasTag: tagged, text }: TurnResult): string | undefined {
  if (tagged || !/\S/.test(text)) return undefined;
  const { turns } = context.state;
  let whole = '';
  for (const { output } of turns.slice(turns.length - turnsInOne(turns), -1)) {
    const part = plainText(context, output);
    if (part === undefined) return undefined;
    whole += part;
  }
  const said = withoutReasoning((whole + text).trim()); // behind a thought it begins on a line of its own
  return said === '' ? undefined : said;
}

/**
 * Where calls are native, models that were trained to reason in tags write these into their text. What they reason is no
 * part of the answer. A template may have opened the tag itself.
 */
const REASONING = /<(think|thinking|thought|reasoning)>[\s\S]*?<\/\1>\s*|[^<]*<\/(?:think|thinking)>\s*/y;

function withoutReasoning(text: string): string {
  let from = 0;
  for (;;) {
    REASONING.lastIndex = from;
    const found = REASONING.exec(text);
    if (found === null) return text.slice(from);
    from += found[0].length;
  }
}

function plainText(context: SessionContext, output: string): string | undefined {
  if (context.calls !== undefined) return output.includes(FRAME_MARK) ? undefined : output;
  const parser = createTurnParser(context, new Set());
  const events = [...parser.push(output), ...parser.end()];
  if (events.some(isTag)) return undefined;
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('');
}

/** Whether text alone answers, as things are: models of native calls and of chats answer so. */
function isAnswer(context: SessionContext): boolean {
  const { manifest, state } = context;
  switch (manifest.protocol.bare_text) {
    case 'final':
      return true;
    case 'remind':
    case 'nudge':
      return wasReminded(context);
    case 'auto':
      if (manifest.dialect === 'step') return false;
      return manifest.dialect === 'tools' || state.chat === true || wasReminded(context);
  }
}

/** Whether the model was told at the beginning of the turn that text alone is no answer. */
function wasReminded({ state: { turns } }: SessionContext): boolean {
  return turns
    .slice(-turnsInOne(turns))
    .some(({ news }) => news.faults.some(({ code }) => code === 'no_tags'));
}
