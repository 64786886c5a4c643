import { resolve } from 'node:path';
import { asText } from '../../expressions/values.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import type { ToolManifest } from '../../manifest/schema/kinds.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import { needForPath, withApproval } from '../access/approval-need.ts';
import { compileCheck, compileViolation } from '../check-parameters.ts';
import { type CodeTool, codeTool } from '../code/code-tool.ts';
import { checkApprovedFiles, commandFiles } from '../definition/approved-files.ts';
import { type Coverage, coverageOfCommand } from '../definition/command-coverage.ts';
import { definitionHash } from '../definition/definition-hash.ts';
import type { McpServer, McpServers, McpTool } from '../mcp/mcp-server.ts';
import { mcpResult, usableSchema } from '../mcp/mcp-server.ts';
import { DEFAULT_OUTPUT_BYTES, outputTooLarge } from '../output/output.ts';
import { childEnvironment } from '../process/child-environment.ts';
import { commandFailed } from '../process/command-request.ts';
import { runConfined } from '../process/run-confined.ts';
import { textProgress } from '../process/run-process.ts';
import { DEFAULT_SCRIPT_MEMORY, DEFAULT_SCRIPT_MS, type Sandbox } from '../sandbox/sandbox.ts';
import type { Target, TargetCall } from '../target.ts';
import type { TargetDeps } from '../target-deps.ts';
import {
  httpTool,
  parseTextTemplate,
  type TextScope,
  type TextTemplate,
  templateScope,
} from './http-tool.ts';
import type { ImplementationContext, RunTool, ToolImplementation } from './implementation.ts';
import { moduleTool } from './module-tool.ts';

/**
 * Turns a Tool manifest into a target. `file` is the manifest's file. `code` implements a tool that was defined in
 * code.
 */
export function toolTarget(manifest: ToolManifest, file: string, deps: TargetDeps, code?: CodeTool): Target {
  const tool = withServerDescription(manifest, deps.servers);
  const { name, parameters, approval, output } = tool;
  const what = `tool "${name}"`;
  const properties = isMap(parameters.properties) ? parameters.properties : {};
  const context: ImplementationContext = {
    what,
    file,
    parameterNames: new Set(Object.keys(properties)),
    maxBytes: output?.max_bytes?.bytes ?? DEFAULT_OUTPUT_BYTES,
    wantsJson: output?.schema !== undefined,
    stream: tool.stream,
    isApproved: approval !== 'never',
    isStrict: approval === 'strict' || (approval === 'always' && deps.permissions.isStrict),
    timeoutMs: tool.timeout?.ms,
  };
  const own = code === undefined ? undefined : codeTool(code, context);
  const {
    run: implementation,
    needs,
    covers,
    code: codeHash,
  }: ToolImplementation = own === undefined
    ? implement(tool, context, deps)
    : { run: own.implementation, code: () => String(code?.run) };
  const defaults = defaultsOf(properties);
  const outputViolation =
    output?.schema === undefined || code?.output !== undefined
      ? undefined
      : compileViolation(output.schema, `"output.schema" of ${what}`);

  const checked = async (call: TargetCall): Promise<Json> => {
    const result = await implementation({ ...defaults, ...call.input }, call);
    const violation = outputViolation?.(result);
    if (violation !== undefined) throw outputViolates(what, violation.message);
    return result;
  };
  const target: Target = {
    kind: 'tool',
    name,
    description: tool.description ?? '',
    parameters,
    idempotent: tool.idempotent,
    start: tool.start,
    ...(tool.background === true ? { background: true } : {}),
    ...(tool.timeout === undefined ? {} : { timeoutMs: tool.timeout.ms }),
    ...(tool.max_parallel === undefined ? {} : { slots: { key: what, max: tool.max_parallel } }),
    check: own?.check ?? compileCheck(parameters, what),
    ...(needs === undefined ? {} : { needs: (input, context) => needs({ ...defaults, ...input }, context) }),
    definition: () => definitionHash({ manifest: tool as unknown as Json, code: codeHash?.() ?? null }),
    run: (call) =>
      outputViolation === undefined ? implementation({ ...defaults, ...call.input }, call) : checked(call),
  };
  if (approval === 'never') return target;
  return withApproval(
    target,
    approval,
    context.isStrict,
    covers && ((input, more) => covers({ ...defaults, ...input }, more)),
  );
}

function implement(
  { implementation }: ToolManifest,
  context: ImplementationContext,
  deps: TargetDeps,
): ToolImplementation {
  if ('module' in implementation) return moduleTool(implementation, context);
  if ('command' in implementation) return commandTool(implementation, context, deps);
  if ('http' in implementation) return httpTool(implementation.http, context, deps);
  if ('mcp' in implementation) {
    const { server, tool } = implementation.mcp;
    const found = deps.servers.get(server)?.tools.find(({ name }) => name === tool);
    const code = () => JSON.stringify(found ?? null);
    return { run: mcpTool(implementation.mcp, context, deps), code };
  }
  return { run: scriptTool(implementation, context, deps) };
}

/** Only defaults of top-level parameters count. A nested value is a single value to the schema's author. */
function defaultsOf(properties: Readonly<Record<string, unknown>>): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, schema]) =>
      isMap(schema) && Object.hasOwn(schema, 'default') ? [[name, schema.default as Json]] : [],
    ),
  );
}

const outputViolates = (what: string, message: string) =>
  new RuntimeError('bad_output', `The result of ${what} does not fit its "output.schema": ${message}`, {
    hint: 'Fix the tool, or its schema.',
  });

/**
 * A script that runs in the sandbox. It sees `parameters`, `agent` and a `console` whose lines become progress, and
 * nothing else. The result is its last value, or what it returns.
 */
function scriptTool(
  { script }: { readonly script: string },
  { what, maxBytes, stream, timeoutMs = DEFAULT_SCRIPT_MS }: ImplementationContext,
  { sandbox }: { readonly sandbox: Sandbox },
): RunTool {
  // Creating and passing on the snapshot takes longer than most scripts run.
  const namesAgent = /\bagent\b/.test(script);
  const limits = { timeMs: timeoutMs, memoryBytes: DEFAULT_SCRIPT_MEMORY, outputBytes: maxBytes };
  sandbox.warm();
  return async (parameters, call) => {
    const json = await sandbox.run({
      what,
      source: script,
      globals: namesAgent ? { parameters, agent: call.agent() } : { parameters },
      frozen: namesAgent ? ['agent'] : [],
      limits,
      signal: call.signal,
      onLog: stream ? (text) => call.progress({ text }) : undefined,
    });
    return JSON.parse(json) as Json;
  };
}

interface McpImplementation {
  readonly server: string;
  readonly tool: string;
}

/** A tool of one of the agent's MCP servers, with the name and the rules of the manifest. */
function mcpTool(
  { server, tool }: McpImplementation,
  { what, maxBytes, wantsJson, stream }: ImplementationContext,
  { servers }: { readonly servers: McpServers },
): RunTool {
  const found = servers.get(server);
  if (found === undefined) throw serverUnknown(what, server, [...servers.keys()]);
  return async (input, call) => {
    const { signal } = call;
    const onProgress = stream ? (data: Json) => call.progress(data) : undefined;
    const answer = await found.call({ what, tool, input, signal, onProgress });
    return mcpResult(answer, { what, maxBytes, wantsJson });
  };
}

/** Fills in the server's description and parameters if the manifest leaves them out. */
function withServerDescription(manifest: ToolManifest, servers: McpServers): ToolManifest {
  const { implementation, parameters, description } = manifest;
  const server = 'mcp' in implementation ? servers.get(implementation.mcp.server) : undefined;
  if (server === undefined || !('mcp' in implementation)) return manifest;
  const found = toolOf(server, implementation.mcp.tool, `tool "${manifest.name}"`);
  const isGiven = Object.keys(parameters).some((key) => key !== 'type');
  return {
    ...manifest,
    description: description ?? found.description,
    parameters: isGiven ? parameters : usableSchema(found.inputSchema),
  };
}

function toolOf(server: McpServer, name: string, what: string): McpTool {
  const found = server.tools.find((tool) => tool.name === name);
  if (found !== undefined) return found;
  const known = server.tools.map((tool) => tool.name);
  throw new RuntimeError(
    'target_unknown',
    `The MCP server "${server.name}" has no tool "${name}" for ${what}.`,
    {
      hint: suggest(name, known, 'It has'),
    },
  );
}

const serverUnknown = (what: string, server: string, known: readonly string[]) =>
  new RuntimeError(
    'target_unknown',
    `The agent does not import the MCP server "${server}", which ${what} needs.`,
    {
      hint: suggest(server, known, 'Imported'),
    },
  );

interface CommandImplementation {
  readonly command: readonly string[];
  readonly cwd?: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string | undefined;
}

/**
 * A program that is started without a shell. An argument always stays one argument, except that `{name}` alone becomes
 * one argument per item of a list, and none for a missing parameter. The result is what the program printed, or the
 * JSON it printed if the tool declares `output.schema`.
 */
function commandTool(
  { command, cwd = '.', env, stdin }: CommandImplementation,
  { what, parameterNames, maxBytes, wantsJson, stream, isApproved }: ImplementationContext,
  deps: TargetDeps,
): ToolImplementation {
  const read = (text: string) => parseTextTemplate(text, what, parameterNames);
  const [program, ...args] = command.map(read);
  const folder = read(cwd);
  const variables = Object.entries(env).map(([name, value]) => [name, read(value)] as const);
  const input = stdin === undefined ? undefined : read(stdin);

  const coverage = async (scope: TextScope, cwd: string): Promise<() => Coverage> => {
    const filled = [program?.fill(scope) ?? '', ...args.flatMap((argument) => argumentsOf(argument, scope))];
    const place = {
      folder: deps.folder,
      cwd,
      path: deps.env.PATH,
      roots: await deps.permissions.paths.roots(),
    };
    return () => coverageOfCommand(filled, place);
  };

  const run: ToolImplementation['run'] = async (parameters, call) => {
    const scope = templateScope(parameters, call);
    const cwd = await workingFolder(folder, scope, call.granted, deps);
    const pinned = isApproved ? checkApprovedFiles(what, call.granted ?? [], await coverage(scope, cwd)) : [];
    const ended = await runConfined(
      {
        what,
        program: program?.fill(scope) ?? '',
        args: args.flatMap((argument) => argumentsOf(argument, scope)),
        cwd,
        pinned,
        env: childEnvironment(deps.env, deps.permissions.environment, {
          ...Object.fromEntries(variables.map(([name, value]) => [name, value.fill(scope)])),
          TELLTALE_IDEMPOTENCY_KEY: call.idempotencyKey,
        }),
        stdin: input?.fill(scope),
        maxBytes,
        signal: call.signal,
        onOutput: stream ? textProgress((data) => call.progress(data)) : undefined,
      },
      call,
      deps,
    );
    if (ended.exitCode !== 0) throw commandFailed(what, ended);
    if (!wantsJson) return withoutLastBreak(ended.stdout.text());
    if (ended.stdout.dropped > 0) throw outputTooLarge(what, maxBytes);
    return parseOutput(ended.stdout.text(), what);
  };
  const code = () =>
    definitionHash(null, commandFiles(command, resolve(deps.folder, folder.usesInput ? '.' : cwd)));
  const covers: ToolImplementation['covers'] = async (parameters, context) => {
    const scope = templateScope(parameters, context);
    return (await coverage(scope, resolve(deps.folder, folder.fill(scope))))();
  };
  if (!folder.usesInput || !deps.permissions.paths.asks) return { run, code, covers };
  return {
    run,
    code,
    covers,
    needs: (parameters, context) =>
      needForPath(
        deps.permissions.paths,
        folder.fill(templateScope(parameters, context)),
        what,
        `run ${what} in`,
      ),
  };
}

function argumentsOf(argument: TextTemplate, scope: TextScope): readonly string[] {
  const value = argument.value(scope);
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value.map((item: Json) => asText(item)) : [asText(value)];
}

/**
 * A folder that depends on parameters must be inside the permitted paths. A fixed folder is the decision of the
 * manifest's author.
 */
async function workingFolder(
  folder: TextTemplate,
  scope: TextScope,
  granted: readonly string[] | undefined,
  deps: TargetDeps,
): Promise<string> {
  const path = folder.fill(scope);
  if (!folder.usesInput) return resolve(deps.folder, path);
  return (await deps.permissions.paths.resolve(path, granted)).real;
}

/** Strips one line break, as `$(…)` does in a shell. */
const withoutLastBreak = (text: string) => text.replace(/\r?\n$/, '');

function parseOutput(text: string, what: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    throw new RuntimeError('bad_output', `The output of the command of ${what} is not JSON.`, {
      hint: 'The tool declares "output: { schema }", so its command must print only JSON.',
      cause,
    });
  }
}
