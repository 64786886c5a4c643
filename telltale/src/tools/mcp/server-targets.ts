import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import type { LoadedManifest, Project } from '../../manifest/project/project.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { compileCheck } from '../check-parameters.ts';
import { DEFAULT_OUTPUT_BYTES, plainJson } from '../output/output.ts';
import type { Target } from '../target.ts';
import type { McpPrompt, McpServer } from './mcp-server.ts';
import { contentResult, mcpTargetName, pick } from './mcp-server.ts';
import { mcpTargets } from './mcp-targets.ts';

/** Targets that are others once a server lists something else. */
export interface ListedTargets {
  /** Those of this moment: the same ones as long as the server lists the same. Throws where they cannot be had. */
  targets(): readonly Target[];
}

/** All that one server of an agent has. */
export function serverTargets(server: McpServer, agent: LoadedManifest, project: Project): ListedTargets {
  const { resources, prompts, timeout } = entryOf(agent, server.name);
  const taken = toolsOfServer(agent, project, server.name);
  return whileListed(server, () => {
    const tools = [...mcpTargets(server, taken)];
    const names = new Set(tools.map(({ name }) => name));
    const beside = [
      ...(resources && server.resources !== undefined ? resourceTargets(server) : []),
      ...(prompts && server.prompts !== undefined && server.prompts.all.length > 0
        ? [promptTarget(server)]
        : []),
      // A server that has a tool of this name means that one.
    ].filter(({ name }) => !names.has(name));
    const all = [...tools, ...beside];
    return timeout === undefined ? all : all.map((target) => ({ ...target, timeoutMs: timeout.ms }));
  });
}

/** Makes targets anew when their server lists something else than before. */
export function whileListed(server: McpServer, make: () => readonly Target[]): ListedTargets {
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

/** A server's tools, by its own names, that the Tool manifests of an agent stand for. */
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

/** A server's prompts, as one thing an action can call: one tool each would fill the model's list with what is rarely used. */
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
      if (prompts === undefined) throw offersGone(server.name, 'prompts');
      const asked = String(input.name);
      const known = prompts.all.map((prompt) => prompt.name);
      if (!known.includes(asked)) throw promptUnknown(server.name, asked, known);
      const values = (input.arguments ?? {}) as Readonly<Record<string, string>>;
      const { messages } = await prompts.get({ what, signal, prompt: asked, input: values });
      return messagesResult(messages, what);
    },
  };
}

/** `review: Reviews code. Arguments: code (required), style.` */
function promptLine({ name, description, arguments: given }: McpPrompt): string {
  const told = clip(description.replace(/\s+/g, ' ').trim(), MAX_WORDS);
  const names = given.map((one) => `${clip(one.name, 100)}${one.required ? ' (required)' : ''}`);
  return `"${clip(name, 100)}"${told === '' ? '' : `: ${told}`}${names.length === 0 ? '.' : `. Arguments: ${names.join(', ')}.`}`;
}

/** One message of the user is its content; others are told apart by their role. */
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

/** A server's resources, as two things an action can call: what there is, and what stands in one. */
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
    description: `Reads a resource of the MCP server "${server.name}" by its uri; ${mcpTargetName(server.name, 'list_resources')} says which there are. The result is its text, or JSON where it is no text.`,
    parameters: READ_PARAMETERS,
    idempotent: true,
    start: 'on_close',
    check: compileCheck(READ_PARAMETERS, what),
    async run({ input, signal }): Promise<Json> {
      const contents = await resourcesOf(server).read({ what, signal, uri: String(input.uri) });
      const [only] = contents;
      // What was asked for by its address need not be told it.
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
  if (server.resources === undefined) throw offersGone(server.name, 'resources');
  return server.resources;
}

/** The server had some when the session began. */
export const offersGone = (server: string, what: 'resources' | 'prompts') =>
  new RuntimeError('tool_gone', `The MCP server "${server}" no longer has ${what}.`, {
    hint: 'Do without, or look at what else it has.',
  });
