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
  /** As the log and errors call it: `anthropic/claude-sonnet-4-5`. */
  readonly id: string;
  readonly price?: ModelPrice;
  readonly contextWindow?: number;
  /** The system's by default. */
  readonly clock?: Clock;
  /** How long the first word may take where the request does not say: 10 minutes by default. */
  readonly firstTokenTimeoutMs?: number;
  /** How long it may be silent after that: 120 s by default. */
  readonly idleTimeoutMs?: number;
  /** Passed to the provider with each call. */
  readonly providerOptions?: ProviderOptions;
  /** The environment variable the key comes from, for hints. */
  readonly keyVariable?: string;
  /** Where it is asked, for errors. */
  readonly baseURL?: string;
  /** Opens the same model on another connection, on which a request can be looked at. */
  readonly openOn?: OpenOn;
  /** What must not appear in an error. */
  readonly secrets?: readonly string[];
}

const FIRST_TOKEN_MS = 600_000;
const SILENCE_MS = 120_000;

/**
 * A model out of anything that implements the AI SDK's language-model interface. Each turn is one call of the
 * provider: when to call again is for the session to say.
 */
export function fromLanguageModel(model: LanguageModel, options: LanguageModelOptions): Model {
  const { id, price, contextWindow, providerOptions, clock = createSystemClock() } = options;
  // The versions of the interface differ in what is not used here.
  const streaming = model as unknown as StreamingModel;
  const isAnthropic = model.provider.includes('anthropic');
  const limits = {
    id,
    clock,
    idleMs: options.idleTimeoutMs ?? SILENCE_MS,
  };
  // OpenAI's chat completions, and all that are modeled on them, tell at the end of the response which calls are
  // complete: the AI SDK does not guess.
  const isLate = /\.chat$/.test(model.provider);
  // Servers behind OpenAI-compatible addresses: their reasoning has no signature, and their ids may hold one.
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
      // What the package of a program's own makes of it is not known.
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

/** The sampling options among the fields of a request. */
function samplingOf(request: ModelCallOptions): ModelCallOptions {
  const given = SAMPLING.filter((key) => request[key] !== undefined);
  return Object.fromEntries(given.map((key) => [key, request[key]]));
}

/** A tool that must be called is called once: Anthropic's models are known to call it twice. */
const ONE_CALL: ProviderOptions = { anthropic: { disableParallelToolUse: true } };

/**
 * A call of a provider that offers tools, in the form that all versions of the interface take. Where calls are
 * complete `late`, the raw stream is asked for as well: `readStream` looks there for what must not be lost.
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

/** Opens a provider's model on a connection of the caller's. */
export type OpenOn = (fetch: typeof globalThis.fetch) => Promise<LanguageModel>;

/** What a request holds of the conversation and the tools, and the model's name, over all wire formats. */
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
 * The options that a provider's package puts into the body of a request: those that are given, and its own. The request
 * is made and not sent.
 */
async function requestOptions(open: OpenOn, call: LanguageModelCallOptions): Promise<JsonObject> {
  let body: Json | undefined;
  const model = await open(async (_, init) => {
    body = JSON.parse(String(init?.body)) as Json;
    throw new Error('This request is only looked at.');
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

/** Up to a breakpoint Anthropic keeps the prompt for the next request; the others find the common beginning alone. */
const BREAKPOINT: ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } };

export interface ToPromptOptions extends SaidPartsOptions {
  /** Whether ids of calls may hold a signature that has to stay. */
  readonly keepsIds?: boolean;
}

/**
 * The conversation as providers take it. Messages without text or calls are left out (Anthropic refuses them), and
 * those of one role in a row are joined (templates of local models want roles to alternate). Every native call is
 * answered by the message behind it, and every answer has its call: providers refuse all else. Names and ids of calls are
 * such as they take. What a request begins
 * with does not change when messages are added. For Anthropic, assistants' messages lose white space at their end,
 * which it refuses, and the system prompt and the last message are marked for its cache. Pure.
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

/** Behind what was said in the same role before; of two texts that meet, one is made. */
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

/** What a call is told that nobody answered: OpenAI and Anthropic refuse a request with such a call. */
const NOT_RUN = 'not run: the turn broke off';

/** The answers that stand between the assistant's message at `index` and its next one. */
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

/** An answer whose call is not in the request. */
const answerInWords = ({ name, text, failed }: ToolAnswer): string =>
  `[${name} ${failed === true ? 'failed' : 'answered'}: ${text}]`;

/** What all providers take as the name of a tool. */
const NAME = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;
const MAX_NAME = 64;
/** OpenAI's chat completions refuse longer ids; Anthropic other characters. */
const MAX_ID = 40;
/** LiteLLM puts the signature of a Gemini call behind its id, and looks for it there. */
const HOLDS_SIGNATURE = /__thought__/;
const STRANGE = /[^a-zA-Z0-9_-]/g;

/**
 * Makes the calls of a conversation such as providers accept: models make up names (`functions.shell`, `my tool!`), and
 * use an id again in a later turn. Called for each call in the order of the conversation; what it gives depends on the
 * calls before alone, so the beginning of a prompt stays as it is when the prompt grows.
 */
class CallCleaner {
  private readonly ids = new Set<string>();
  private readonly keepsSignatures: boolean;

  /** `keepsSignatures`: ids that hold one stay as they are. */
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

/** Long ids may differ at their end alone: what is cut off leaves a checksum (FNV-1a). */
function shortId(id: string): string {
  if (id.length <= MAX_ID) return id;
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193) >>> 0;
  return `${id.slice(0, MAX_ID - 9)}_${hash.toString(16).padStart(8, '0')}`;
}
