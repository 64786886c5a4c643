import { z } from 'zod';
import { choiceByKey } from './choice.ts';
import { closed } from './closed.ts';
import { commandLine } from './hooks.ts';
import { jsonValue } from './json-value.ts';
import { name, nonEmptyText, targetName, text, version } from './names.ts';
import { count, flag } from './numbers.ts';
import { byteSize, positiveDuration } from './quantities.ts';
import { userSchema } from './user-schema.ts';

const module = closed(
  {
    title: 'a module implementation',
    slips: { function: 'The exported function is "export".', path: 'The file is "module".' },
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
      args: 'Arguments follow the program in "command".',
      shell: 'No shell is involved: write the program and its arguments as a list.',
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
          json: 'It is "body".',
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
        slips: { name: 'The tool is "tool", the server "server".' },
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

const IMPLEMENTATION_SLIP = 'It stands under "implementation".';

export const tool = closed(
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
      input_schema: 'The JSON Schema of the input is "parameters".',
      inputSchema: 'The JSON Schema of the input is "parameters".',
      input: 'The JSON Schema of the input is "parameters".',
      output_schema: 'It is "output: { schema }".',
      max_bytes: 'It is "output: { max_bytes }".',
      timeout_seconds: 'It is "timeout": a bare number is seconds.',
      streaming: 'It is "stream: true".',
      concurrency: 'It is "max_parallel".',
      max_concurrency: 'It is "max_parallel".',
      max_concurrent: 'It is "max_parallel".',
      parallel_actions:
        'In a Tool it is "max_parallel"; "parallel_actions" belongs to the limits of an Agent.',
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
        slips: { type: 'A JSON Schema goes into "schema".' },
      },
      {
        max_bytes: byteSize('The greatest size of the result.').optional(),
        schema: userSchema('A JSON Schema (2020-12) that the result must satisfy.').optional(),
      },
    ).optional(),
    stream: flag('true: partial results reach the console as action.progress.').default(false),
  },
);
