import { z } from 'zod';
import { agent } from './agent.ts';
import { choice, choiceByKey } from './choice.ts';
import { closed } from './closed.ts';
import { commandLine } from './hooks.ts';
import { isMap } from './plain-values.ts';
import { userSchema } from './user-schema.ts';
import {
  byteSize,
  count,
  flag,
  jsonObject,
  jsonValue,
  name,
  nonEmptyText,
  positiveDuration,
  targetName,
  text,
  version,
} from './values.ts';
import { workflow } from './workflow.ts';

export const MANIFEST_KINDS = ['Agent', 'Tool', 'Relic', 'Artifact', 'Workflow'] as const;
export type ManifestKind = (typeof MANIFEST_KINDS)[number];

/** The only definition of each kind. Validation, types, JSON Schemas and the reference come from it. */
export const KINDS = {
  Agent: () => agent,
  Tool: () => tool,
  Relic: () => relic,
  Artifact: () => artifact,
  Workflow: workflow,
};

export type AgentManifest = z.output<typeof agent>;
export type ToolManifest = z.output<typeof tool>;
export type RelicManifest = z.output<typeof relic>;
export type ArtifactManifest = z.output<typeof artifact>;
export type WorkflowManifest = z.output<ReturnType<typeof workflow>>;

/** A checked manifest. `kind` discriminates the union. */
export type Manifest = AgentManifest | ToolManifest | RelicManifest | ArtifactManifest | WorkflowManifest;

const method = closed(
  { title: 'a method', description: 'A method that decisions may ask.' },
  { description: text('What it decides.').optional() },
);

const artifact = closed(
  {
    title: 'an Artifact',
    id: 'Artifact',
    description: 'Sandboxed code that takes decisions; versioned in the store, this file being version 1.',
    exactlyOne: [['source', 'module']],
    slips: {
      code: 'Use "source".',
      script: 'Use "source".',
      file: 'Use "module".',
      path: 'Use "module".',
      author: 'The store keeps author, parent version and time by itself.',
      fallback: 'Set the fallback in the step or condition that asks the artifact.',
      cost: 'Set the cost of a call in the agent\'s "budget: { costs: { artifact } }".',
    },
  },
  {
    $schema: nonEmptyText('The JSON Schema of this file, for editors.').optional(),
    kind: z.literal('Artifact'),
    name: name('The name that invocations use.'),
    version: version().optional(),
    description: text('What it decides.').optional(),
    language: z.enum(['js']).default('js').describe('The language of the source.'),
    source: nonEmptyText(
      'Sandboxed JavaScript that exports the methods, or the text of a prompt.',
    ).optional(),
    module: nonEmptyText('A file with that source, relative to this manifest.').optional(),
    methods: z
      .record(name('A method.'), method)
      .meta({
        description:
          'The methods, by name. Without it the source is text: a prompt for "prompt_artifact_id".',
        minProperties: 1,
      })
      .optional(),
  },
);

const module = closed(
  {
    title: 'a module implementation',
    slips: { function: 'Use "export" for the exported function.', path: 'Use "module" for the file.' },
  },
  {
    module: nonEmptyText('A JavaScript or TypeScript module, relative to this manifest.'),
    export: nonEmptyText(
      'The exported function, called run(parameters, {agent, signal, idempotencyKey, progress}).',
    ).default('run'),
  },
);

const command = closed(
  {
    title: 'a command implementation',
    slips: {
      args: 'Put the arguments after the program in "command".',
      shell: 'Write the program and its arguments as a list, because no shell is used.',
    },
  },
  {
    command: commandLine(
      'The program and its arguments; {name} stands for a parameter, {*} for all of them as JSON. Never passed through a shell.',
    ),
    cwd: nonEmptyText('The folder it runs in.').optional(),
    env: z.record(z.string(), z.string()).prefault({}).describe('Environment variables for it.'),
    stdin: text(
      'What it reads from standard input; {name} stands for a parameter, {*} for all of them as JSON.',
    ).optional(),
  },
);

const http = closed(
  { title: 'an http implementation' },
  {
    http: closed(
      {
        title: '"http"',
        description: 'A request.',
        slips: {
          params: 'Put query parameters into "url": ?q={query}.',
          query: 'Put query parameters into "url": ?q={query}.',
          json: 'Use "body".',
        },
      },
      {
        method: z
          .enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])
          .default('GET')
          .describe('The HTTP method.'),
        url: nonEmptyText('The address; {name} stands for a parameter.'),
        headers: z.record(z.string(), z.string()).prefault({}).describe('Headers.'),
        body: jsonValue('The body: text, or a value sent as JSON.').optional(),
      },
    ),
  },
);

const mcp = closed(
  { title: 'an mcp implementation' },
  {
    mcp: closed(
      {
        title: '"mcp"',
        description: 'A tool of an MCP server.',
        slips: { name: 'Use "tool" for the tool and "server" for the server.' },
      },
      { server: name('The imported server.'), tool: targetName('The tool, as the server calls it.') },
    ),
  },
);

const script = closed(
  { title: 'a script implementation', slips: { language: 'Scripts are JavaScript.' } },
  { script: nonEmptyText('Sandboxed JavaScript; its last value is the result.') },
);

const implementation = choiceByKey('An implementation', {
  module,
  command,
  http,
  mcp,
  script,
}).describe('What runs: a module, a command, an HTTP request, an MCP tool or a script.');

const IMPLEMENTATION_SLIP = 'Put it under "implementation".';

const tool = closed(
  {
    title: 'a Tool',
    id: 'Tool',
    description: 'A stateless function that an agent may call.',
    slips: {
      module: IMPLEMENTATION_SLIP,
      command: IMPLEMENTATION_SLIP,
      http: IMPLEMENTATION_SLIP,
      mcp: IMPLEMENTATION_SLIP,
      script: IMPLEMENTATION_SLIP,
      input_schema: 'Use "parameters" for the JSON Schema of the input.',
      inputSchema: 'Use "parameters" for the JSON Schema of the input.',
      input: 'Use "parameters" for the JSON Schema of the input.',
      output_schema: 'Use "output: { schema }".',
      max_bytes: 'Use "output: { max_bytes }".',
      timeout_seconds: 'Use "timeout": a bare number is seconds.',
      streaming: 'Use "stream: true".',
      concurrency: 'Use "max_parallel".',
      max_concurrency: 'Use "max_parallel".',
      max_concurrent: 'Use "max_parallel".',
      parallel_actions:
        'In a Tool, use "max_parallel". "parallel_actions" belongs to the limits of an Agent.',
      permissions: 'Permissions belong to the Agent.',
    },
  },
  {
    $schema: nonEmptyText('The JSON Schema of this file, for editors.').optional(),
    kind: z.literal('Tool'),
    name: name('The name that actions call.'),
    version: version().optional(),
    description: text('What it does; the model reads it.').optional(),
    parameters: userSchema('A JSON Schema (2020-12) of the parameters, checked before each call.').prefault({
      type: 'object',
    }),
    implementation,
    idempotent: flag('true: may be run again after a crash.').default(false),
    background: flag(
      'true: no turn waits for it; its result comes as an update. Counts where a call is async.',
    ).optional(),
    start: z
      .enum(['on_close', 'on_turn_end'])
      .default('on_close')
      .describe('on_turn_end: a side effect that waits until the response has ended well.'),
    approval: z
      .enum(['always', 'strict', 'never'])
      .default('never')
      .describe(
        'always: a person approves each call. strict: and it is refused where it may run unknown files.',
      ),
    timeout: positiveDuration(
      "Time for each try, unless the action sets its own; the agent's action_timeout if absent.",
    ).optional(),
    max_parallel: count(
      'How many calls of it run at once, over all sessions and runs: of the process, or of all workers that share a PostgreSQL store. No limit if absent.',
    ).optional(),
    output: closed(
      {
        title: '"output"',
        description: 'What the result may be.',
        slips: { type: 'Put a JSON Schema into "schema".' },
      },
      {
        max_bytes: byteSize('The greatest size of the result.').optional(),
        schema: userSchema('A JSON Schema (2020-12) that the result must satisfy.').optional(),
      },
    ).optional(),
    stream: flag('true: partial results reach the console as action.progress.').default(false),
  },
);

const RELIC_DRIVERS = ['kv', 'log', 'sql', 'redis', 'http', 'queue'] as const;

/** Drivers that use the runtime's own store if they have no connection. */
export const EMBEDDED_DRIVERS: readonly string[] = ['kv', 'log', 'queue'];

const address = nonEmptyText('A SQLite file, postgres://, redis:// or http(s):// address.');
const options = jsonObject('The driver\'s own options. "url" is its address.');

const relic = closed(
  {
    title: 'a Relic',
    id: 'Relic',
    description: 'A persistent service that outlives sessions.',
    keywords: {
      if: {
        required: ['driver'],
        properties: {
          driver: { enum: RELIC_DRIVERS.filter((driver) => !EMBEDDED_DRIVERS.includes(driver)) },
        },
      },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required: ['connection'] },
    },
    slips: {
      type: 'Use "driver".',
      url: 'Use "connection".',
      host: 'Put it in "connection", as an address.',
      port: 'Put it in "connection", as an address.',
      path: 'Use "connection".',
      ttl: 'Set the time to live in each kv call: { operation: set, key, value, ttl }.',
      operations: 'The driver defines the operations. "telltale inspect relic NAME" lists them.',
      methods: 'The driver defines the operations. "telltale inspect relic NAME" lists them.',
      timeout_seconds: 'Use "timeout": a bare number is seconds.',
    },
  },
  {
    $schema: nonEmptyText('The JSON Schema of this file, for editors.').optional(),
    kind: z.literal('Relic'),
    name: name('The name that actions call.'),
    version: version().optional(),
    description: text('What it keeps; the model reads it.').optional(),
    driver: z
      .enum(RELIC_DRIVERS)
      .describe('kv, log and queue live in the runtime\'s own store unless "connection" says otherwise.'),
    connection: choice([address, options], (value) => (isMap(value) ? options : address))
      .optional()
      .describe('Where it is. sql, redis and http need one.'),
    idempotent: flag('true: calls may be made again after a crash.').default(false),
    approval: z.enum(['always', 'never']).default('never').describe('always: a person approves each call.'),
    timeout: positiveDuration(
      "Time for each try, unless the action sets its own; the agent's action_timeout if absent.",
    ).optional(),
  },
);
