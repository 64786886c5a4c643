import { defineAgent } from '../../src/agent/define/define-agent.ts';
import type { DefinedTool } from '../../src/agent/define/definitions.ts';
import { type AgentRun, runAgent } from '../../src/testing/run-agent.ts';
import { type HeardModel, scripted } from '../../src/testing/scripted.ts';

export interface Called extends AgentRun<string> {
  readonly model: HeardModel;
  /** What the action `a` gave, or why it failed. */
  readonly output: unknown;
  readonly error: { readonly code: string; readonly message: string } | undefined;
}

/** One action of one tool, called by a scripted model. */
export async function callTool(tool: DefinedTool, parameters: object): Promise<Called> {
  const action = `<action id="a">${JSON.stringify({ name: tool.name, parameters })}</action>`;
  const model = scripted([action, '<response>Done.</response>']);
  const agent = await defineAgent({ name: 'caller', model, tools: [tool] });
  const run = await runAgent(agent, { input: 'Call it.' });
  const ended = run.events.find(({ type }) => type === 'action.completed' || type === 'action.failed');
  return {
    ...run,
    model,
    output: ended?.type === 'action.completed' ? ended.output : undefined,
    error: ended?.type === 'action.failed' ? ended.error : undefined,
  };
}
