import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import type { LoadedManifest, Project } from '../../manifest/project/project.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { compileCheck } from '../check-parameters.ts';
import { DEFAULT_OUTPUT_BYTES, plainJson } from '../output/output.ts';
import type { Target } from '../target.ts';
import {
  contentResult,
  createSchemaFilter,
  type McpPrompt,
  type McpServer,
  type McpTool,
  mcpResult,
  mcpTargetName,
  pick,
} from './mcp-server.ts';

/** Targets that change when their server changes its list. */
export interface ListedTargets {
  /** The present targets. The same array as long as the server's list is the same. Throws if they cannot be built. */
  targets(): readonly Target[];
}

/** Everything that one server of an agent offers. */
export function serverTargets(server: McpServer, agent: LoadedManifest, project: Project): ListedTargets {
  const { resources, prompts, timeout } = entryOf(agent, server.name);
  const taken = toolsOfServer(agent, project, server.name);
  return rebuiltOnChange(server, () => {
    const tools = [...mcpTargets(server, taken)];
    const names = new Set(tools.map(({ name }) => name));
    const beside = [
      ...(resources && server.resources !== undefined ? resourceTargets(server) : []),
      ...(prompts && server.prompts !== undefined && server.prompts.all.length > 0
        ? [promptTarget(server)]
        : []),
      // If a tool of the server has the same name, the tool wins.
    ].filter(({ name }) => !names.has(name));
    const all = [...tools, ...beside];
    return timeout === undefined ? all : all.map((target) => ({ ...target, timeoutMs: timeout.ms }));
  });
}

/** Rebuilds targets when their server's list has changed. */
export function rebuiltOnChange(server: McpServer, make: () => readonly Target[]): ListedTargets {
  let made: readonly Target[] | undefined;
  let of: readonly unknown[] = [];
  return {
    targets() {
      const now = [server.tools, server.prompts?.all, server.resources === undefined];
      if (made === undefined || now.some((list, index) => list !== of[index])) made = make();
      of = now;
      return made;
    },
  };
}

function entryOf({ manifest }: LoadedManifest, server: string) {
  const tools = manifest.kind === 'Agent' ? manifest.import.tools : [];
  for (const tool of tools) if (typeof tool === 'object' && tool.mcp.name === server) return tool.mcp;
  return { resources: true, prompts: true, timeout: undefined };
}

/** The server's tools, by the server's names, that have a Tool manifest of the agent. */
function toolsOfServer(agent: LoadedManifest, project: Project, server: string): ReadonlySet<string> {
  const imported = new Set(agent.imports.flatMap((entry) => (entry.type === 'files' ? entry.manifests : [])));
  return new Set(
    project.manifests.flatMap(({ id, file, manifest }) => {
      if (manifest.kind !== 'Tool' || !(imported.has(id) || file === agent.file)) return [];
      const { implementation } = manifest;
      return 'mcp' in implementation && implementation.mcp.server === server ? [implementation.mcp.tool] : [];
    }),
  );
}

const MAX_DESCRIPTION = 8_000;
const MAX_WORDS = 300;

const PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1, description: 'Which prompt.' },
    arguments: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Its arguments, all of them text.',
    },
  },
  required: ['name'],
  additionalProperties: false,
};

/** All prompts of a server as one target. One tool per prompt would fill the model's list with rarely used tools. */
function promptTarget(server: McpServer): Target {
  const name = mcpTargetName(server.name, 'get_prompt');
  const what = `tool "${name}"`;
  const lines = (server.prompts?.all ?? []).map(promptLine);
  return {
    kind: 'tool',
    name,
    description: clip(
      `Gives a prompt of the MCP server "${server.name}": instructions that its authors wrote for a task. ${lines.join(' ')}`,
      MAX_DESCRIPTION,
    ),
    parameters: PARAMETERS,
    idempotent: true,
    start: 'on_close',
    check: compileCheck(PARAMETERS, what),
    async run({ input, signal }): Promise<Json> {
      const { prompts } = server;
      if (prompts === undefined) throw noLongerOffered(server.name, 'prompts');
      const asked = String(input.name);
      const known = prompts.all.map((prompt) => prompt.name);
      if (!known.includes(asked)) throw promptUnknown(server.name, asked, known);
      const values = (input.arguments ?? {}) as Readonly<Record<string, string>>;
      const { messages } = await prompts.get({ what, signal, prompt: asked, input: values });
      return messagesResult(messages, what);
    },
  };
}

/** Formats one prompt: `review: Reviews code. Arguments: code (required), style.` */
function promptLine({ name, description, arguments: given }: McpPrompt): string {
  const told = clip(description.replace(/\s+/g, ' ').trim(), MAX_WORDS);
  const names = given.map((one) => `${clip(one.name, 100)}${one.required ? ' (required)' : ''}`);
  return `"${clip(name, 100)}"${told === '' ? '' : `: ${told}`}${names.length === 0 ? '.' : `. Arguments: ${names.join(', ')}.`}`;
}

/** A single user message becomes its content. Otherwise each message keeps its role. */
function messagesResult(messages: readonly JsonObject[], what: string): Json {
  let left = DEFAULT_OUTPUT_BYTES;
  const read = messages.map(({ role, content }) => {
    const blocks = (Array.isArray(content) ? content : [content ?? {}]) as readonly JsonObject[];
    const result = contentResult(blocks, what, left);
    left -= JSON.stringify(result).length;
    return { role: String(role), content: result };
  });
  const [only] = read;
  return read.length === 1 && only?.role === 'user' ? only.content : read;
}

const promptUnknown = (server: string, asked: string, known: readonly string[]) =>
  new RuntimeError('target_unknown', `The MCP server "${server}" has no prompt "${clip(asked, 200)}".`, {
    hint: suggest(asked, known, 'It has'),
  });

const LIST_PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    matching: {
      type: 'string',
      description: 'Only those with this text in their address, name or description, in any case.',
    },
  },
  additionalProperties: false,
};

const READ_PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    uri: { type: 'string', minLength: 1, description: 'As it was listed, or made from a template that was.' },
  },
  required: ['uri'],
  additionalProperties: false,
};

/** A server's resources as two targets: one lists them, one reads them. */
const resourceTargets = (server: McpServer): readonly Target[] => [listTarget(server), readTarget(server)];

function listTarget(server: McpServer): Target {
  const name = mcpTargetName(server.name, 'list_resources');
  const what = `tool "${name}"`;
  return {
    kind: 'tool',
    name,
    description: `Lists the resources of the MCP server "${server.name}": documents, records and other data, each with the uri by which ${mcpTargetName(server.name, 'read_resource')} reads it; and templates of such addresses, with what to fill in between braces.`,
    parameters: LIST_PARAMETERS,
    idempotent: true,
    start: 'on_close',
    check: compileCheck(LIST_PARAMETERS, what),
    async run({ input, signal }) {
      const found = await resourcesOf(server).list({ what, signal });
      const wanted = typeof input.matching === 'string' ? input.matching.toLowerCase() : '';
      const resources = found.resources.filter((one) => matches(one, wanted));
      const templates = found.templates.filter((one) => matches(one, wanted));
      const result = {
        resources: resources.map((one) =>
          pick(one, ['uri', 'name', 'title', 'description', 'mimeType', 'size']),
        ),
        ...(templates.length === 0
          ? {}
          : {
              templates: templates.map((one) =>
                pick(one, ['uriTemplate', 'name', 'title', 'description', 'mimeType']),
              ),
            }),
        ...(found.isCut ? { cut: 'There are more, which were not listed.' } : {}),
      };
      return plainJson(result, what, DEFAULT_OUTPUT_BYTES);
    },
  };
}

function readTarget(server: McpServer): Target {
  const name = mcpTargetName(server.name, 'read_resource');
  const what = `tool "${name}"`;
  return {
    kind: 'tool',
    name,
    description: `Reads a resource of the MCP server "${server.name}" by its uri. ${mcpTargetName(server.name, 'list_resources')} lists them. The result is its text, or JSON if it is not text.`,
    parameters: READ_PARAMETERS,
    idempotent: true,
    start: 'on_close',
    check: compileCheck(READ_PARAMETERS, what),
    async run({ input, signal }): Promise<Json> {
      const contents = await resourcesOf(server).read({ what, signal, uri: String(input.uri) });
      const [only] = contents;
      // The caller knows the URI already, so only the text is returned.
      if (contents.length === 1 && typeof only?.text === 'string')
        return contentResult([{ type: 'text', text: only.text }], what, DEFAULT_OUTPUT_BYTES);
      const blocks = contents.map((resource) => ({ type: 'resource', resource }));
      return contentResult(blocks, what, DEFAULT_OUTPUT_BYTES);
    },
  };
}

function matches(one: JsonObject, wanted: string): boolean {
  if (wanted === '') return true;
  return ['uri', 'uriTemplate', 'name', 'title', 'description'].some((key) =>
    String(one[key] ?? '')
      .toLowerCase()
      .includes(wanted),
  );
}

function resourcesOf(server: McpServer) {
  if (server.resources === undefined) throw noLongerOffered(server.name, 'resources');
  return server.resources;
}

/** The server had some when the session started. */
export const noLongerOffered = (server: string, what: 'resources' | 'prompts') =>
  new RuntimeError('tool_gone', `The MCP server "${server}" no longer has ${what}.`, {
    hint: 'Continue without them, or use what the server still offers.',
  });

const MAX_TOOL_DESCRIPTION = 8_000;

/**
 * The tools of a server as targets. `taken` are the tools behind a Tool manifest of the agent: the server's own name
 * for them must not bypass what the manifest demands, such as approval.
 */
export function* mcpTargets(server: McpServer, taken: ReadonlySet<string>): Generator<Target> {
  const named = new Map<string, string>();
  const intake = createSchemaFilter();
  for (const tool of server.tools) {
    if (taken.has(tool.name)) continue;
    const name = mcpTargetName(server.name, tool.name);
    const other = named.get(name);
    if (other !== undefined) throw sameToolName(server.name, name, other, tool.name);
    named.set(name, tool.name);
    yield mcpTarget(server, tool, name, intake(tool.inputSchema));
  }
}

function mcpTarget(server: McpServer, tool: McpTool, name: string, parameters: JsonObject): Target {
  const what = `tool "${name}"`;
  return {
    kind: 'tool',
    name,
    description: clip(tool.description, MAX_TOOL_DESCRIPTION),
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

const sameToolName = (server: string, name: string, one: string, other: string) =>
  new RuntimeError(
    'name_taken',
    `Two tools of the MCP server "${server}" would both be called "${name}": ${JSON.stringify(clip(one, 200))} and ${JSON.stringify(clip(other, 200))}.`,
    { hint: 'Rename one of them with a Tool manifest: "implementation: { mcp: { server, tool } }".' },
  );
