import { resolve } from 'node:path';
import { asText } from '../../expressions/values.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { needForPath } from '../../tools/access/approval-need.ts';
import { checkApprovedFiles, commandFiles, withCoverage } from '../../tools/definition/approved-files.ts';
import { type Coverage, coverageOfCommand } from '../../tools/definition/command-coverage.ts';
import { definitionHash } from '../../tools/definition/definition-hash.ts';
import { DEFAULT_OUTPUT_BYTES } from '../../tools/output/output.ts';
import { childEnvironment } from '../../tools/process/child-environment.ts';
import { commandFailed } from '../../tools/process/command-request.ts';
import { runConfined } from '../../tools/process/run-confined.ts';
import type { Target } from '../../tools/target.ts';
import type { PreparedStep, StepInstance } from '../step-executor.ts';
import type { StepTarget } from './call-target.ts';
import { prepareTargetStep } from './call-target.ts';
import type { StepContext, StepOf } from './step-deps.ts';
import { resolveInStep, stepWhat } from './step-deps.ts';

type CommandStep = Extract<StepOf<'script'>, { readonly command: readonly string[] }>;

/** The resolved input of a command. */
interface CommandInput {
  readonly command: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
}

/**
 * Prepares a program that runs without a shell and within the agent's permissions. An argument stays one
 * argument, whatever its references contain. An argument that is only a reference to a list becomes one
 * argument per item, and none for null.
 */
export async function prepareCommand(
  step: CommandStep,
  place: StepInstance,
  context: StepContext,
): Promise<PreparedStep> {
  const [program = '', ...args] = step.command;
  if (program.includes('${')) throw programReferred(stepWhat(place), program);
  const { fixed, referring } = sortEnvironment(step.env);
  const texts = { cwd: step.cwd ?? null, env: referring, stdin: step.stdin ?? null, args };
  const resolved = (await resolveInStep(texts, place, context)) as {
    readonly cwd: Json;
    readonly env: JsonObject;
    readonly stdin: Json;
    readonly args: readonly Json[];
  };
  const env = Object.entries(resolved.env).map(([name, value]) => [name, asText(value)] as const);
  const input = {
    command: [program, ...resolved.args.flatMap(argumentsOf)],
    ...(resolved.cwd === null ? {} : { cwd: asText(resolved.cwd) }),
    ...(env.length === 0 ? {} : { env: Object.fromEntries(env) }),
    ...(resolved.stdin === null ? {} : { stdin: asText(resolved.stdin) }),
  };
  const target = commandTarget(step, stepWhat(place), fixed, context);
  return prepareTargetStep(target, input, false, place, context);
}

/**
 * Separates values with references from fixed ones, which may be secrets of the environment and are not
 * written to the log.
 */
function sortEnvironment(env: CommandStep['env']) {
  const isReferring = ([, value]: readonly [string, string]) => value.includes('${');
  const all = Object.entries(env);
  return {
    fixed: Object.fromEntries(all.filter((entry) => !isReferring(entry))),
    referring: Object.fromEntries(all.filter(isReferring)),
  };
}

const argumentsOf = (value: Json): readonly string[] => {
  if (value === null) return [];
  return Array.isArray(value) ? value.map((item: Json) => asText(item)) : [asText(value)];
};

/**
 * A working folder with references must be inside the permitted paths. A fixed one is the author's choice.
 */
function commandTarget(
  step: CommandStep,
  what: string,
  fixed: Readonly<Record<string, string>>,
  { host }: StepContext,
): StepTarget {
  const isReferred = step.cwd?.includes('${') === true;
  const { paths, environment } = host.permissions;
  const coverage = async (command: readonly string[], cwd: string): Promise<() => Coverage> => {
    const place = { folder: host.folder, cwd, path: host.env.PATH, roots: await paths.roots() };
    return () => coverageOfCommand(command, place);
  };
  const run: Target['run'] = async (call) => {
    const { command, cwd = '.', env = {}, stdin } = call.input as unknown as CommandInput;
    const [program = '', ...args] = command;
    const { granted = [] } = call;
    const pinned =
      granted.length === 0
        ? []
        : checkApprovedFiles(what, granted, await coverage(command, resolve(host.folder, cwd)));
    const ended = await runConfined(
      {
        what,
        program,
        args,
        cwd: isReferred ? (await paths.resolve(cwd, call.granted)).real : resolve(host.folder, cwd),
        env: childEnvironment(host.env, environment, {
          ...fixed,
          ...env,
          TELLTALE_IDEMPOTENCY_KEY: call.idempotencyKey,
        }),
        stdin,
        pinned,
        maxBytes: DEFAULT_OUTPUT_BYTES / 2,
        signal: call.signal,
      },
      call,
      host,
    );
    if (ended.exitCode !== 0) throw commandFailed(what, ended);
    const stderr = ended.stderr.text();
    return {
      exit_code: 0,
      stdout: ended.stdout.text().replace(/\r?\n$/, ''), // like `$(…)` in a shell
      ...(stderr === '' ? {} : { stderr }),
    };
  };
  if (!isReferred || !paths.asks) return { run };
  return {
    run,
    definition() {
      const { command, cwd = null, env, stdin = null } = step;
      const document: Json = { command, cwd, env, stdin };
      return definitionHash(document, commandFiles(command, host.folder));
    },
    async needs(given) {
      const { command, cwd = '.' } = given as unknown as CommandInput;
      const need = await needForPath(paths, cwd, what, `run ${what} in`);
      if (need === undefined) return undefined;
      const covered = await coverage(command, resolve(host.folder, cwd));
      return withCoverage(need, covered(), host.permissions.isStrict);
    },
  };
}

const programReferred = (what: string, program: string) =>
  new RuntimeError('bad_command', `The program of ${what} is a reference: ${program.slice(0, 100)}`, {
    hint: 'Write the program itself. Its arguments, "cwd", "env" and "stdin" can contain references.',
  });
