// OpenAI Agents: Agent and run, with the sub-agent as a tool. Its chat completions are used, as all others use them.
import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';
import {
  INSTRUCTIONS,
  RESEARCH_INSTRUCTIONS,
  RESEARCH_TOOLS,
  RESEARCHER,
  RESEARCHER_DESCRIPTION,
  TOOLS,
} from '../../tasks/world.ts';

setTracingDisabled(true);

export const system = {
  name: 'OpenAI Agents 0.20',
  manner: 'native',
  async open(url) {
    const client = new OpenAI({ baseURL: url, apiKey: 'none' });
    const model = new OpenAIChatCompletionsModel(client, 'bench');
    const modelSettings = { parallelToolCalls: true };
    let world;
    const toTools = (specs) =>
      specs.map(({ name, description, parameters }) =>
        tool({
          name,
          description,
          parameters: z.object(
            Object.fromEntries(
              Object.entries(parameters).map(([key, about]) => [key, z.string().describe(about)]),
            ),
          ),
          execute: (values) => world.call(name, values),
        }),
      );
    const researcher = new Agent({
      name: RESEARCHER,
      instructions: RESEARCH_INSTRUCTIONS,
      model,
      modelSettings,
      tools: toTools(RESEARCH_TOOLS),
    });
    const agent = new Agent({
      name: 'assistant',
      instructions: INSTRUCTIONS,
      model,
      modelSettings,
      tools: [
        ...toTools(TOOLS),
        researcher.asTool({ toolName: RESEARCHER, toolDescription: RESEARCHER_DESCRIPTION }),
      ],
    });
    return {
      async run(question, given) {
        world = given;
        const result = await run(agent, question, { stream: true, maxTurns: 100 });
        for await (const _ of result); // read as it comes, as an application does
        await result.completed;
        return result.finalOutput ?? '';
      },
      close: async () => {},
    };
  },
};
