import type { JsonObject } from '../../kernel/json.ts';
import type { GivenPart } from '../../kernel/provider-part.ts';
import type { RuntimeError } from '../../kernel/runtime-error.ts';
import type { ModelEnd, ModelRequest, ModelSink } from '../model.ts';
import { type CallStream, createCallStream } from './call-stream.ts';
import { CleanText } from './clean-text.ts';
import { brokeOff, readFinish } from './finish.ts';
import type { CallOptions, StreamingModel, StreamPart } from './language-model.ts';
import { PartCollector } from './part-collector.ts';
import { placeOf } from './provider-failure.ts';
import { refuseWithoutTools } from './refuse-without-tools.ts';
import type { SupervisedCall } from './supervise-call.ts';

export interface Reading {
  readonly call: SupervisedCall;
  readonly sink: ModelSink;
  readonly id: string;
  /** Whether the provider says only at the end which native calls are complete. */
  readonly isLate: boolean;
  /** Whether reasoning goes back that nothing was given with. */
  readonly keepsPlain: boolean;
  readonly writeCall: ModelRequest['writeCall'];
  /** `hint` is for a stream that broke off for no other reason. */
  readonly failed: (thrown: unknown, hint?: string) => RuntimeError;
  /** Where the model is asked, if that is known. */
  readonly baseURL?: string | undefined;
}

/** What the sink throws is passed on as it is; what the provider throws is put into our words. */
export async function readStream(
  model: StreamingModel,
  options: CallOptions,
  { call, sink, id, isLate, keepsPlain, writeCall = quoteCall, failed, baseURL }: Reading,
): Promise<ModelEnd> {
  const reader = await open(model, options, (thrown) => failed(thrown, nothingCame(baseURL)));
  // Of a stream that is given up nothing more is wanted, not even why it could not be given up.
  const giveUp = () => reader.cancel().catch(() => {});
  call.signal.addEventListener('abort', giveUp, { once: true });
  // One part may bring several frames along; who has left gets none of them.
  const say = (text: string) => {
    if (!call.signal.aborted) sink.text(text);
  };
  const keep = (part: GivenPart) => {
    if (!call.signal.aborted) sink.part?.(part);
  };
  const calls = createCallStream({ id, isLate, say, keep });
  const parts = new PartCollector(keepsPlain, (part) => calls.part(part));
  let end: ModelEnd | undefined;
  let isSilent = true;
  let isSpeaking = false;
  const text = new CleanText();
  try {
    while (!call.signal.aborted) {
      const next = await reader.read().catch((thrown: unknown) => {
        if (end === undefined) throw failed(thrown);
        return { done: true, value: undefined } as const;
      });
      if (next.done || call.signal.aborted) break;
      const part = next.value;
      if (end !== undefined) continue;
      if (part.type === 'stream-start') {
        if (options.tools !== undefined) refuseWithoutTools(part.warnings ?? [], id);
        continue;
      }
      // What the server sent as it came says nothing of whether it could be read.
      if (part.type === 'raw') {
        if (hasSignature(part.rawValue)) calls.awaitMeta();
        continue;
      }
      const first = isSilent ? nothingCame(baseURL) : undefined;
      isSilent = false;
      isSpeaking ||= isWord(part);
      if (isSpeaking) call.touch();
      // Of calls that are told late, `tool-call` comes at the end, behind text that came after them.
      if (part.type === 'tool-input-start' || (part.type === 'tool-call' && !isLate)) {
        const before = text.flush();
        if (before !== '') calls.text(before);
      }
      if (part.type === 'text-delta') {
        const clean = text.push(part.delta);
        if (clean !== '') calls.text(clean);
        parts.read(part);
      } else if (part.type === 'reasoning-delta') {
        if (part.delta !== '') sink.reasoning(part.delta);
        parts.read(part);
      } else if (isBlockEdge(part)) parts.read(part);
      else if (part.type === 'error') throw failed(part.error, first);
      else if (part.type === 'finish') {
        end = readFinish(part.finishReason, part.usage, id, first);
        const rest = text.end();
        if (rest !== '') calls.text(rest);
        calls.end(end.finish === 'stop');
        call.closing(end);
      } else if (options.tools !== undefined) readCallPart(part, calls);
      else if (part.type === 'tool-call' && part.providerExecuted !== true)
        calls.text(writeCall(part.toolName, part.input));
    }
  } finally {
    void giveUp();
  }
  if (end === undefined) throw brokeOff(id, isSilent ? nothingCame(baseURL) : undefined);
  return end;
}

/** Something that the model has made. Before that, servers send what is only about the stream. */
const isWord = (part: StreamPart): boolean =>
  part.type === 'tool-input-start' ||
  part.type === 'tool-call' ||
  ((part.type === 'text-delta' || part.type === 'reasoning-delta') && part.delta !== '');

type BlockEdge = Extract<StreamPart, { readonly type: `${'text' | 'reasoning'}-${'start' | 'end'}` }>;

const isBlockEdge = (part: StreamPart): part is BlockEdge =>
  /^(?:text|reasoning)-(?:start|end)$/.test(part.type);

/** A call where no tools were offered, as some models make them all the same: words, in which no tag is quoted. */
const quoteCall = (name: string, input: string): string =>
  `\n[called ${name}: ${input}]\n`.replaceAll('<', '\\u003c');

/** What the provider runs itself is its own affair. */
function readCallPart(part: StreamPart, calls: CallStream): void {
  switch (part.type) {
    case 'tool-input-start':
      if (part.providerExecuted !== true) calls.begin(part.id, part.toolName);
      break;
    case 'tool-input-delta':
      calls.input(part.id, part.delta);
      break;
    case 'tool-input-end':
      calls.inputEnd(part.id, metaOf(part.providerMetadata));
      break;
    case 'tool-call':
      if (part.providerExecuted !== true)
        calls.call(part.toolCallId, part.toolName, part.input, metaOf(part.providerMetadata));
      break;
  }
}

const metaOf = (metadata: JsonObject | undefined): JsonObject | undefined =>
  metadata === undefined || Object.keys(metadata).length === 0 ? undefined : metadata;

interface RawChunk {
  readonly choices?: readonly {
    readonly delta?: { readonly tool_calls?: readonly { readonly extra_content?: unknown }[] };
  }[];
}

/** Gemini behind an OpenAI-compatible address signs calls, and refuses a request that gives one back unsigned. */
const hasSignature = (raw: unknown): boolean => {
  const chunk = raw as RawChunk | null | undefined;
  const calls = chunk?.choices?.[0]?.delta?.tool_calls;
  return (
    Array.isArray(calls) &&
    calls.some((each: { extra_content?: unknown } | null) => each?.extra_content != null)
  );
};
async function open(model: StreamingModel, options: CallOptions, failed: Reading['failed']) {
  try {
    return (await model.doStream(options)).stream.getReader();
  } catch (thrown) {
    throw failed(thrown);
  }
}

const nothingCame = (baseURL: string | undefined): string =>
  `The server did not answer with a model's stream. Check the base URL${baseURL === undefined ? '' : `, which is ${placeOf(baseURL)}`}.`;
