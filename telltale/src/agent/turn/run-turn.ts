import { RuntimeError } from '../../lib/errors.ts';
import { weighTokens } from '../../lib/tokens.ts';
import { TURN_CUT_SHORT } from '../../log/fold-turns.ts';
import type { Usage } from '../../log/session-events.ts';
import type { SessionState } from '../../log/state.ts';
import type { News } from '../../log/turn-record.ts';
import { RECORD_FAILED } from '../../models/model-errors.ts';
import { nextDelay } from '../../models/retry.ts';
import { type Prompt, reusedPrefix } from '../../prompt/prompt.ts';
import { OUTPUT_LIMIT, REPEATS } from '../../prompt/text.ts';
import { exceededBy, MAX_REFUSALS } from '../compact.ts';
import { costWith, countUsage } from '../cost.ts';
import { modelInTurn, nextFallback } from '../fallback.ts';
import type { SessionContext } from '../session-context.ts';
import type { OpenSpeech } from '../speech.ts';
import type { ActiveTurn, ModelStreamOutcome, TurnResult } from './active-turn.ts';
import { takeTurnParser } from './dialect.ts';
import { createOutputBuffer, type OutputBuffer } from './output-buffer.ts';
import type { ResponseStream } from './response-stream.ts';
import { abandonTurn, dropHeldOutput, isHolding, turnResult } from './turn-stream.ts';

/** How a turn went, as far as the model's stream is concerned. */
export type TurnEnd =
  | { readonly kind: 'heard'; readonly result: TurnResult }
  /** The next turn begins after `retryInMs`; without it, the session cannot go on. */
  | {
      readonly kind: 'broken';
      readonly error: RuntimeError;
      readonly retryInMs: number | undefined;
      readonly result: TurnResult;
    }
  | { readonly kind: 'stopped' };

/** Begins a turn: one request to the model, which the caller still has to make. */
export function beginTurn(context: SessionContext, prompt: Prompt, previous: Prompt | undefined): ActiveTurn {
  const { log, state } = context;
  const background = movedToBackground(context);
  log.append(
    {
      type: 'turn.started',
      prompt: {
        tokens: prompt.tokens,
        reused_prefix: reusedPrefix(previous, prompt),
        hash: prompt.hash,
        ...(state.promptFrame === prompt.frame.hash ? {} : { frame: prompt.frame }),
      },
      ...(background.length === 0 ? {} : { background }),
      ...(state.fallback?.active === true ? { model: modelInTurn(context).id } : {}),
    },
    state.task?.place ?? context.sessionOrigin(),
  );
  const activeTurn = createActiveTurn(context, takeTurnParser(context));
  context.modelCall = activeTurn;
  log.speaking = activeTurn;
  return activeTurn;
}

/**
 * What the turn before has stopped waiting for: it has not ended, and does not wait for a person. A turn that goes on with
 * one that broke off waits for the actions of both.
 */
function movedToBackground({ scheduler, state }: SessionContext): readonly string[] {
  return state.news.broken === undefined && state.again !== true ? scheduler.trackedAndActive() : [];
}

/** Writes down how the turn ended, once all that was heard has been acted on. */
export function endTurn(activeTurn: ActiveTurn, prompt: Prompt): TurnEnd {
  const { context, cutFor } = activeTurn;
  const { log, state, scheduler, stop } = context;
  if (stop.reason !== undefined) {
    abandonTurn(activeTurn);
    return { kind: 'stopped' };
  }
  const {
    ended,
    streamMs,
    firstMs,
    characters: result,
    reasoned,
  } = activeTurn.streamOutcome as ModelStreamOutcome;
  const isCutShort = isHolding(activeTurn);
  const unwritten = isCutShort ? reasoned + weighTokens(activeTurn.output.pending) : reasoned;
  if (isCutShort) dropHeldOutput(activeTurn);
  if (!ended.ok && (cutFor === undefined || ended.error.code === RECORD_FAILED))
    return {
      ...breakOff(
        context,
        ended.error,
        result === 0 && reasoned === 0 ? undefined : countUsage(state, prompt.tokens, unwritten),
        result === 0,
      ),
      result: turnResult(activeTurn),
    };
  const usage =
    ended.ok && ended.value.usage !== undefined
      ? ended.value.usage
      : countUsage(state, prompt.tokens, unwritten);
  if (isCutShort) return interruptTurn(activeTurn, usage);
  if (cutFor === 'buffer_full') log.append(bufferFull);
  else if (cutFor === 'repeats')
    log.append({ type: 'fault', code: REPEATS, message: activeTurn.repeated ?? '' });
  else if (cutFor === 'turn_too_long') log.append(turnTooLong(result));
  else if (ended.ok && ended.value.finish === 'length' && cutFor === undefined)
    log.append(outputLimit(state.news.faults, result, usage));
  log.append({
    type: 'turn.completed',
    usage,
    cost_usd: costWith(modelInTurn(context), usage),
    ms: round(streamMs),
    first_token_ms: round(firstMs ?? streamMs),
    finish: cutFor !== undefined || !ended.ok ? 'cut' : ended.value.finish,
  });
  scheduler.turnEnded(state.news.short === true ? 'broken' : 'well');
  return { kind: 'heard', result: turnResult(activeTurn) };
}

/**
 * What was said stays said; the next turn tells the model where it broke off. Where nothing was, the request is made again,
 * and no prompt says that it failed.
 */
function breakOff(
  context: SessionContext,
  error: RuntimeError,
  usage: Usage | undefined,
  isUnheard: boolean,
) {
  const { log, state, deps, scheduler } = context;
  const model = modelInTurn(context);
  const exceeded = exceededBy({ model, state }, error);
  const next = isUnheard ? nextFallback(context, error)?.id : undefined;
  // A model that failed in the turn before gets one try: not every turn waits for all of them.
  const hasOneTry = next !== undefined && state.fallback?.active === false;
  const delay = hasOneTry ? undefined : nextDelay(state.totals.failedTurns + 1, error, deps.runtime.random());
  const fallback = delay === undefined ? next : undefined;
  const retryInMs =
    exceeded === undefined
      ? fallback === undefined
        ? delay
        : 0
      : (state.exceeded ?? 0) < MAX_REFUSALS
        ? 0
        : undefined;
  log.append({
    type: 'turn.failed',
    error: error.toJSON(),
    ...(retryInMs === undefined ? {} : { retry_in: Math.round(retryInMs) }),
    ...(isUnheard && retryInMs !== undefined ? { again: true } : {}),
    ...(fallback === undefined ? {} : { fallback }),
    ...(exceeded === undefined ? {} : { exceeded }),
    ...(usage === undefined ? {} : { usage, cost_usd: costWith(model, usage) }),
  });
  scheduler.turnEnded('broken');
  return { kind: 'broken', error, retryInMs } as const;
}

/** A person decides on what held it up, and somebody has a word for the agent: as after a restart, it goes on with that. */
function interruptTurn(activeTurn: ActiveTurn, usage: Usage): TurnEnd {
  const { context, groups } = activeTurn;
  const { log, scheduler } = context;
  const error = new RuntimeError(TURN_CUT_SHORT, CUT_SHORT, { retryable: true });
  log.append({
    type: 'turn.failed',
    error: error.toJSON(),
    retry_in: 0,
    ...(groups.length === 0 ? {} : { groups }),
    usage,
    cost_usd: costWith(modelInTurn(context), usage),
  });
  scheduler.invalidateParallels(groups);
  scheduler.turnEnded('broken');
  return { kind: 'broken', error, retryInMs: 0, result: turnResult(activeTurn) };
}

const CUT_SHORT =
  'You were cut short: a message came in while a person decides on what you waited for. What you said behind that was not read.';

/** Milliseconds with three decimals: what a log can say without noise. */
const round = (ms: number) => Math.round(ms * 1000) / 1000;

const bufferFull = {
  type: 'fault',
  code: 'buffer_full',
  message:
    'You went on writing for 4 MiB while a sync action ran, and were cut off there. What you wrote after the action was read once it had ended.',
} as const;

const turnTooLong = (result: number) =>
  ({
    type: 'fault',
    code: 'turn_too_long',
    message: `You went on writing and were cut off after ${result} characters, which is all that a turn may have. What you had closed by then counts. Say less at once, and write long texts in several actions.`,
  }) as const;

/** What the model is told where its provider's output limit ended its turn: how long an answer may be. */
function outputLimit(faults: News['faults'], result: number, { output }: Usage) {
  const cut = faults.findLast(({ code }) => code === 'truncated')?.message ?? '';
  const action = /^Action "([^"]+)"/.exec(cut)?.[1] ?? /the call of "([^"]+)"/.exec(cut)?.[1];
  const where =
    action !== undefined
      ? ` inside "${action}"`
      : cut.includes('</action>')
        ? ' inside an action'
        : cut.includes('</response>')
          ? ' inside your response'
          : '';
  const lost = /so it did not act/.test(cut)
    ? '; nothing of it ran'
    : action === 'step'
      ? '; what was whole in it counts, the rest does not'
      : where === ''
        ? ''
        : '; it does not count';
  const size = Math.max(MIN_SIZE, Math.floor((result * SIZE_SHARE) / 100) * 100);
  return {
    type: 'fault',
    code: OUTPUT_LIMIT,
    message: `Your answer reached the output limit of ${output} tokens${where}${lost}. Keep each answer under about ${size} characters: write long files in parts, one part in each turn.`,
  } as const;
}

const MIN_SIZE = 100;
/** How much of an answer that was cut off fits in for certain. */
const SIZE_SHARE = 0.8;

function createActiveTurn(context: SessionContext, parser: ActiveTurn['parser']): ActiveTurn {
  const activeTurn: ActiveTurn = {
    context,
    abort: new AbortController(),
    streaming: undefined,
    streamOutcome: undefined,
    cutFor: undefined,
    repeated: undefined,
    sameAction: undefined,
    parser,
    calls: 'advance' in parser ? parser : undefined,
    closing: false,
    endsWithLess: false,
    holdBuffer: undefined,
    branchHolds: true,
    openIfs: [],
    output: createOutputBuffer(context.log),
    openSpeech: () => openSpeechOf(activeTurn),
    responses: [],
    groups: [],
    invalidated: 0,
    parallels: 0,
    emptyGroups: undefined,
    response: undefined,
    responseFinal: false,
    ignoresRest: false,
    endedOpen: false,
    hasTag: false,
    toldAfterFinal: false,
    cutAtAction: undefined,
    endsUntagged: false,
    stepCompleted: false,
    toldAfterStep: false,
    lastSkippedFault: undefined,
    skippedFaults: [],
  };
  return activeTurn;
}

/** The parts of a turn that its open elements are read from. */
interface Speaking {
  readonly context: { readonly state: SessionState };
  readonly output: OutputBuffer;
  readonly responses: readonly { readonly stream: ResponseStream }[];
  readonly response: ResponseStream | undefined;
}

/** What the model has written in elements that are still open. Undefined if nothing is open. */
function openSpeechOf({ context, output, responses, response }: Speaking): OpenSpeech | undefined {
  const { turn, signs } = context.state;
  const streams = responses.map(({ stream }) => stream);
  if (response !== undefined) streams.push(response);
  // Responses are logged in the order in which they were opened.
  const said = streams.slice(signs.responses).map((stream) => stream.text);
  const open = said.join('');
  const { thoughts } = output;
  if (open === '' && thoughts.length === 0) return undefined;
  return { turn, thoughts: thoughts.map(({ depth, text }) => ({ depth, text })), response: open };
}
