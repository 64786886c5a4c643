import type {
  LanguageModelV2,
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV4,
} from '@ai-sdk/provider';

/** How a stream ends in each version of the interface. */
const ENDS = {
  v2: { type: 'finish', finishReason: 'stop', usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 } },
  v3: {
    type: 'finish',
    finishReason: { unified: 'stop', raw: 'stop' },
    usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
  },
};

/** A model of the AI SDK that says the same thing in every turn, and keeps what it was asked. */
export function capturingModel(parts: readonly object[], version: 'v2' | 'v3' | 'v4' = 'v3') {
  const asked: LanguageModelV3CallOptions[] = [];
  const end = version === 'v2' ? ENDS.v2 : ENDS.v3;
  const model = {
    specificationVersion: version,
    provider: 'capturing',
    modelId: 'm',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('Only streams are asked for.')),
    doStream: async (options: LanguageModelV3CallOptions) => {
      asked.push(options);
      return { stream: ReadableStream.from([...parts, end]) };
    },
  } as unknown as LanguageModelV2 | LanguageModelV3 | LanguageModelV4;
  return { model, asked };
}

/** The system prompt of a request. */
export const systemOf = ({ prompt }: LanguageModelV3CallOptions): string => {
  const [first] = prompt;
  return first?.role === 'system' ? first.content : '';
};
