import type { Result } from '../../lib/errors.ts';
import { RuntimeError, stopWith } from '../../lib/errors.ts';
import type { ModelEnd } from '../../models/model.ts';
import type { CallParser } from '../../parser/calls/call-parser.ts';
import type { ActionIntent, FaultCode, ParserEvent } from '../../parser/intents.ts';
import { leftOpen, truncated } from '../../parser/tags/faults.ts';
import type { TagParser } from '../../parser/tags/tag-parser.ts';
import type { SessionContext } from '../session-context.ts';
import type { OpenSpeech } from '../speech.ts';
import { type ActiveModelCall, type ModelStream, startGracePeriod } from '../stream-model.ts';
import type { Branches, Groups } from './groups.ts';
import type { OutputBuffer } from './output-buffer.ts';
import type { ResponseStream } from './response-stream.ts';

/** Why the runtime ends the model's stream before the model does. */
export type CutReason = 'final' | 'sync' | 'buffer_full' | 'turn_too_long' | 'repeats';

export interface TurnResponse {
  readonly stream: ResponseStream;
  /** Whether it was meant to end the session, and was closed. */
  readonly final: boolean;
  /** Whether it was meant to, in a session that only its run can end. */
  readonly inVain?: true;
}

/** What a turn said, for whoever decides what follows it. */
export interface TurnResult {
  /** In the order in which they were opened. */
  readonly responses: readonly TurnResponse[];
  /** What was said outside every tag. */
  readonly text: string;
  /** Whether there was a tag, also one of which nothing came: metadata that changes nothing, an empty `<parallel>`. */
  readonly hasTag: boolean;
  /** The sync action at which the stream was cut. */
  readonly cutAtAction: string | undefined;
}

/** How the model's stream ended. */
export interface ModelStreamOutcome {
  readonly ended: Result<ModelEnd>;
  readonly streamMs: number;
  readonly firstMs: number | undefined;
  /** Characters that came. */
  readonly characters: number;
  /** Tokens of reasoning that came beside them, about. */
  readonly reasoned: number;
}

/** One turn of the model, as it is read and acted on. */
export interface ActiveTurn extends ActiveModelCall, Branches, Groups, SkippedFaults {
  context: SessionContext;
  /** Ends the model's stream. */
  abort: AbortController;
  /** While the model is being asked. */
  streaming: ModelStream | undefined;
  /** Once it has been. Not handed on: what an asynchronous function was given it holds until it is given another. */
  streamOutcome: ModelStreamOutcome | undefined;
  /** Why the runtime has ended it. */
  cutFor: CutReason | undefined;
  /** What it said again and again until it was cut for that, as the model is told. */
  repeated: string | undefined;
  /** The last action that it declared, and how often in a row. */
  sameAction: { readonly action: ActionIntent; times: number } | undefined;
  parser: TagParser | CallParser;
  /** The parser, where the model calls tools natively: a call site of its own keeps that of tags fast. */
  calls: CallParser | undefined;
  /** Whether the stream ends inside a closing tag: `</` has come and its `>` has not. */
  closing: boolean;
  /** Whether the stream ends with a `<`. */
  endsWithLess: boolean;
  /** Made once something is held back: in most turns nothing is. */
  holdBuffer: HoldBuffer | undefined;
  readonly output: OutputBuffer;
  groups: readonly string[];
  /** What it has said of elements that are open. */
  openSpeech(): OpenSpeech | undefined;
  responses: readonly TurnResponse[];
  response: ResponseStream | undefined;
  responseFinal: boolean;
  /** Once a final response has closed, nothing that follows counts, and the model hears of it once. */
  ignoresRest: boolean;
  /** Whether the model came to its end in a response that it did not close, and that counts as closed. */
  endedOpen: boolean;
  hasTag: boolean;
  toldAfterFinal: boolean;
  cutAtAction: string | undefined;
  /** Whether the `<parallel>` that is closed next has no end tag. */
  endsUntagged: boolean;
  /** Whether the step in hand was said to be done: no action that follows is begun. */
  stepCompleted: boolean;
  toldAfterStep: boolean;
}

/** One for all turns: what an error costs is its stack, and this one's tells nothing. */
const TURN_CUT = new RuntimeError('model_cancelled', "The runtime ended the model's stream.");

export function cutStream(turn: ActiveTurn, reason: CutReason): void {
  turn.cutFor ??= reason;
  endStream(turn);
}

/** For whoever stops the session. */
export function endCurrentStream({ modelCall: asker }: Pick<SessionContext, 'modelCall'>): void {
  if (asker?.streaming !== undefined) endStream(asker);
}

/** Tells the model to end its stream. */
export function endStream({ abort, streaming }: ActiveModelCall): void {
  stopWith(abort, TURN_CUT);
  if (streaming !== undefined) startGracePeriod(streaming);
}

export type ActiveTurnFault = Extract<ParserEvent, { readonly type: 'fault' }>;

/**
 * Faults in branches that do not hold. What stands there does not count, and so most of them do not matter; but the model
 * is told of an `<if>` that it left open, which may have swallowed the rest of its turn, and of what put that in doubt.
 */
export interface SkippedFaults {
  /** The one straight before the event in hand. */
  lastSkippedFault: ActiveTurnFault | undefined;
  /** Those that can put the rest of a turn in doubt. */
  skippedFaults: readonly ActiveTurnFault[];
}

/** The first is the one that did. */
const MAX_SKIPPED = 8;

const CAUSES_AMBIGUITY: ReadonlySet<FaultCode> = new Set<FaultCode>([
  'fence_left_open',
  'bad_json',
  'body_too_large',
  'bad_attribute',
  'tag_too_long',
  'stray_close',
  'not_here',
  'unsealed',
]);

export function noteSkipped(faults: SkippedFaults, event: ParserEvent): void {
  faults.lastSkippedFault = event.type === 'fault' ? event : undefined;
  if (event.type === 'fault' && CAUSES_AMBIGUITY.has(event.code) && faults.skippedFaults.length < MAX_SKIPPED)
    faults.skippedFaults = [...faults.skippedFaults, event];
}

/** At the end of an `<if>`: whether it was left open, as the fault says that stands there. */
export function unclosedIfFault(faults: SkippedFaults): ActiveTurnFault | undefined {
  const { lastSkippedFault: passedLast } = faults;
  faults.lastSkippedFault = undefined;
  return passedLast !== undefined && UNCLOSED_IF_MESSAGES.includes(passedLast.message)
    ? passedLast
    : undefined;
}

const UNCLOSED_IF_MESSAGES: readonly string[] = [leftOpen('if'), truncated('if')].map(
  ({ message }) => message,
);

/** What may queue up behind a sync action before the generation is cut. */
const MAX_HELD_CHARS = 4 * 1024 * 1024;

/** Beyond its text, what an event is taken to weigh. */
const EVENT_WEIGHT = 64;

/**
 * Lets parser events through one by one, and holds them back, prose included, while a sync action or the close of a
 * `<parallel>` is waited for. Reading and parsing go on meanwhile.
 */
export interface HoldBuffer {
  /** Whether something is held back. */
  held: boolean;
  queue: { readonly event: ParserEvent; readonly consumed: number }[];
  at: number;
  weight: number;
  full: boolean;
  waiting: (() => void)[];
}

export const createHoldBuffer = (): HoldBuffer => ({
  held: false,
  queue: [],
  at: 0,
  weight: 0,
  full: false,
  waiting: [],
});

/** Keeps an event for later. Returns whether there is too much of it now: once. */
export function holdEvent(buffer: HoldBuffer, event: ParserEvent, consumed: number): boolean {
  buffer.queue.push({ event, consumed });
  buffer.weight += weigh(event);
  if (buffer.weight <= MAX_HELD_CHARS || buffer.full) return false;
  buffer.full = true;
  return true;
}

/** Holds back all that follows until `release` calls back; then lets it through with `act`, up to the next hold. */
export function holdUntil(
  buffer: HoldBuffer,
  release: (open: () => void) => void,
  act: (event: ParserEvent, consumed: number) => void,
): void {
  buffer.held = true;
  let opened = false;
  release(() => {
    if (opened) return;
    opened = true;
    releaseHeld(buffer, act);
  });
}

function releaseHeld(buffer: HoldBuffer, act: (event: ParserEvent, consumed: number) => void): void {
  buffer.held = false;
  for (
    let next = buffer.queue[buffer.at];
    next !== undefined && !buffer.held;
    next = buffer.queue[buffer.at]
  ) {
    buffer.at++;
    act(next.event, next.consumed);
  }
  if (buffer.held) return;
  buffer.queue = [];
  buffer.at = 0;
  buffer.weight = 0;
  const due = buffer.waiting;
  buffer.waiting = [];
  for (const then of due) then();
}

/** Calls back once nothing is held back; at once if nothing is. */
export function whenReleased(buffer: HoldBuffer, then: () => void): void {
  if (buffer.held) buffer.waiting.push(then);
  else then();
}

/** Nothing that it holds back is let through any more, and nobody waits for that. */
export function dropHeldEvents(buffer: HoldBuffer): void {
  buffer.queue = [];
  buffer.at = 0;
  buffer.weight = 0;
  buffer.waiting = [];
}

function weigh(event: ParserEvent): number {
  if (event.type === 'text' || event.type === 'delta') return event.text.length + EVENT_WEIGHT;
  if (event.type === 'action' || event.type === 'metadata' || event.type === 'foreach')
    return JSON.stringify(event).length;
  return EVENT_WEIGHT;
}
