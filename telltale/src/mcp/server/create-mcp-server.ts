import { readFileSync } from 'node:fs';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { LoggingLevel } from '@modelcontextprotocol/sdk/types.js';
import type { Clock } from '../../kernel/clock.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { LoadedAgent } from '../../session/loaded-agent.ts';
import type { Runtime } from '../../session/runtime-types.ts';
import { compileCheck } from '../../targets/check-parameters.ts';
import { agentTools } from './agent-tools.ts';
import { checkDepth } from './check-depth.ts';
import { holdsToken } from './continue-token.ts';
import { createProgress } from './create-progress.ts';
import { handlePrompts } from './handle-prompts.ts';
import { handleResources } from './handle-resources.ts';
import { createServeCatalog } from './serve-catalog.ts';
import type { ServedTool } from './served-tool.ts';
import { createSessionResources } from './session-resources.ts';
import { misplacedToken } from './token-errors.ts';
import { createKeyRing } from './token-keys.ts';
import { failedResult, toCallResult } from './tool-answer.ts';
import { createWorkflowCalls } from './workflow-calls.ts';
import { CONTINUE, workflowTools } from './workflow-tools.ts';

export interface McpServerOptions {
  readonly runtime: Runtime;
  readonly agents: readonly LoadedAgent<unknown>[];
  readonly clock: Clock;
  readonly tokenTtlMs?: number;
  /** How long a call waits for steps that the runtime does itself. */
  readonly waitMs?: number;
  /** Stands before an agent's name in the name of its tool. */
  readonly agentPrefix?: string;
  readonly acceptChanges?: boolean;
  /** Told of what no client can be told. */
  readonly onError?: (error: unknown) => void;
}

const DEFAULT_TTL_MS = 86_400_000;
/** Clients give up on a call after a minute, most of them. */
const DEFAULT_WAIT_MS = 20_000;
const DEFAULT_AGENT_PREFIX = 'agent_';
/** What a client calls itself is on the log of a run with everything that it sends. */
const MAX_CLIENT_NAME = 200;

const INSTRUCTIONS =
  'Workflows lead you through a procedure, one step at a time: list_workflows, start_workflow, then do what the step says and call continue_workflow with its continueToken and notes on what you did. After an interruption, resume_session gives the step in hand again.';

/** A server of workflows, agents and sessions; each connection speaks for itself. */
export interface McpServer {
  readonly tools: readonly ServedTool[];
  /** Speaks to one client until one of them closes. `identity` is whose key it has; what it calls itself proves nothing. */
  connect(transport: Transport, identity?: string): Promise<Server>;
}

/** The SDK is loaded here: it takes longer to load than all the rest of us. */
export async function createMcpServer(options: McpServerOptions): Promise<McpServer> {
  const { runtime, clock, onError = () => undefined } = options;
  const [{ Server: SdkServer }, types] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/index.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ]);
  const catalog = createServeCatalog(options.agents);
  const { agents } = catalog;
  const calls = createWorkflowCalls({
    catalog,
    clock,
    keyRing: createKeyRing(runtime.store.tables, clock),
    runs: runtime.forClients({ agents, acceptChanges: options.acceptChanges ?? false }),
    tokenTtlMs: options.tokenTtlMs ?? DEFAULT_TTL_MS,
    waitMs: options.waitMs ?? DEFAULT_WAIT_MS,
  });
  const prefix = options.agentPrefix ?? DEFAULT_AGENT_PREFIX;
  const tools = unique([...workflowTools(catalog, calls), ...agentTools({ runtime, agents, prefix })]);
  const byName = new Map(tools.map((tool) => [tool.definition.name, tool]));
  const checks = new Map(
    tools.map(({ definition: { name, inputSchema } }) => [
      name,
      compileCheck(inputSchema as unknown as JsonObject, `tool "${name}"`),
    ]),
  );
  const resources = createSessionResources(runtime);

  return {
    tools,
    async connect(transport, identity = 'program') {
      const server: Server = new SdkServer(
        { name: 'telltale', title: 'Telltale', version: ownVersion() },
        {
          capabilities: {
            tools: {},
            prompts: {},
            completions: {},
            logging: {},
            resources: { subscribe: true },
          },
          instructions: INSTRUCTIONS,
        },
      );
      server.onerror = onError;
      /** From which level on the client wants to hear; nothing as long as it has not said so. */
      let level: LoggingLevel | undefined;
      server.setRequestHandler(types.SetLevelRequestSchema, ({ params }) => {
        level = params.level;
        return {};
      });
      server.setRequestHandler(types.ListToolsRequestSchema, () => ({
        tools: tools.map(({ definition }) => definition),
      }));
      server.setRequestHandler(types.CallToolRequestSchema, async ({ params }, extra) => {
        const { name, arguments: given = {}, _meta } = params;
        const tool = byName.get(name);
        if (tool === undefined)
          throw new types.McpError(
            types.ErrorCode.InvalidParams,
            `No tool is named "${name}". ${suggest(name, [...byName.keys()], 'Tools')}`,
          );
        const tooDeep = checkDepth(given as JsonObject, `tool "${name}"`);
        const args = tooDeep ?? tool.underOurNames?.(given as JsonObject) ?? (given as JsonObject);
        if (args instanceof RuntimeError) return failedResult(args);
        const wrong =
          checks.get(name)?.(args) ??
          (name !== CONTINUE && holdsToken(JSON.stringify(args)) ? misplacedToken(name) : undefined);
        if (wrong !== undefined) return failedResult(wrong);
        const progress = createProgress(extra.sendNotification, _meta?.progressToken, level, onError);
        try {
          return toCallResult(
            await tool.call(args, {
              client: (server.getClientVersion()?.name ?? 'mcp client').slice(0, MAX_CLIENT_NAME),
              identity,
              signal: extra.signal,
              progress,
            }),
          );
        } catch (thrown) {
          if (!(thrown instanceof RuntimeError) && !extra.signal.aborted) onError(thrown);
          return failedResult(thrown);
        }
      });
      handleResources(server, types, resources, onError);
      handlePrompts(server, types, catalog, resources);
      await server.connect(transport);
      return server;
    },
  };
}

/** With an empty prefix an agent could be named as a tool of ours. */
function unique(tools: readonly ServedTool[]): readonly ServedTool[] {
  const names = new Set<string>();
  for (const { definition } of tools) {
    if (names.has(definition.name)) throw toolTwice(definition.name);
    names.add(definition.name);
  }
  return tools;
}

const toolTwice = (name: string) =>
  new RuntimeError('usage', `Two tools would be named "${name}".`, {
    hint: 'Give the agents another prefix: --prefix agent_',
  });

const ownVersion = (): string => {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
};
