import { readFileSync } from 'node:fs';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type {
  GetPromptResult,
  LoggingLevel,
  Prompt,
  ServerNotification,
} from '@modelcontextprotocol/sdk/types.js';
import type { LoadedAgent } from '../../agent/loaded-agent.ts';
import type { LoadedWorkflow } from '../../agent/runs/run-types.ts';
import type { Runtime } from '../../agent/runtime-types.ts';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import { compileCheck } from '../../tools/check-parameters.ts';
import { isTooDeep, MAX_DEPTH } from '../read-answer.ts';
import type { Progress, ServedTool } from './agent-tools.ts';
import { agentTools, failedResult, toCallResult } from './agent-tools.ts';
import { createKeyRing, holdsToken, misplacedToken } from './continue-token.ts';
import { createSessionResources, SESSION_TEMPLATES, type SessionResources } from './session-resources.ts';
import { createServeCatalog, createWorkflowCalls, type ServeCatalog, workflowIn } from './workflow-calls.ts';
import { CONTINUE, workflowTools } from './workflow-tools.ts';

export interface McpServerOptions {
  readonly runtime: Runtime;
  readonly agents: readonly LoadedAgent<unknown>[];
  readonly clock: Clock;
  readonly tokenTtlMs?: number;
  /** How long a call waits for steps that the runtime executes itself. */
  readonly waitMs?: number;
  /** A prefix for an agent's name in the name of its tool. */
  readonly agentPrefix?: string;
  readonly acceptChanges?: boolean;
  /** Receives errors that no client can be sent. */
  readonly onError?: (error: unknown) => void;
}

const DEFAULT_TTL_MS = 86_400_000;
/** Most clients give up on a call after a minute. */
const DEFAULT_WAIT_MS = 20_000;
const DEFAULT_AGENT_PREFIX = 'agent_';
/** The client's name is on the log of a run with everything it sends. */
const MAX_CLIENT_NAME = 200;

const INSTRUCTIONS =
  'Workflows lead you through a procedure, one step at a time: list_workflows, start_workflow, then do what the step says and call continue_workflow with its continueToken and notes on what you did. After an interruption, resume_session gives the step in hand again.';

/** Serves workflows, agents and sessions. Each connection is independent. */
export interface McpServerMcpServer {
  readonly tools: readonly ServedTool[];
  /**
   * Serves one client until one side closes. `identity` is the owner of its token. The client's own name proves
   * nothing.
   */
  connect(transport: Transport, identity?: string): Promise<Server>;
}

/** Creates a server. The SDK is loaded here, because it takes longer to load than everything else. */
export async function createMcpServer(options: McpServerOptions): Promise<McpServerMcpServer> {
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
      /** The lowest level the client wants. Undefined until it has set one. */
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

/** With an empty prefix, an agent could have the name of one of our tools. */
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

/** Rejects arguments that are nested too deep, before anything else reads them. */
const checkDepth = (args: Json, what: string): RuntimeError | undefined =>
  isTooDeep(args) ? tooDeep(what) : undefined;

const tooDeep = (what: string) =>
  new RuntimeError(
    'bad_parameters',
    `The parameters of ${what} are nested deeper than ${MAX_DEPTH} levels.`,
    {
      hint: 'Send flatter values, or put them into a file and send its path.',
    },
  );

/** Levels at which a client gets `info` messages. `warning` messages are sent at two more. */
const INFO: ReadonlySet<LoggingLevel> = new Set(['debug', 'info']);
const WARNING: ReadonlySet<LoggingLevel> = new Set(['debug', 'info', 'notice', 'warning']);

/**
 * Reports progress of a call to its client, as progress notifications and as log messages. Undefined if it wants
 * neither.
 */
function createProgress(
  send: (notification: ServerNotification) => Promise<void>,
  token: string | number | undefined,
  from: LoggingLevel | undefined,
  onError: (error: unknown) => void,
): Progress | undefined {
  if (token === undefined && from === undefined) return undefined;
  let progress = 0;
  return (message, level = 'info') => {
    const isHeard = from !== undefined && (level === 'info' ? INFO : WARNING).has(from);
    if (isHeard)
      send({ method: 'notifications/message', params: { level, logger: 'telltale', data: message } }).catch(
        onError,
      );
    if (token === undefined) return;
    progress++;
    send({
      method: 'notifications/progress',
      params: { progressToken: token, progress, message },
    }).catch(onError);
  };
}

type Types = typeof import('@modelcontextprotocol/sdk/types.js');

/** Handles requests for prompts, and completes their arguments. */
function handlePrompts(
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

/** The most values offered at a time, as the protocol limits them. */
const MAX_VALUES = 100;

/**
 * Lists each workflow as a prompt that a person can choose in their client. It makes the model start the workflow and
 * work through it.
 */
const listPrompts = ({ workflows }: ServeCatalog): Prompt[] =>
  [...workflows].map(([name, { manifest }]) => ({
    name,
    description: manifest.description ?? `Works through the workflow "${name}".`,
    arguments: Object.entries(propertiesOf(manifest)).map(([key, schema]) => ({
      name: key,
      ...(typeof schema.description === 'string' ? { description: schema.description } : {}),
      required: requiredOf(manifest).includes(key),
    })),
  }));

/** Throws `no_workflow`. */
function getPrompt(
  catalog: ServeCatalog,
  name: string,
  given: Readonly<Record<string, string>>,
): GetPromptResult {
  const { manifest } = workflowIn(catalog, name);
  const properties = propertiesOf(manifest);
  const input = Object.fromEntries(
    Object.entries(given).map(([key, text]) => [key, readArgument(text, properties[key])] as const),
  );
  const start = JSON.stringify({ workflow: name, ...(Object.keys(input).length === 0 ? {} : { input }) });
  const text = `Work through the workflow "${name}". Call start_workflow with ${start}. Then do what each step says, one after another, and complete each with continue_workflow until isComplete is true.`;
  return {
    ...(manifest.description === undefined ? {} : { description: manifest.description }),
    messages: [{ role: 'user', content: { type: 'text', text } }],
  };
}

/** The possible values of an argument, as far as the workflow's schema lists them. */
function completeArgument(
  catalog: ServeCatalog,
  name: string,
  argument: { readonly name: string; readonly value: string },
): readonly string[] {
  const { enum: named } = propertiesOf(workflowIn(catalog, name).manifest)[argument.name] ?? {};
  const values = Array.isArray(named) ? named.map(String) : [];
  return values.filter((value) => value.startsWith(argument.value)).slice(0, MAX_VALUES);
}

type McpServerManifest = LoadedWorkflow<unknown>['manifest'];

function propertiesOf({ input }: McpServerManifest): Readonly<Record<string, JsonObject>> {
  const properties = (input as JsonObject | undefined)?.properties;
  return typeof properties === 'object' && properties !== null
    ? (properties as unknown as Record<string, JsonObject>)
    : {};
}

function requiredOf({ input }: McpServerManifest): readonly string[] {
  const required = (input as JsonObject | undefined)?.required;
  return Array.isArray(required) ? required.map(String) : [];
}

/** Prompt arguments are text. If the schema needs another type, they are parsed as JSON. */
function readArgument(text: string, schema: JsonObject | undefined): Json {
  if (schema === undefined || schema.type === undefined || schema.type === 'string') return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text; // start_workflow reports what is wrong with it
  }
}

type HandleResourcesTypes = typeof import('@modelcontextprotocol/sdk/types.js');

/** The most resources one client may subscribe to. */
const MAX_SUBSCRIPTIONS = 1_000;
/** The protocol's error code for a missing resource. */
const RESOURCE_NOT_FOUND = -32_002;

/** Handles requests for resources, and notifies clients of changes. */
function handleResources(
  server: Server,
  { McpError, ErrorCode, ...types }: HandleResourcesTypes,
  resources: SessionResources,
  onError: (error: unknown) => void,
): void {
  /**
   * Functions that end subscriptions. Each is added before its resource is looked up, so that concurrent requests
   * subscribe once.
   */
  const followed = new Map<string, () => void>();
  const refused = (thrown: unknown) => {
    if (!(thrown instanceof RuntimeError)) return thrown;
    const code = thrown.code === 'resource_unknown' ? RESOURCE_NOT_FOUND : ErrorCode.InvalidParams;
    return new McpError(code, `${thrown.message} ${thrown.hint ?? ''}`.trim());
  };
  const answering = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (thrown) {
      throw refused(thrown);
    }
  };
  server.setRequestHandler(types.ListResourcesRequestSchema, ({ params }) =>
    answering(() => resources.list(params?.cursor)),
  );
  server.setRequestHandler(types.ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [...SESSION_TEMPLATES],
  }));
  server.setRequestHandler(types.ReadResourceRequestSchema, ({ params: { uri } }) =>
    answering(() => resources.read(uri)),
  );
  server.setRequestHandler(types.SubscribeRequestSchema, ({ params: { uri } }) =>
    answering(async () => {
      if (followed.has(uri)) return {};
      if (followed.size >= MAX_SUBSCRIPTIONS) throw tooManySubscriptions();
      let isDue = false;
      let isOver = false;
      let unwatch: () => void = () => undefined;
      followed.set(uri, () => {
        isOver = true;
        unwatch();
      });
      const tell = () => {
        isDue = false;
        if (isOver) return;
        server.sendResourceUpdated({ uri }).catch(onError);
      };
      try {
        unwatch = await resources.watch(uri, () => {
          // Several changes at the same time cause one notification.
          if (!isDue) setImmediate(tell);
          isDue = true;
        });
      } catch (thrown) {
        if (!isOver) followed.delete(uri);
        throw thrown;
      }
      if (isOver) unwatch();
      return {};
    }),
  );
  server.setRequestHandler(types.UnsubscribeRequestSchema, ({ params: { uri } }) => {
    followed.get(uri)?.();
    followed.delete(uri);
    return {};
  });
  server.onclose = () => {
    for (const unwatch of followed.values()) unwatch();
    followed.clear();
  };
}

const tooManySubscriptions = () =>
  new RuntimeError('too_many_subscriptions', `${MAX_SUBSCRIPTIONS} resources are already subscribed.`, {
    hint: 'Unsubscribe from some.',
  });
