import type { LanguageModelV3, LanguageModelV3CallOptions } from '@ai-sdk/provider';

/** A model of the AI SDK that says the same thing in every turn, and keeps what it was asked. */
export function capturingModel(parts: readonly object[]) {
  const asked: LanguageModelV3CallOptions[] = [];
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  const end = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage };
  const model = {
    specificationVersion: 'v3',
    provider: 'capturing',
    modelId: 'm',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('Only streams are asked for.')),
    doStream: async (options: LanguageModelV3CallOptions) => {
      asked.push(options);
      return { stream: ReadableStream.from([...parts, end]) };
    },
  } as unknown as LanguageModelV3;
  return { model, asked };
}

/** The system prompt of a request. */
export const systemOf = ({ prompt }: LanguageModelV3CallOptions): string => {
  const [first] = prompt;
  return first?.role === 'system' ? first.content : '';
};
