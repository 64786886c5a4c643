import { type Clock, createSystemClock } from '../../kernel/clock.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { Model, ModelPrice, ModelRequest, ModelTool } from '../model.ts';
import type {
  CallOptions,
  FunctionTool,
  LanguageModel,
  ProviderOptions,
  StreamingModel,
} from './language-model.ts';
import { providerFailure } from './provider-failure.ts';
import { readStream } from './read-stream.ts';
import { type OpenOn, requestOptions } from './request-options.ts';
import { superviseCall } from './supervise-call.ts';
import { toPrompt } from './to-prompt.ts';
import { functionTool, schemaDialectOf } from './tool-schema.ts';
import { withTools } from './with-tools.ts';

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
  // OpenAI's chat completions, and all that are modelled on them, tell at the end of the response which calls are
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
    request: Pick<ModelRequest, 'system' | 'messages' | 'maxOutputTokens' | 'tools' | 'toolChoice'>,
    abortSignal: AbortSignal,
  ): CallOptions => {
    const { system, messages, maxOutputTokens, tools = [] } = request;
    const plain: CallOptions = {
      prompt: toPrompt(system, messages, {
        isAnthropic,
        hasTools: tools.length > 0,
        model: id,
        keepsIds: isCompatible,
      }),
      abortSignal,
      ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
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
      return JSON.parse(JSON.stringify({ toolChoice, providerOptions: given })) as JsonObject;
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
