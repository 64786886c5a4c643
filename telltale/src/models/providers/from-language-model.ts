import { type Clock, createSystemClock } from '../../kernel/clock.ts';
import type { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Model, ModelEnd, ModelPrice, ModelSink } from '../model.ts';
import { brokeOff, readFinish } from './finish.ts';
import type { CallOptions, LanguageModel, ProviderOptions, StreamingModel } from './language-model.ts';
import { providerFailure } from './provider-failure.ts';
import { type SupervisedCall, superviseCall } from './supervise-call.ts';
import { toPrompt } from './to-prompt.ts';

export interface LanguageModelOptions {
  /** As the log and errors call it: `anthropic/claude-sonnet-4-5`. */
  readonly id: string;
  readonly price?: ModelPrice;
  readonly contextWindow?: number;
  /** The system's by default. */
  readonly clock?: Clock;
  /** How long the first part may take: 120 s by default. */
  readonly firstTokenTimeoutMs?: number;
  /** How long it may be silent after that: 120 s by default. */
  readonly idleTimeoutMs?: number;
  /** Passed to the provider with each call. */
  readonly providerOptions?: ProviderOptions;
  /** The environment variable the key comes from, for hints. */
  readonly keyVariable?: string;
  /** What must not appear in an error. */
  readonly secrets?: readonly string[];
}

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
    firstMs: options.firstTokenTimeoutMs ?? SILENCE_MS,
    idleMs: options.idleTimeoutMs ?? SILENCE_MS,
  };
  const failed = (thrown: unknown) => providerFailure(thrown, { ...options, nowMs: clock.now() });
  return {
    id,
    ...(price === undefined ? {} : { price }),
    ...(contextWindow === undefined ? {} : { contextWindow }),
    stream: ({ system, messages, signal, maxOutputTokens }, sink) =>
      superviseCall({ ...limits, signal }, (call) =>
        readStream(
          streaming,
          {
            prompt: toPrompt(system, messages, isAnthropic),
            abortSignal: call.signal,
            ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
            ...(providerOptions === undefined ? {} : { providerOptions }),
          },
          { call, sink, id, failed },
        ),
      ),
  };
}

interface Reading {
  readonly call: SupervisedCall;
  readonly sink: ModelSink;
  readonly id: string;
  readonly failed: (thrown: unknown) => RuntimeError;
}

/** What the sink throws is passed on as it is; what the provider throws is put into our words. */
async function readStream(model: StreamingModel, options: CallOptions, reading: Reading): Promise<ModelEnd> {
  const { call, sink, id, failed } = reading;
  const reader = await open(model, options, failed);
  // Of a stream that is given up nothing more is wanted, not even why it could not be given up.
  const giveUp = () => reader.cancel().catch(() => {});
  call.signal.addEventListener('abort', giveUp, { once: true });
  let end: ModelEnd | undefined;
  let isSilent = true;
  try {
    while (!call.signal.aborted) {
      const next = await reader.read().catch((thrown: unknown) => {
        if (end === undefined) throw failed(thrown);
        return { done: true, value: undefined } as const;
      });
      if (next.done || call.signal.aborted) break;
      const part = next.value;
      if (part.type === 'stream-start' || end !== undefined) continue;
      isSilent = false;
      call.touch();
      if (part.type === 'text-delta') {
        if (part.delta !== '') sink.text(part.delta);
      } else if (part.type === 'reasoning-delta') {
        if (part.delta !== '') sink.reasoning(part.delta);
      } else if (part.type === 'error') throw failed(part.error);
      else if (part.type === 'finish') {
        end = readFinish(part.finishReason, part.usage, id);
        call.closing(end);
      }
    }
  } finally {
    void giveUp();
  }
  if (end === undefined) throw brokeOff(id, isSilent ? NOTHING_CAME : undefined);
  return end;
}

async function open(model: StreamingModel, options: CallOptions, failed: Reading['failed']) {
  try {
    return (await model.doStream(options)).stream.getReader();
  } catch (thrown) {
    throw failed(thrown);
  }
}

const NOTHING_CAME = 'The server answered with no stream of a model: check the base URL.';
