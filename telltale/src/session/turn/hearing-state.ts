import { NONE } from '../../kernel/grow.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { ModelEnd } from '../../models/model.ts';
import type { CallParser } from '../../protocol/calls/call-parser.ts';
import type { TurnParser } from '../../protocol/turn-parser.ts';
import type { SessionContext } from '../context.ts';
import type { OpenSpeech } from '../speech.ts';
import { GRACE_MS, modelDeaf } from '../stream-model.ts';
import { type Branches, createBranches } from './branches.ts';
import { type CloseSplitter, createCloseSplitter } from './close-splitter.ts';
import { createGate, type Gate } from './gate.ts';
import { openSpeech } from './open-speech.ts';
import type { ResponseStream } from './response-stream.ts';
import { createSpoken, type Spoken } from './spoken.ts';
import { takeTurnParser } from './turn-parser.ts';

/** Why the runtime ends the model's stream before the model does. */
export type CutReason = 'final' | 'sync' | 'buffer_full';

export interface HeardResponse {
  readonly stream: ResponseStream;
  /** Whether it was meant to end the session, and was closed. */
  readonly final: boolean;
  /** Whether it was meant to, in a session that only its run can end. */
  readonly inVain?: true;
}

/** What a turn said, for whoever decides what follows it. */
export interface Heard {
  /** In the order in which they were opened. */
  readonly responses: readonly HeardResponse[];
  /** What was said outside every tag. */
  readonly text: string;
  /** Whether there was a tag, also one of which nothing came: metadata that changes nothing, an empty `<parallel>`. */
  readonly tagged: boolean;
  /** The sync action at which the stream was cut. */
  readonly observed: string | undefined;
}

/** One turn of the model, as it is read and acted on. */
export interface Hearing {
  readonly context: SessionContext;
  /** Ends the model's stream. */
  readonly abort: AbortController;
  /** Why the runtime has ended it. */
  cutFor: CutReason | undefined;
  readonly parser: TurnParser;
  /** The parser, where the model calls tools natively: a call site of its own keeps that of tags fast. */
  readonly calls: CallParser | undefined;
  readonly splitter: CloseSplitter;
  readonly gate: Gate;
  readonly branches: Branches;
  readonly spoken: Spoken;
  responses: readonly HeardResponse[];
  /** The `<parallel>`s that are open; one without an id gets one that no model can write. */
  groups: readonly string[];
  parallels: number;
  response: ResponseStream | undefined;
  responseFinal: boolean;
  /** Once a final response has closed, nothing that follows counts, and the model hears of it once. */
  over: boolean;
  tagged: boolean;
  afterFinal: boolean;
  observed: string | undefined;
  /** Whether the step in hand was said to be done: no action that follows is begun. */
  completed: boolean;
  afterStep: boolean;
  /** When the model was asked, when its first piece came, and how many characters have. */
  readonly startedMs: number;
  firstMs: number | undefined;
  characters: number;
  /** Whether its stream has ended: what comes after that belongs to no turn. */
  ended: boolean;
  /** Told once, when it has. */
  onEnd: ((streamed: Streamed) => void) | undefined;
  /** What the session's stop calls until then. */
  onStop: (() => void) | undefined;
  /** Stops the clock that runs for a model that was told to end. */
  disarm: (() => void) | undefined;
  openSpeech(): OpenSpeech | undefined;
}

/** How the model's stream ended. */
export interface Streamed {
  readonly ended:
    | { readonly ok: true; readonly value: ModelEnd }
    | { readonly ok: false; readonly error: RuntimeError };
  readonly streamMs: number;
  readonly firstMs: number | undefined;
  /** Characters that came. */
  readonly heard: number;
}

/** One for all turns: what an error costs is its stack, and this one's tells nothing. */
const TURN_CUT = new RuntimeError('model_cancelled', "The runtime ended the model's stream.");

export function cut(hearing: Hearing, reason: CutReason): void {
  hearing.cutFor ??= reason;
  tellToEnd(hearing);
}

/** Tells the model to end. One that does not listen is left to itself after a while: no session may hang on one. */
export function tellToEnd(hearing: Hearing): void {
  const { abort, ended, context } = hearing;
  if (!ended && !abort.signal.aborted)
    hearing.disarm = context.clock.after(GRACE_MS, () =>
      endStream(hearing, { ok: false, error: modelDeaf(context.model.id) }),
    );
  abort.abort(TURN_CUT);
}

/** The model's stream is over, however that came. */
export function endStream(hearing: Hearing, ended: Streamed['ended']): void {
  if (hearing.ended) return;
  hearing.ended = true;
  hearing.disarm?.();
  const { onEnd, onStop, startedMs, firstMs, characters: heard, context } = hearing;
  if (onStop !== undefined) context.stop.off(onStop);
  // What is held back behind a sync action is acted on later: that is no time of the model's.
  onEnd?.({ ended, streamMs: context.clock.monotonic() - startedMs, firstMs, heard });
}

export function createHearing(context: SessionContext): Hearing {
  const parser = takeTurnParser(context);
  return {
    context,
    abort: new AbortController(),
    cutFor: undefined,
    parser,
    calls: 'advance' in parser ? parser : undefined,
    splitter: createCloseSplitter(),
    gate: createGate(),
    branches: createBranches(),
    spoken: createSpoken(context.log),
    responses: NONE,
    groups: NONE,
    parallels: 0,
    response: undefined,
    responseFinal: false,
    over: false,
    tagged: false,
    afterFinal: false,
    observed: undefined,
    completed: false,
    afterStep: false,
    startedMs: context.clock.monotonic(),
    firstMs: undefined,
    characters: 0,
    ended: false,
    onEnd: undefined,
    onStop: undefined,
    disarm: undefined,
    openSpeech,
  };
}
