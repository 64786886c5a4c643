import type { Result } from '../../kernel/result.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { stopWith } from '../../kernel/stop-with.ts';
import type { ModelEnd } from '../../models/model.ts';
import type { CallParser } from '../../protocol/calls/call-parser.ts';
import type { ActionIntent } from '../../protocol/intents.ts';
import type { TagParser } from '../../protocol/tags/tag-parser.ts';
import type { SessionContext } from '../context.ts';
import type { OpenSpeech } from '../speech.ts';
import { type Asker, giveUp, type ModelStream } from '../stream-model.ts';
import type { Branches } from './branches.ts';
import type { CloseSplitter } from './close-splitter.ts';
import type { Gate } from './gate.ts';
import type { Groups } from './groups.ts';
import type { PassedFaults } from './passed-faults.ts';
import type { ResponseStream } from './response-stream.ts';
import type { Spoken } from './spoken.ts';

/** Why the runtime ends the model's stream before the model does. */
export type CutReason = 'final' | 'sync' | 'buffer_full' | 'turn_too_long' | 'repeats';

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

/** How the model's stream ended. */
export interface Streamed {
  readonly ended: Result<ModelEnd>;
  readonly streamMs: number;
  readonly firstMs: number | undefined;
  /** Characters that came. */
  readonly heard: number;
  /** Tokens of reasoning that came beside them, about. */
  readonly reasoned: number;
}

/** One turn of the model, as it is read and acted on. */
export interface Hearing extends Asker, CloseSplitter, Branches, Groups, PassedFaults {
  context: SessionContext;
  /** Ends the model's stream. */
  abort: AbortController;
  /** While the model is being asked. */
  streaming: ModelStream | undefined;
  /** Once it has been. Not handed on: what an asynchronous function was given it holds until it is given another. */
  streamed: Streamed | undefined;
  /** Why the runtime has ended it. */
  cutFor: CutReason | undefined;
  /** What it said again and again until it was cut for that, as the model is told. */
  repeated: string | undefined;
  /** The last action that it declared, and how often in a row. */
  sameAction: { readonly action: ActionIntent; times: number } | undefined;
  parser: TagParser | CallParser;
  /** The parser, where the model calls tools natively: a call site of its own keeps that of tags fast. */
  calls: CallParser | undefined;
  /** Made once something is held back: in most turns nothing is. */
  gate: Gate | undefined;
  readonly spoken: Spoken;
  groups: readonly string[];
  /** What it has said of elements that are open. */
  openSpeech(): OpenSpeech | undefined;
  responses: readonly HeardResponse[];
  response: ResponseStream | undefined;
  responseFinal: boolean;
  /** Once a final response has closed, nothing that follows counts, and the model hears of it once. */
  over: boolean;
  /** Whether the model came to its end in a response that it did not close, and that counts as closed. */
  endedOpen: boolean;
  tagged: boolean;
  afterFinal: boolean;
  observed: string | undefined;
  /** Whether the `<parallel>` that is closed next has no end tag. */
  endsUntagged: boolean;
  /** Whether the step in hand was said to be done: no action that follows is begun. */
  completed: boolean;
  afterStep: boolean;
}

/** One for all turns: what an error costs is its stack, and this one's tells nothing. */
const TURN_CUT = new RuntimeError('model_cancelled', "The runtime ended the model's stream.");

export function cut(hearing: Hearing, reason: CutReason): void {
  hearing.cutFor ??= reason;
  endStream(hearing);
}

/** For whoever stops the session. */
export function endTurnInHand({ asker }: Pick<SessionContext, 'asker'>): void {
  if (asker?.streaming !== undefined) endStream(asker);
}

/** Tells the model to end its stream. */
export function endStream({ abort, streaming }: Asker): void {
  stopWith(abort, TURN_CUT);
  if (streaming !== undefined) giveUp(streaming);
}
