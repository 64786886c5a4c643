import type { GivenPart } from '../../lib/calls.ts';
import type { RuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { printable } from '../../manifest/diagnostic.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import type { ModelEnd, ModelRequest, ModelSink, ModelUsage } from '../model.ts';
import { modelFailed } from '../model-errors.ts';
import { type CallStream, createCallStream } from './call-stream.ts';
import type {
  LanguageModelCallOptions,
  PartFinish,
  PartUsage,
  PartWarning,
  StreamingModel,
  StreamPart,
} from './language-model.ts';
import { placeOf } from './provider-failure.ts';
import type { SupervisedCall } from './supervise-call.ts';

export interface StreamReading {
  readonly call: SupervisedCall;
  readonly sink: ModelSink;
  readonly id: string;
  /** Whether the provider only reports at the end which native calls are complete. */
  readonly isLate: boolean;
  /** Whether reasoning without a signature is sent back. */
  readonly keepsPlain: boolean;
  readonly writeCall: ModelRequest['writeCall'];
  /** `hint` is for a stream that broke off without another reason. */
  readonly failed: (thrown: unknown, hint?: string) => RuntimeError;
  /** The base URL, if known. */
  readonly baseURL?: string | undefined;
}

/**
 * Reads a model's stream into the sink. Errors of the sink are passed on unchanged, and errors of the provider are
 * translated.
 */
export async function readStream(
  model: StreamingModel,
  options: LanguageModelCallOptions,
  { call, sink, id, isLate, keepsPlain, writeCall = quoteCall, failed, baseURL }: StreamReading,
): Promise<ModelEnd> {
  const reader = await open(model, options, (thrown) => failed(thrown, nothingCame(baseURL)));
  // Nothing more is needed from an abandoned stream, not even an error of cancelling it.
  const giveUp = () => reader.cancel().catch(() => {});
  call.signal.addEventListener('abort', giveUp, { once: true });
  // One part may contain several frames. After an abort, none of them is delivered.
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
      // A raw chunk does not prove that the stream is readable.
      if (part.type === 'raw') {
        if (hasSignature(part.rawValue)) calls.awaitMeta();
        continue;
      }
      const first = isSilent ? nothingCame(baseURL) : undefined;
      isSilent = false;
      isSpeaking ||= isWord(part);
      if (isSpeaking) call.touch();
      // Late calls are only reported by `tool-call` at the end, after text that came later.
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

/** Output of the model. Before that, servers send parts about the stream itself. */
const isWord = (part: StreamPart): boolean =>
  part.type === 'tool-input-start' ||
  part.type === 'tool-call' ||
  ((part.type === 'text-delta' || part.type === 'reasoning-delta') && part.delta !== '');

type BlockEdge = Extract<StreamPart, { readonly type: `${'text' | 'reasoning'}-${'start' | 'end'}` }>;

const isBlockEdge = (part: StreamPart): part is BlockEdge =>
  /^(?:text|reasoning)-(?:start|end)$/.test(part.type);

/** Writes a call as text if no tools were offered, as some models make one anyway. It contains no tags. */
const quoteCall = (name: string, input: string): string =>
  `\n[called ${name}: ${input}]\n`.replaceAll('<', '\\u003c');

/** Reads the parts of a call. Calls that the provider executes itself are ignored. */
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

/** Gemini behind an OpenAI-compatible API signs calls, and refuses a request with an unsigned one. */
const hasSignature = (raw: unknown): boolean => {
  const chunk = raw as RawChunk | null | undefined;
  const calls = chunk?.choices?.[0]?.delta?.tool_calls;
  return (
    Array.isArray(calls) &&
    calls.some((each: { extra_content?: unknown } | null) => each?.extra_content != null)
  );
};
async function open(
  model: StreamingModel,
  options: LanguageModelCallOptions,
  failed: StreamReading['failed'],
) {
  try {
    return (await model.doStream(options)).stream.getReader();
  } catch (thrown) {
    throw failed(thrown);
  }
}

const nothingCame = (baseURL: string | undefined): string =>
  `The server did not answer with a model's stream. Check the base URL${baseURL === undefined ? '' : `, which is ${placeOf(baseURL)}`}.`;

/** Throws if a provider's package warns that it dropped the tools. */
function refuseWithoutTools(warnings: readonly PartWarning[], id: string): void {
  const warning = warnings.find(isAboutTools);
  if (warning === undefined) return;
  const details = printable(warning.details ?? '').trim();
  throw modelFailed(
    'model_no_tools',
    `${id}: the provider drops native tools${details === '' ? '.' : `: ${details}`}`,
  );
}

/** A warning that a call cannot be forced is no reason to stop, because the model may still make it. */
const isAboutTools = ({ type, feature, setting }: PartWarning): boolean =>
  type === 'unsupported-tool' ||
  (type === 'unsupported' && (feature === 'tools' || feature?.startsWith('tool ') === true)) ||
  (type === 'unsupported-setting' && setting === 'tools');

/** Reads the last part of a stream. Throws if the end is not a good one, with `hint` if that gives no reason. Pure. */
function readFinish(finish: PartFinish, usage: PartUsage, id: string, hint?: string): ModelEnd {
  const { unified, raw } = typeof finish === 'string' ? { unified: finish, raw: finish } : finish;
  const used = readUsage(usage);
  const end = (how: ModelEnd['finish']): ModelEnd =>
    used === undefined ? { finish: how } : { finish: how, usage: used };
  switch (unified) {
    case 'stop':
    case 'tool-calls':
      return end('stop');
    case 'length':
      return end('length');
    case 'content-filter':
      throw modelFailed('model_filtered', `${id}: the answer was stopped (${raw ?? unified}).`);
    case 'other':
      // Older providers use this for a stream that ended without a reason.
      if (raw === undefined) throw brokeOff(id, hint);
      return end('stop');
    default:
      throw brokeOff(id, hint);
  }
}

const brokeOff = (id: string, hint?: string) =>
  modelFailed(
    'model_broke_off',
    `${id}: the stream ended before the answer was complete.`,
    hint === undefined ? {} : { hint },
  );

function readUsage(usage: PartUsage | undefined): ModelUsage | undefined {
  if (usage === undefined) return undefined;
  const { inputTokens, outputTokens } = usage;
  const isNested = typeof inputTokens === 'object' && typeof outputTokens === 'object';
  const input = isNested ? inputTokens.total : inputTokens;
  const output = isNested ? outputTokens.total : outputTokens;
  if (typeof input !== 'number' || typeof output !== 'number') return undefined;
  const cached = isNested
    ? inputTokens.cacheRead
    : 'cachedInputTokens' in usage
      ? usage.cachedInputTokens
      : undefined;
  const written = isNested ? inputTokens.cacheWrite : undefined;
  const reasoning = isNested
    ? outputTokens.reasoning
    : 'reasoningTokens' in usage
      ? usage.reasoningTokens
      : undefined;
  return {
    input,
    output,
    ...(cached === undefined ? {} : { cached }),
    ...(written === undefined ? {} : { written }),
    ...(reasoning === undefined || reasoning === 0 ? {} : { reasoning }),
  };
}

/** A text or reasoning block that has started. */
interface StreamBlock {
  text: string;
  meta: JsonObject | undefined;
}

type BlockPart = Extract<
  StreamPart,
  { readonly id: string; readonly type: `${'text' | 'reasoning'}-${string}` }
>;

/**
 * Collects the parts that a provider needs back: reasoning with its signature, and metadata of text. Signatures arrive
 * with the start, a delta, or the end. With `keepsPlain`, reasoning without a signature is kept as well.
 */
class PartCollector {
  private readonly blocks = new Map<string, StreamBlock>();
  private readonly keepsPlain: boolean;
  private readonly keep: (part: GivenPart) => void;

  constructor(keepsPlain: boolean, keep: (part: GivenPart) => void) {
    this.keepsPlain = keepsPlain;
    this.keep = keep;
  }

  read(part: BlockPart): void {
    const isReasoning = part.type.startsWith('reasoning');
    const key = `${isReasoning ? 'r' : 't'}${part.id}`;
    const block = this.blocks.get(key) ?? { text: '', meta: undefined };
    block.meta = merged(block.meta, part.providerMetadata);
    if (isReasoning && 'delta' in part) block.text += part.delta;
    if (!part.type.endsWith('-end')) {
      this.blocks.set(key, block);
      return;
    }
    this.blocks.delete(key);
    const { text, meta } = block;
    const given = meta === undefined || !saysAnything(meta) ? undefined : meta;
    if (isReasoning && (given !== undefined || (this.keepsPlain && text !== '')))
      this.keep({
        type: 'reasoning',
        ...(text === '' ? {} : { text }),
        ...(given === undefined ? {} : { meta: given }),
      });
    else if (given !== undefined) this.keep({ type: 'text', meta: given });
  }
}

/** Later metadata extends earlier metadata. */
function merged(before: JsonObject | undefined, given: JsonObject | undefined): JsonObject | undefined {
  if (given === undefined || before === undefined) return given ?? before;
  return Object.fromEntries(
    [...new Set([...Object.keys(before), ...Object.keys(given)])].map((name) => {
      const [one, other] = [before[name], given[name]];
      return [name, isMap(one) && isMap(other) ? { ...one, ...other } : (other ?? one ?? null)];
    }),
  ) as JsonObject;
}

const saysAnything = (meta: JsonObject): boolean =>
  Object.values(meta).some((each) => isMap(each) && Object.values(each).some((value) => value != null));

/** Tokens with which templates end a turn. Servers that do not know a model's tokens pass them through as text. */
const END_TOKENS = [
  '<|im_end|>',
  '<|endoftext|>',
  '<|eot_id|>',
  '<|eom_id|>',
  '<|end|>',
  '<|end_of_text|>',
  '<|end_of_turn|>',
  '<end_of_turn>',
  '<｜end▁of▁sentence｜>',
  '</s>',
];

/** In a text with such tags, `</s>` is an ordinary tag. */
const STRUCK = /<s[\s>]/;

const BYTE_ORDER_MARK = '\ufeff';

/** Removes what is not part of an answer: a byte order mark at its start, and template tokens at its end. */
class CleanText {
  private held = '';
  private isFirst = true;
  private tokens: readonly string[] = END_TOKENS;

  /** Returns the text that is safe to output. A tail that may be such tokens is held back. */
  push(delta: string): string {
    let text = this.held + delta;
    if (this.isFirst && text !== '') {
      if (text.startsWith(BYTE_ORDER_MARK)) text = text.slice(1);
      this.isFirst = false;
    }
    if (STRUCK.test(text)) this.tokens = END_TOKENS.filter((token) => token !== '</s>');
    const end = tailAt(text, this.tokens);
    this.held = text.slice(end);
    return text.slice(0, end);
  }

  /** Something else follows, so the held text was not the end. */
  flush(): string {
    const { held } = this;
    this.held = '';
    return held;
  }

  /** The answer is over: complete tokens are dropped, an incomplete one is text. */
  end(): string {
    const held = this.flush();
    return withoutTokens(held, this.tokens) === 0 ? '' : held;
  }
}

/** Where a tail of such tokens starts, with white space between them, and perhaps an incomplete one at the end. */
function tailAt(text: string, tokens: readonly string[]): number {
  const half = text.lastIndexOf('<');
  const isHalf = half >= 0 && tokens.some((token) => token.startsWith(text.slice(half)));
  return withoutTokens(isHalf && !tokens.includes(text.slice(half)) ? text.slice(0, half) : text, tokens);
}

/** The length of the text without the tokens at its end. */
function withoutTokens(text: string, tokens: readonly string[]): number {
  let end = text.length;
  for (;;) {
    const rest = text.slice(0, end).trimEnd();
    const token = tokens.find((each) => rest.endsWith(each));
    if (token === undefined) return end;
    end = rest.length - token.length;
  }
}
