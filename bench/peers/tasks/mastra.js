// Mastra: Agent and createTool, with the sub-agent as a tool. Tools of a turn run side by side.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
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
  name: 'Mastra 1.71',
  manner: 'native',
  async open(url) {
    const model = createOpenAICompatible({ name: 'bench', baseURL: url, includeUsage: true })('bench');
    let world;
    const toTools = (specs) =>
      Object.fromEntries(
        specs.map(({ name, description, parameters }) => [
          name,
          createTool({
            id: name,
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
    const researcher = new Agent({
      id: RESEARCHER,
      name: RESEARCHER,
      instructions: RESEARCH_INSTRUCTIONS,
      model,
      tools: toTools(RESEARCH_TOOLS),
    });
    const agent = new Agent({
      id: 'assistant',
      name: 'assistant',
      instructions: INSTRUCTIONS,
      model,
      tools: {
        ...toTools(TOOLS),
        [RESEARCHER]: createTool({
          id: RESEARCHER,
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

async function ask(agent, question) {
  const output = await agent.stream(question, { maxSteps: 100 });
  for await (const _ of output.textStream); // read as it comes, as an application does
  return await output.text;
}
