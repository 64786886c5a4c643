import { z } from 'zod';
import type { JsonObject } from '../../lib/json.ts';
import { MANIFEST_LIMITS } from '../diagnostic.ts';
import { choice } from './choice.ts';
import { closed } from './closed.ts';
import { isMap } from './plain-values.ts';
import { userSchema } from './user-schema.ts';
import { flag, name, nonEmptyText, positiveDuration, text } from './values.ts';

const DESCRIPTION =
  'A JSON Schema (2020-12) of what other agents and workflows call this agent with; without one, any parameters are added to its task.';

const bare = userSchema(DESCRIPTION);
const named = closed(
  { title: '"input"', description: 'The same schema, written as in "output".' },
  { schema: userSchema('A JSON Schema (2020-12).') },
);

/** Whether the value is `{ schema: … }`, as in "output", and not the schema alone, as in a Workflow. */
export const isNamedSchema = (value: unknown): value is { readonly schema: JsonObject } =>
  isMap(value) && isMap(value.schema) && Object.keys(value).length === 1;

export const agentInput = choice([bare, named], (value) => (isNamedSchema(value) ? named : bare))
  .describe(DESCRIPTION)
  .optional();

export const BUILTIN_TOOLS = [
  'filesystem',
  'shell',
  'git',
  'http_fetch',
  'calculator',
  'system_monitor',
  'clock',
] as const;

const file = nonEmptyText('A path or glob, relative to this manifest.');

const builtin = z
  .enum(BUILTIN_TOOLS.map((tool) => `builtin:${tool}` as const))
  .describe('A tool that is built in.');

const mcpServer = closed(
  {
    title: 'an MCP server',
    description: 'An MCP server whose tools, resources and prompts are imported.',
    exactlyOne: [['command', 'url']],
    demands: { args: ['command'], env: ['command'], cwd: ['command'], headers: ['url'] },
    slips: {
      type: 'Leave it out. A server with "command" uses stdio, one with "url" uses HTTP.',
      transport: 'Leave it out. A server with "command" uses stdio, one with "url" uses HTTP.',
      environment: 'Use "env".',
      token: 'Send a token as a header: headers: { Authorization: "Bearer ${TOKEN}" }.',
      auth: 'Send a token as a header: headers: { Authorization: "Bearer ${TOKEN}" }.',
    },
  },
  {
    name: name('The name of the server.'),
    command: nonEmptyText('The program that speaks MCP over stdio.').optional(),
    args: z.array(text('An argument.')).prefault([]).describe('Its arguments; no shell is involved.'),
    env: z.record(z.string(), z.string()).prefault({}).describe('Environment variables for it.'),
    cwd: nonEmptyText('The folder it runs in.').optional(),
    url: z
      .string()
      .regex(/^https?:\/\/\S+$/)
      .meta({
        description:
          'The address of a server over streamable HTTP; "permissions: { network }" must allow it.',
        expects: 'an http:// or https:// address',
      })
      .optional(),
    headers: z
      .record(z.string(), z.string())
      .prefault({})
      .describe('HTTP headers of every request to it; never shown.'),
    resources: flag(
      'Whether its resources, if it has any, can be listed and read by SERVER_list_resources and SERVER_read_resource.',
    ).default(true),
    prompts: flag('Whether its prompts, if it has any, can be had by SERVER_get_prompt.').default(true),
    timeout: positiveDuration('Time for each try of a call, unless the action sets its own.').optional(),
  },
);

const mcpImport = closed(
  {
    title: 'an import of tools',
    slips: {
      command: 'Write an MCP server as { mcp: { name, command, args } }.',
      name: 'Write an MCP server as { mcp: { name, command, args } }.',
      url: 'Write an MCP server as { mcp: { name, url } }.',
    },
  },
  { mcp: mcpServer },
);

/** Editors should also reject a misspelled `builtin:NAME`. */
const toolFile = z.string().min(1).register(z.globalRegistry, {
  description: 'A path or glob, relative to this manifest.',
  expects: 'text that is not empty',
  pattern: '^(?!builtin:)',
});

const toolImport = choice([toolFile, builtin, mcpImport], (value) =>
  isMap(value) ? mcpImport : typeof value === 'string' && value.startsWith('builtin:') ? builtin : toolFile,
).describe('Tool files, builtin:NAME, or an MCP server.');

const list = <Entry extends z.core.$ZodType>(entry: Entry, description: string) =>
  z.array(entry).max(MANIFEST_LIMITS.importEntries).prefault([]).describe(description);

/** An agent's imports, by kind. Paths are relative to the manifest. Globs are sorted. */
export const imports = closed(
  {
    title: '"import"',
    description: 'Other manifests this agent uses, by kind.',
    slips: {
      tool: 'Use "tools".',
      mcp: 'Put an MCP server under "tools": tools: [{ mcp: { name, command, args } }].',
      mcp_servers: 'Put an MCP server under "tools": tools: [{ mcp: { name, command, args } }].',
      feeds: 'Feeds are not imported. Put them under "context_feeds".',
    },
  },
  {
    tools: list(toolImport, 'Tools.'),
    relics: list(file, 'Relics.'),
    agents: list(file, 'Agents that may be called.'),
    workflows: list(file, 'Workflows: those with triggers watch this agent.'),
    artifacts: list(file, 'Decision artifacts.'),
  },
);
