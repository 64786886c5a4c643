import { isStepCount, streamText, tool } from 'ai';
import { z } from 'zod';
import { answer, INSTRUCTIONS, PROMPT, TOOL, TOOL_DESCRIPTION } from '../agents/scenario.ts';
import { streamOf } from './language-model-stream.js';

export const contestant = {
  name: 'AI SDK 7',
  async open(script) {
    let calls = 0;
    const tools = {
      [TOOL]: tool({
        description: TOOL_DESCRIPTION,
        inputSchema: z.object({ query: z.string() }),
        execute: ({ query }) => {
          calls += 1;
          return answer(query);
        },
      }),
    };
    const model = {
      specificationVersion: 'v4',
      provider: 'fake',
      modelId: 'fake',
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error('The bench streams.')),
      doStream: async ({ prompt }) => ({
        stream: streamOf(script(prompt.filter(({ role }) => role === 'tool').length), 'v4'),
      }),
    };
    return {
      async session() {
        let characters = 0;
        const result = streamText({
          model,
          tools,
          instructions: INSTRUCTIONS,
          prompt: PROMPT,
          stopWhen: isStepCount(1_000_000),
          onError: ({ error }) => {
            throw error;
          },
        });
        for await (const text of result.textStream) characters += text.length;
        return { characters };
      },
      calls: () => calls,
      close: async () => {},
    };
  },
};
