// LangGraph: the prebuilt ReAct agent with ChatOpenAI, and the sub-agent as a tool. Tools of a turn run side by side.
import { tool } from '@langchain/core/tools';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
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
  name: 'LangGraph 1.4',
  manner: 'native',
  async open(url) {
    const llm = new ChatOpenAI({
      model: 'bench',
      apiKey: 'none',
      streaming: true,
      configuration: { baseURL: url },
    });
    let world;
    const toTools = (specs) =>
      specs.map(({ name, description, parameters }) =>
        tool(async (values) => JSON.stringify(await world.call(name, values)), {
          name,
          description,
          schema: z.object(
            Object.fromEntries(
              Object.entries(parameters).map(([key, about]) => [key, z.string().describe(about)]),
            ),
          ),
        }),
      );
    const researcher = createReactAgent({
      llm,
      prompt: RESEARCH_INSTRUCTIONS,
      tools: toTools(RESEARCH_TOOLS),
    });
    const research = tool(({ input }) => ask(researcher, input), {
      name: RESEARCHER,
      description: RESEARCHER_DESCRIPTION,
      schema: z.object({ input: z.string().describe('The question') }),
    });
    const agent = createReactAgent({ llm, prompt: INSTRUCTIONS, tools: [...toTools(TOOLS), research] });
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
  let last;
  const stream = await agent.stream(
    { messages: [{ role: 'user', content: question }] },
    { streamMode: ['messages', 'values'], recursionLimit: 200 },
  );
  for await (const [mode, value] of stream) if (mode === 'values') last = value;
  return String(last?.messages.at(-1)?.content ?? '');
}
