import { agent } from './agent.ts';
import { tool } from './tool.ts';

export const KINDS = { Agent: agent, Tool: tool };
