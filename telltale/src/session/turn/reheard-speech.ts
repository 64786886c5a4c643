import type { ParserEvent } from '../../protocol/intents.ts';
import type { SessionContext } from '../context.ts';
import type { HeardResponse } from './hearing-state.ts';
import {
  createResponseStream,
  endResponse,
  pushResponse,
  type ResponseStream,
  whenOut,
} from './response-stream.ts';

/** A `<thought>`, as far as it was said. */
export interface ReheardThought {
  text: string;
  readonly depth: number;
}

/** The thoughts and responses of a turn that is read again. Those that were closed first are on the log, which counts them. */
export interface ReheardSpeech {
  readonly context: SessionContext;
  /** What was said outside every tag. */
  text: string;
  readonly openThoughts: ReheardThought[];
  thoughtsClosed: number;
  /** Those that are not on the log. */
  readonly thoughts: ReheardThought[];
  open: { readonly stream: ResponseStream; readonly final: boolean } | undefined;
  responsesClosed: number;
  /** Those that are not on the log; the ones that are not final get there once they are out. */
  readonly responses: HeardResponse[];
}

export const createReheardSpeech = (context: SessionContext): ReheardSpeech => ({
  context,
  text: '',
  openThoughts: [],
  thoughtsClosed: 0,
  thoughts: [],
  open: undefined,
  responsesClosed: 0,
  responses: [],
});

export function reopen(speech: ReheardSpeech, event: Extract<ParserEvent, { readonly type: 'open' }>): void {
  if (event.tag === 'thought') {
    speech.openThoughts.push({ text: '', depth: event.depth });
    return;
  }
  const { scheduler, manifest } = speech.context;
  const before = speech.responses.at(-1)?.stream;
  const toJson = manifest.output !== undefined;
  const stream = createResponseStream(scheduler, undefined, event.final, toJson, before);
  speech.open = { stream, final: event.final };
}

export function sayAgain(
  { openThoughts, open }: ReheardSpeech,
  { tag, text }: Extract<ParserEvent, { readonly type: 'delta' }>,
): void {
  const thought = openThoughts.at(-1);
  if (tag === 'response') {
    if (open !== undefined) pushResponse(open.stream, text);
  } else if (thought !== undefined) thought.text += text;
}

/** Whether it closes a final response. */
export function recloses(
  speech: ReheardSpeech,
  event: Extract<ParserEvent, { readonly type: 'close' }>,
): boolean {
  if (event.tag === 'thought') {
    closeThought(speech);
    return false;
  }
  const { open, context } = speech;
  if (open === undefined) return false;
  const { stream } = open;
  const meant = (event.final ?? open.final) && event.truncated !== true;
  const final = meant && context.guide === undefined;
  endResponse(stream);
  // One that was not closed stands only where something in it has acted: it is said as far as it went.
  if (isUnsaid(speech)) {
    speech.responses.push({ stream, final, ...(meant && !final ? { inVain: true as const } : {}) });
    if (!final) writeOnceOut(context, stream);
  }
  speech.open = undefined;
  return final;
}

/** The stream was cut at a sync action: what is open there is said as far as it went. */
export function closeCutOff(speech: ReheardSpeech): void {
  const { open, context } = speech;
  if (open === undefined) return;
  endResponse(open.stream);
  if (!isUnsaid(speech)) return;
  speech.responses.push({ stream: open.stream, final: false });
  writeOnceOut(context, open.stream);
}

/** Those that it broke off in. */
export function closeThoughts(speech: ReheardSpeech): void {
  while (speech.openThoughts.length > 0) closeThought(speech);
}

function closeThought(speech: ReheardSpeech): void {
  const thought = speech.openThoughts.pop();
  const onLog = speech.context.state.signs.thoughts ?? Number.POSITIVE_INFINITY;
  if (thought !== undefined && speech.thoughtsClosed++ >= onLog) speech.thoughts.push(thought);
}

const isUnsaid = (speech: ReheardSpeech): boolean =>
  speech.responsesClosed++ >= speech.context.state.signs.responses;

function writeOnceOut({ log }: SessionContext, stream: ResponseStream): void {
  whenOut(stream, () => log.append({ type: 'response', text: stream.text, final: false }));
}
