import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { compileCheck } from '../check-parameters.ts';
import { DEFAULT_OUTPUT_BYTES } from '../output/output.ts';
import type { Target } from '../target.ts';
import type { McpServer, McpTool } from './mcp-server.ts';
import { createSchemaIntake, mcpResult, mcpTargetName } from './mcp-server.ts';

const MAX_DESCRIPTION = 8_000;

/**
 * The tools of a server as things an action can call. `taken` are those that a Tool manifest of the agent stands for:
 * what such a manifest demands (approval, say) must not be got round by the server's own name for it.
 */
export function* mcpTargets(server: McpServer, taken: ReadonlySet<string>): Generator<Target> {
  const named = new Map<string, string>();
  const intake = createSchemaIntake();
  for (const tool of server.tools) {
    if (taken.has(tool.name)) continue;
    const name = mcpTargetName(server.name, tool.name);
    const other = named.get(name);
    if (other !== undefined) throw namedAlike(server.name, name, other, tool.name);
    named.set(name, tool.name);
    yield mcpTarget(server, tool, name, intake(tool.inputSchema));
  }
}

function mcpTarget(server: McpServer, tool: McpTool, name: string, parameters: JsonObject): Target {
  const what = `tool "${name}"`;
  return {
    kind: 'tool',
    name,
    description: clip(tool.description, MAX_DESCRIPTION),
    parameters,
    idempotent: tool.idempotent,
    start: 'on_close',
    check: compileCheck(parameters, what, `The schema of ${what} of the MCP server "${server.name}"`),
    async run(call) {
      const { input, signal } = call;
      const onProgress = (data: Json) => call.progress(data);
      const answer = await server.call({ what, tool: tool.name, input, signal, onProgress });
      return mcpResult(answer, { what, maxBytes: DEFAULT_OUTPUT_BYTES, wantsJson: false });
    },
  };
}

const namedAlike = (server: string, name: string, one: string, other: string) =>
  new RuntimeError(
    'name_taken',
    `Two tools of the MCP server "${server}" would both be called "${name}": ${JSON.stringify(clip(one, 200))} and ${JSON.stringify(clip(other, 200))}.`,
    { hint: 'Give one of them a name by a Tool with "implementation: { mcp: { server, tool } }".' },
  );
