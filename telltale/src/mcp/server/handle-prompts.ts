import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { ServeCatalog } from './serve-catalog.ts';
import type { SessionResources } from './session-resources.ts';
import { completeArgument, getPrompt, listPrompts } from './workflow-prompts.ts';

type Types = typeof import('@modelcontextprotocol/sdk/types.js');

/** Answers what a client asks of prompts, and completes what a person types for them. */
export function handlePrompts(
  server: Server,
  { McpError, ErrorCode, ...types }: Types,
  catalog: ServeCatalog,
  resources: Pick<SessionResources, 'complete'>,
): void {
  const answering = <T>(work: () => T): T => {
    try {
      return work();
    } catch (thrown) {
      if (!(thrown instanceof RuntimeError)) throw thrown;
      throw new McpError(ErrorCode.InvalidParams, `${thrown.message} ${thrown.hint ?? ''}`.trim());
    }
  };
  server.setRequestHandler(types.ListPromptsRequestSchema, () => ({ prompts: listPrompts(catalog) }));
  server.setRequestHandler(types.GetPromptRequestSchema, ({ params: { name, arguments: args = {} } }) =>
    answering(() => getPrompt(catalog, name, args)),
  );
  server.setRequestHandler(types.CompleteRequestSchema, async ({ params: { ref, argument } }) => {
    const values =
      ref.type === 'ref/prompt'
        ? answering(() => completeArgument(catalog, ref.name, argument))
        : await resources.complete(argument.name, argument.value);
    return { completion: { values: [...values], hasMore: false } };
  });
}
