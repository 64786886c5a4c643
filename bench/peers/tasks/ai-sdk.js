// AI SDK 7: ToolLoopAgent, as its documentation has it. Tools run side by side, each as soon as its input is complete.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { isStepCount, ToolLoopAgent, tool } from 'ai';
import { z } from 'zod';
import {
  INSTRUCTIONS,
  RESEARCH_INSTRUCTIONS,
  RESEARCH_TOOLS,
  RESEARCHER,
  RESEARCHER_DESCRIPTION,
  TOOLS,
} from '../../tasks/world.ts';

export const system = {
  name: 'AI SDK 7',
  manner: 'native',
  async open(url) {
    const model = createOpenAICompatible({ name: 'bench', baseURL: url, includeUsage: true })('bench');
    let world;
    const toTools = (specs) =>
      Object.fromEntries(
        specs.map(({ name, description, parameters }) => [
          name,
          tool({
            description,
            inputSchema: z.object(
              Object.fromEntries(
                Object.entries(parameters).map(([key, about]) => [key, z.string().describe(about)]),
              ),
            ),
            execute: (values) => world.call(name, values),
          }),
        ]),
      );
    const stopWhen = isStepCount(100);
    const researcher = new ToolLoopAgent({
      model,
      instructions: RESEARCH_INSTRUCTIONS,
      tools: toTools(RESEARCH_TOOLS),
      stopWhen,
    });
    const agent = new ToolLoopAgent({
      model,
      instructions: INSTRUCTIONS,
      stopWhen,
      tools: {
        ...toTools(TOOLS),
        [RESEARCHER]: tool({
          description: RESEARCHER_DESCRIPTION,
          inputSchema: z.object({ input: z.string().describe('The question') }),
          execute: ({ input }) => ask(researcher, input),
        }),
      },
    });
    return {
      run(question, given) {
        world = given;
        return ask(agent, question);
      },
      close: async () => {},
    };
  },
};

async function ask(agent, prompt) {
  const result = await agent.stream({ prompt });
  for await (const _ of result.textStream); // read as it comes, as an application does
  return await result.text;
}
