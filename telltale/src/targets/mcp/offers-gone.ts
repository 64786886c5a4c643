import { RuntimeError } from '../../kernel/runtime-error.ts';

/** The server had some when the session began. */
export const offersGone = (server: string, what: 'resources' | 'prompts') =>
  new RuntimeError('tool_gone', `The MCP server "${server}" no longer has ${what}.`, {
    hint: 'Do without, or look at what else it has.',
  });
