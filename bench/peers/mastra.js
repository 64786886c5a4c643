import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { answer, INSTRUCTIONS, PROMPT, TOOL, TOOL_DESCRIPTION } from '../agents/scenario.ts';
import { streamOf } from './language-model-stream.js';

export const contestant = {
  name: 'Mastra 1.71',
  async open(script) {
    let calls = 0;
    const model = {
      specificationVersion: 'v2',
      provider: 'fake',
      modelId: 'fake',
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error('The bench streams.')),
      doStream: async ({ prompt }) => ({
        stream: streamOf(script(prompt.filter(({ role }) => role === 'tool').length), 'v2'),
      }),
    };
    const agent = new Agent({
      id: 'bench',
      name: 'bench',
      instructions: INSTRUCTIONS,
      model,
      tools: {
        [TOOL]: createTool({
          id: TOOL,
          description: TOOL_DESCRIPTION,
          inputSchema: z.object({ query: z.string() }),
          execute: async ({ query }) => {
            calls += 1;
            return answer(query);
          },
        }),
      },
    });
    return {
      async session() {
        let characters = 0;
        const output = await agent.stream(PROMPT, { maxSteps: 1_000_000 });
        for await (const text of output.textStream) characters += text.length;
        return { characters };
      },
      calls: () => calls,
      close: async () => {},
    };
  },
};
