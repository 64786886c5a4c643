import { type Clock, createSystemClock } from '../../lib/clock.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import type {
  LookedAtRequest,
  Model,
  ModelCallOptions,
  ModelMessage,
  ModelPrice,
  ModelRequest,
  ModelTool,
  ToolAnswer,
} from '../model.ts';

import type {
  FunctionTool,
  LanguageModel,
  LanguageModelCallOptions,
  LanguageModelPromptMessage,
  ProviderOptions,
  SaidPart,
  StreamingModel,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from './language-model.ts';
import { providerFailure } from './provider-failure.ts';
import { readStream } from './read-stream.ts';
import { type SaidPartsOptions, saidParts } from './said-parts.ts';
import { superviseCall } from './supervise-call.ts';
import { functionTool, schemaDialectOf } from './tool-schema.ts';

export interface LanguageModelOptions {
  /** Its name in the log and in errors: `anthropic/claude-sonnet-4-5`. */
  readonly id: string;
  readonly price?: ModelPrice;
  readonly contextWindow?: number;
  /** The system clock by default. */
  readonly clock?: Clock;
  /** The time limit for the first token if the request sets none. 10 minutes by default. */
  readonly firstTokenTimeoutMs?: number;
  /** The longest silence after that. 120 s by default. */
  readonly idleTimeoutMs?: number;
  /** Passed to the provider with each call. */
  readonly providerOptions?: ProviderOptions;
  /** The environment variable of the key, for hints. */
  readonly keyVariable?: string;
  /** The base URL, for errors. */
  readonly baseURL?: string;
  /** Opens the same model with another `fetch`, so that a request can be inspected. */
  readonly openOn?: OpenOn;
  /** Texts that must not appear in errors. */
  readonly secrets?: readonly string[];
}

const FIRST_TOKEN_MS = 600_000;
const SILENCE_MS = 120_000;

/**
 * Creates a Model from anything that implements the AI SDK's language-model interface. Each turn is one call of the
 * provider. The session decides about retries.
 */
export function fromLanguageModel(model: LanguageModel, options: LanguageModelOptions): Model {
  const { id, price, contextWindow, providerOptions, clock = createSystemClock() } = options;
  // The versions of the interface only differ in features that are not used here.
  const streaming = model as unknown as StreamingModel;
  const isAnthropic = model.provider.includes('anthropic');
  const limits = {
    id,
    clock,
    idleMs: options.idleTimeoutMs ?? SILENCE_MS,
  };
  // OpenAI's chat completions, and formats modeled on them, only report at the end of the response which calls are
  // complete, and the AI SDK does not guess.
  const isLate = /\.chat$/.test(model.provider);
  // On OpenAI-compatible servers, reasoning has no signature, and ids of calls may contain one.
  const isCompatible = isLate && !/^(?:openai|azure)(?:\.|$)/.test(model.provider);
  const dialect = schemaDialectOf(model.provider);
  const functions = new WeakMap<readonly ModelTool[], readonly FunctionTool[]>();
  const functionsOf = (tools: readonly ModelTool[]): readonly FunctionTool[] => {
    const known = functions.get(tools) ?? tools.map((tool) => functionTool(tool, dialect));
    functions.set(tools, known);
    return known;
  };
  const firstMsOf = ({ firstTokenMs }: ModelRequest) =>
    options.firstTokenTimeoutMs ?? firstTokenMs ?? FIRST_TOKEN_MS;
  const callOptions = (
    request: LookedAtRequest & Pick<ModelRequest, 'system' | 'messages'>,
    abortSignal: AbortSignal,
  ): LanguageModelCallOptions => {
    const { system, messages, tools = [] } = request;
    const plain: LanguageModelCallOptions = {
      prompt: toPrompt(system, messages, {
        isAnthropic,
        hasTools: tools.length > 0,
        model: id,
        keepsIds: isCompatible,
      }),
      abortSignal,
      ...samplingOf(request),
      ...(providerOptions === undefined ? {} : { providerOptions }),
    };
    return tools.length === 0 ? plain : withTools(plain, functionsOf(tools), request.toolChoice, isLate);
  };
  return {
    id,
    ...(price === undefined ? {} : { price }),
    ...(contextWindow === undefined ? {} : { contextWindow }),
    requestOptions: async (request) => {
      const messages: ModelRequest['messages'] = [{ role: 'user', text: 'Hello.' }];
      const call = callOptions({ ...request, system: '', messages }, new AbortController().signal);
      if (options.openOn !== undefined) return requestOptions(options.openOn, call);
      // It is unknown what a program's own package does with it.
      const { toolChoice, providerOptions: given } = call;
      const known = { ...samplingOf(call), toolChoice, providerOptions: given };
      return JSON.parse(JSON.stringify(known)) as JsonObject;
    },
    stream: (request, sink) =>
      superviseCall({ ...limits, firstMs: firstMsOf(request), signal: request.signal }, (call) => {
        const callWith = callOptions(request, call.signal);
        const hasTools = callWith.tools !== undefined;
        const failed = (thrown: unknown, hint?: string) =>
          providerFailure(thrown, { ...options, hasTools, nowMs: clock.now(), ...(hint && { hint }) });
        return readStream(streaming, callWith, {
          call,
          sink,
          id,
          isLate,
          keepsPlain: isCompatible && hasTools,
          writeCall: request.writeCall,
          failed,
          baseURL: options.baseURL,
        });
      }),
  };
}

const SAMPLING = [
  'maxOutputTokens',
  'temperature',
  'topP',
  'topK',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'stopSequences',
] as const satisfies readonly (keyof ModelCallOptions)[];

/** The sampling options of a request. */
function samplingOf(request: ModelCallOptions): ModelCallOptions {
  const given = SAMPLING.filter((key) => request[key] !== undefined);
  return Object.fromEntries(given.map((key) => [key, request[key]]));
}

/** Makes a required tool be called only once. Anthropic's models sometimes call it twice. */
const ONE_CALL: ProviderOptions = { anthropic: { disableParallelToolUse: true } };

/**
 * Call options with tools, in a form that all versions of the interface accept. If calls are only complete late
 * (`isLate`), the raw stream is requested as well, because `readStream` needs data from it.
 */
function withTools(
  options: LanguageModelCallOptions,
  tools: readonly FunctionTool[],
  toolChoice: string | undefined,
  isLate: boolean,
): LanguageModelCallOptions {
  return {
    ...options,
    tools,
    toolChoice: toolChoice === undefined ? { type: 'auto' } : { type: 'tool', toolName: toolChoice },
    ...(isLate ? { includeRawChunks: true } : {}),
    ...(toolChoice === undefined ? {} : { providerOptions: merged(options.providerOptions, ONE_CALL) }),
  };
}

const merged = (given: ProviderOptions = {}, added: ProviderOptions): ProviderOptions => ({
  ...given,
  ...Object.fromEntries(Object.entries(added).map(([name, each]) => [name, { ...given[name], ...each }])),
});

/** Opens a provider's model with the caller's `fetch`. */
export type OpenOn = (fetch: typeof globalThis.fetch) => Promise<LanguageModel>;

/** The fields of a request for conversation, tools and model, in all wire formats. They are shown elsewhere. */
const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set([
  'model',
  'system',
  'instructions',
  'systemInstruction',
  'messages',
  'input',
  'contents',
  'tools',
]);

/**
 * The options that a provider's package puts into the body of a request: the given ones and its own. The request is
 * created, but not sent.
 */
async function requestOptions(open: OpenOn, call: LanguageModelCallOptions): Promise<JsonObject> {
  let body: Json | undefined;
  const model = await open(async (_, init) => {
    body = JSON.parse(String(init?.body)) as Json;
    throw new Error('This request is only inspected.');
  });
  try {
    const { stream } = await (model as unknown as StreamingModel).doStream(call);
    await stream.cancel();
  } catch (thrown) {
    if (body === undefined) throw thrown;
  }
  if (!isJsonObject(body)) return {};
  return Object.fromEntries(Object.entries(body).filter(([key]) => !SHOWN_ELSEWHERE.has(key)));
}

/** Anthropic caches the prompt up to a breakpoint. Other providers find the common beginning by themselves. */
const BREAKPOINT: ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } };

export interface ToPromptOptions extends SaidPartsOptions {
  /** Whether ids of calls may contain a signature that must be kept. */
  readonly keepsIds?: boolean;
}

/**
 * Converts the conversation to the provider's format. Messages without text or calls are dropped, because Anthropic
 * refuses them. Consecutive messages of one role are joined, because templates of local models need alternating roles.
 * Every native call is answered by the next message, and every answer has its call, because providers refuse anything
 * else. Names and ids of calls are made valid. The beginning of a request does not change when messages are added. For
 * Anthropic, trailing white space of assistant messages is removed, because it refuses that, and the system prompt and
 * the last message are marked for its cache. Pure.
 */
export function toPrompt(
  system: string,
  messages: readonly ModelMessage[],
  options: ToPromptOptions,
): readonly LanguageModelPromptMessage[] {
  const cleaner = new CallCleaner(options.keepsIds === true);
  const prompt: LanguageModelPromptMessage[] = [];
  if (system.trim() !== '') prompt.push({ role: 'system', content: system, ...mark(options.isAnthropic) });
  let calls: readonly ToolCallPart[] = [];
  for (const [index, message] of messages.entries()) {
    if (message.role === 'assistant') {
      const parts = saidParts(message, options);
      calls = parts.filter((part) => part.type === 'tool-call');
      const cleaned = new Map(calls.map((call) => [call, cleaner.clean(call)]));
      add(
        prompt,
        'assistant',
        parts.map((part) => (part.type === 'tool-call' ? (cleaned.get(part) ?? part) : part)),
      );
      if (calls.length > 0) {
        const results = toolResults(calls, answersBehind(messages, index));
        const content = results.map((result, at) => {
          const { toolCallId, toolName } = [...cleaned.values()][at] ?? result;
          return { ...result, toolCallId, toolName };
        });
        prompt.push({ role: 'tool', content });
      }
    } else if (message.role === 'user') add(prompt, 'user', textParts(message.text));
    else
      for (const answer of message.answers ?? [])
        if (!calls.some(({ toolCallId }) => toolCallId === answer.call))
          add(prompt, 'user', textParts(answerInWords(answer)));
  }
  const last = prompt.at(-1);
  if (options.isAnthropic && (last?.role === 'user' || last?.role === 'tool'))
    prompt[prompt.length - 1] = { ...last, ...mark(true) };
  return prompt;
}

const textParts = (text: string): readonly TextPart[] => (text.trim() === '' ? [] : [{ type: 'text', text }]);

/** Appends to the previous message of the same role. Two adjacent texts become one. */
function add(
  prompt: LanguageModelPromptMessage[],
  role: 'user' | 'assistant',
  parts: readonly SaidPart[],
): void {
  const [first, ...rest] = parts;
  if (first === undefined) return;
  const before = prompt.at(-1);
  const said = before?.role === role ? (before.content as readonly SaidPart[]) : [];
  const tail = said.at(-1);
  const content =
    tail?.type === 'text' && first.type === 'text' && !isSigned(tail) && !isSigned(first)
      ? [...said.slice(0, -1), { type: 'text' as const, text: `${tail.text}\n\n${first.text}` }, ...rest]
      : [...said, ...parts];
  if (said.length > 0) prompt.pop();
  prompt.push({ role, content } as LanguageModelPromptMessage);
}

const isSigned = ({ providerOptions }: TextPart): boolean => providerOptions !== undefined;

const mark = (marked: boolean) => (marked ? { providerOptions: BREAKPOINT } : {});

/** The answer to a call that has none. OpenAI and Anthropic refuse a request with an unanswered call. */
const NOT_RUN = 'not run: the turn broke off';

/** The answers between the assistant's message at `index` and its next one. */
function answersBehind(messages: readonly ModelMessage[], index: number): readonly ToolAnswer[] {
  const found: ToolAnswer[] = [];
  for (let at = index + 1; at < messages.length && messages[at]?.role !== 'assistant'; at++)
    found.push(...(messages[at]?.answers ?? []));
  return found;
}

/** One result for each call, in the order of the calls. Pure. */
function toolResults(
  calls: readonly ToolCallPart[],
  answers: readonly ToolAnswer[],
): readonly ToolResultPart[] {
  const left = [...answers];
  return calls.map(({ toolCallId, toolName }) => {
    const at = left.findIndex(({ call }) => call === toolCallId);
    const [answer] = at === -1 ? [] : left.splice(at, 1);
    const { text, failed } = answer ?? { text: NOT_RUN, failed: true };
    return {
      type: 'tool-result',
      toolCallId,
      toolName,
      output: { type: failed === true ? 'error-text' : 'text', value: text },
    };
  });
}

/** Text for an answer whose call is not in the request. */
const answerInWords = ({ name, text, failed }: ToolAnswer): string =>
  `[${name} ${failed === true ? 'failed' : 'answered'}: ${text}]`;

/** A tool name that all providers accept. */
const NAME = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;
const MAX_NAME = 64;
/** OpenAI's chat completions refuse longer ids, Anthropic refuses other characters. */
const MAX_ID = 40;
/** LiteLLM appends the signature of a Gemini call to its id, and looks for it there. */
const HOLDS_SIGNATURE = /__thought__/;
const STRANGE = /[^a-zA-Z0-9_-]/g;

/**
 * Makes the calls of a conversation valid for providers. Models invent names (`functions.shell`, `my tool!`), and reuse
 * ids in later turns. Called for each call in the order of the conversation. The result depends only on earlier calls,
 * so the beginning of a prompt stays the same when it grows.
 */
class CallCleaner {
  private readonly ids = new Set<string>();
  private readonly keepsSignatures: boolean;

  /** With `keepsSignatures`, ids that contain a signature are not changed. */
  constructor(keepsSignatures: boolean) {
    this.keepsSignatures = keepsSignatures;
  }

  clean(call: ToolCallPart): ToolCallPart {
    const toolName = cleanName(call.toolName);
    const { toolCallId: given } = call;
    const isKept = this.keepsSignatures && HOLDS_SIGNATURE.test(given);
    const toolCallId = this.ownId(isKept ? given : shortId(given.replaceAll(STRANGE, '_')));
    const isClean = toolName === call.toolName && toolCallId === call.toolCallId;
    return isClean ? call : { ...call, toolName, toolCallId };
  }

  private ownId(id: string): string {
    let own = id;
    for (let n = 2; this.ids.has(own); n++) own = numbered(id, n);
    this.ids.add(own);
    return own;
  }
}

function cleanName(name: string): string {
  if (NAME.test(name)) return name;
  const plain = name.replaceAll(STRANGE, '_').slice(0, MAX_NAME);
  return /^[a-zA-Z_]/.test(plain) ? plain : `_${plain}`.slice(0, MAX_NAME);
}

const numbered = (id: string, n: number): string => {
  const end = `_${n}`;
  return id.length + end.length <= MAX_ID ? id + end : `${id.slice(0, MAX_ID - end.length)}${end}`;
};

/** Long ids may differ only at their end, so the removed part leaves a checksum (FNV-1a). */
function shortId(id: string): string {
  if (id.length <= MAX_ID) return id;
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193) >>> 0;
  return `${id.slice(0, MAX_ID - 9)}_${hash.toString(16).padStart(8, '0')}`;
}
