import { join } from 'node:path';
import { z } from 'zod';
import type { OpenSystem, System } from './system.ts';
import {
  INSTRUCTIONS,
  RESEARCH_INSTRUCTIONS,
  RESEARCH_TOOLS,
  RESEARCHER,
  RESEARCHER_DESCRIPTION,
  TOOLS,
  type ToolSpec,
  type World,
} from './world.ts';

/** The built package, as a program has it. */
const BUILT = import.meta.resolve('telltale');

/** Ours, through the public library: agents in code, the store on disk, the provider over HTTP. */
export const createTelltale = (manner: 'tags' | 'tools'): System => ({
  name: `telltale, ${manner}`,
  manner,
  async open(url, folder): Promise<OpenSystem> {
    const { createRuntime, defineAgent, defineTool } = (await import(
      BUILT
    )) as typeof import('../../telltale/src/index.ts');
    let world: World | undefined;
    const toTool = ({ name, description, parameters }: ToolSpec) =>
      defineTool({
        name,
        description,
        parameters: z.object(
          Object.fromEntries(
            Object.entries(parameters).map(([key, about]) => [key, z.string().describe(about)]),
          ),
        ),
        run: async (values: Record<string, string>) => (await (world as World).call(name, values)) as never,
      });
    const tools = TOOLS.map(toTool);
    const isForResearch = ({ name }: { readonly name: string }) =>
      RESEARCH_TOOLS.some((each) => each.name === name);
    const env = { OPENAI_COMPATIBLE_BASE_URL: url };
    const model = 'openai-compatible/bench';
    const researcher = await defineAgent({
      name: RESEARCHER,
      description: RESEARCHER_DESCRIPTION,
      instructions: RESEARCH_INSTRUCTIONS,
      dialect: manner,
      model,
      tools: tools.filter(isForResearch),
    });
    const agent = await defineAgent({
      name: 'assistant',
      instructions: INSTRUCTIONS,
      dialect: manner,
      model,
      tools,
      agents: [researcher],
    });
    const runtime = await createRuntime({ store: `sqlite:${join(folder, 'log.db')}`, cwd: folder, env });
    return {
      async run(question, given) {
        world = given;
        const { status, result, error } = await runtime.start(agent, { input: question }).result;
        if (status !== 'completed') throw new Error(`The session ended as ${status}: ${error?.message}`);
        return String(result);
      },
      close: () => runtime.close(),
    };
  },
});
