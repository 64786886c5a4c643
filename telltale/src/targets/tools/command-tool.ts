import { resolve } from 'node:path';
import { asText } from '../../conditions/as-text.ts';
import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { pathNeed } from '../access/need.ts';
import { type Coverage, coverageOfCommand } from '../definition/command-coverage.ts';
import { commandFiles } from '../definition/command-files.ts';
import { approvedFiles } from '../definition/covered-call.ts';
import { definitionHash } from '../definition/definition-hash.ts';
import { outputTooLarge } from '../output/output-limits.ts';
import { childEnvironment } from '../process/child-environment.ts';
import { commandFailed } from '../process/process-errors.ts';
import { runConfined } from '../process/run-confined.ts';
import { textProgress } from '../process/text-progress.ts';
import type { TargetDeps } from '../target-edges.ts';
import { type Filling, type FillScope, fillScope, readFilling } from './fill-template.ts';
import type { Implemented, ToolContext } from './implementation.ts';

interface CommandImplementation {
  readonly command: readonly string[];
  readonly cwd?: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string | undefined;
}

/**
 * A program, started without a shell. An argument stays one argument whatever the parameters hold; only one that is
 * exactly `{name}` becomes as many arguments as a list has items, and none if the parameter was not given. The result
 * is what it printed, or the JSON it printed if the tool declares `output.schema`.
 */
export function commandTool(
  { command, cwd = '.', env, stdin }: CommandImplementation,
  { what, parameterNames, maxBytes, wantsJson, stream, isApproved }: ToolContext,
  deps: TargetDeps,
): Implemented {
  const read = (text: string) => readFilling(text, what, parameterNames);
  const [program, ...args] = command.map(read);
  const folder = read(cwd);
  const variables = Object.entries(env).map(([name, value]) => [name, read(value)] as const);
  const input = stdin === undefined ? undefined : read(stdin);

  const coverage = async (scope: FillScope, cwd: string): Promise<() => Coverage> => {
    const filled = [program?.fill(scope) ?? '', ...args.flatMap((argument) => argumentsOf(argument, scope))];
    const place = {
      folder: deps.folder,
      cwd,
      path: deps.env.PATH,
      roots: await deps.permissions.paths.roots(),
    };
    return () => coverageOfCommand(filled, place);
  };

  const run: Implemented['run'] = async (parameters, call) => {
    const scope = fillScope(parameters, call);
    const cwd = await workingFolder(folder, scope, call.granted, deps);
    const pinned = isApproved ? approvedFiles(what, call.granted ?? [], await coverage(scope, cwd)) : [];
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
  const covers: Implemented['covers'] = async (parameters, context) => {
    const scope = fillScope(parameters, context);
    return (await coverage(scope, resolve(deps.folder, folder.fill(scope))))();
  };
  if (!folder.usesInput || !deps.permissions.paths.asks) return { run, code, covers };
  return {
    run,
    code,
    covers,
    needs: (parameters, context) =>
      pathNeed(deps.permissions.paths, folder.fill(fillScope(parameters, context)), what, `run ${what} in`),
  };
}

function argumentsOf(argument: Filling, scope: FillScope): readonly string[] {
  const value = argument.value(scope);
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value.map((item: Json) => asText(item)) : [asText(value)];
}

/** What parameters have a say in stays inside the permitted paths; what only the manifest says is its author's word. */
async function workingFolder(
  folder: Filling,
  scope: FillScope,
  granted: readonly string[] | undefined,
  deps: TargetDeps,
): Promise<string> {
  const path = folder.fill(scope);
  if (!folder.usesInput) return resolve(deps.folder, path);
  return (await deps.permissions.paths.resolve(path, granted)).real;
}

/** As `$(…)` does in a shell. */
const withoutLastBreak = (text: string) => text.replace(/\r?\n$/, '');

function parseOutput(text: string, what: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    throw new RuntimeError('bad_output', `The output of the command of ${what} is not JSON.`, {
      hint: 'The tool declares "output: { schema }", so its command has to print JSON and nothing else.',
      cause,
    });
  }
}
