import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import process from 'node:process';
import type { Readable } from 'node:stream';
import { RuntimeError, thrownPlace, toRuntimeError } from '../../lib/errors.ts';
import type { Finding } from '../../manifest/diagnostic.ts';
import { quoted } from '../../manifest/diagnostic.ts';
import type { CheckModules, ModuleUse } from '../../manifest/project/read-code.ts';
import { moduleFiles } from '../../tools/definition/approved-files.ts';
import {
  type LoadedModule,
  type LoadFailure,
  locateModule,
  moduleMissing,
  moduleProblem,
  type WantedExport,
} from '../../tools/tools/module-tool.ts';
import type { Io } from '../io.ts';
import { foundInWorkspaces, type Workspace } from '../serve/workspaces.ts';

/** Loading is fast. A module that takes longer hangs, or does work at the top level that belongs in its function. */
const LIMIT_MS = 10_000;
const MAX_MESSAGE = 2_000;

/**
 * Runs in its own process. For each module it writes to file descriptor 3 what the module exports, or why it cannot be
 * loaded.
 */
const SCRIPT = `
import { writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
const { exit } = process;
const typeOf = (exported, name) => { try { return typeof exported[name]; } catch { return 'undefined'; } };
const text = (value) => { try { return String(value); } catch { return 'something that cannot be read was thrown'; } };
for (const path of process.argv.splice(1)) {
  let loaded;
  try {
    const exported = await import(pathToFileURL(path).href);
    loaded = { exports: Object.fromEntries(Object.keys(exported).map((name) => [name, typeOf(exported, name)])) };
  } catch (thrown) {
    const of = Object(thrown);
    loaded = { thrown: { message: text(of.message ?? thrown), name: text(of.name), code: of.code && text(of.code), stack: text(of.stack) } };
  }
  writeSync(3, JSON.stringify(loaded) + '\\n');
}
exit(0);
`;

export interface LoadModulesOptions {
  readonly env: Io['env'];
  readonly cwd: string;
  readonly signal: AbortSignal;
  /** Per module. */
  readonly limitMs?: number;
}

/**
 * Loads tool modules as a run would, but in another process, and reports what is wrong. `named` are the files that the
 * user named.
 */
export function moduleCheck(named: readonly string[], options: LoadModulesOptions): CheckModules {
  return async (uses, files) => {
    const refused = await foundInWorkspaces(files);
    const isTrusted = (file: string) => named.includes(file) || !refused.has(file);
    const wanted = uses.map((use) => {
      const workspace = [use.file, ...use.importers].some(isTrusted) ? undefined : refused.get(use.file);
      return workspace === undefined ? wantedExport(use) : notLoaded(use, workspace);
    });
    const paths = wanted.flatMap((each) => ('path' in each && existsSync(each.path) ? [each.path] : []));
    const loaded = await loadModules([...new Set(paths)], options);
    return wanted.map((each) => {
      if (!('path' in each)) return each instanceof RuntimeError ? findingOf(each) : each;
      const module = loaded.get(each.path);
      const problem = module === undefined ? moduleMissing(each) : moduleProblem(each, module);
      return problem && findingOf(problem);
    });
  };
}

function wantedExport({ tool, module, export: name, file }: ModuleUse): WantedExport | RuntimeError {
  const what = `tool "${tool}"`;
  try {
    return { path: locateModule(module, file, what), name, what, file };
  } catch (thrown) {
    return toRuntimeError(thrown);
  }
}

/** An agent's commands may have written it, and such code runs only in a sandbox. */
const notLoaded = ({ module, file }: ModuleUse, { agent, folder }: Workspace): Finding => ({
  severity: 'warning',
  code: 'manifest_in_workspace',
  message: `${quoted(module)} was not loaded: no agent imports this tool, and commands of the agent "${agent}" can create files in ${folder}.`,
  hint: `Read it. To check it all the same, name it: telltale validate ${file}`,
});

const findingOf = ({ code, message, hint }: RuntimeError): Finding => ({
  severity: 'error',
  code,
  message,
  hint,
});

/**
 * One process loads as many modules as it can. A module that ends it is loaded again in its own process, to be sure
 * that it is the cause.
 */
async function loadModules(
  paths: readonly string[],
  options: LoadModulesOptions,
): Promise<ReadonlyMap<string, LoadedModule>> {
  const loaded = new Map<string, LoadedModule>();
  const withheld = secretsOf(options.env, paths);
  for (let left = paths; left.length > 0; ) {
    const { modules, ended } = await runLoader(left, { ...options, env: without(options.env, withheld) });
    options.signal.throwIfAborted();
    for (const [index, module] of modules.entries()) loaded.set(left[index] ?? '', module);
    const [next, ...rest] = left.slice(modules.length);
    const needed = modules.flatMap((module) => ('failed' in module ? namedIn(module.failed, withheld) : []));
    if (needed.length > 0) {
      // It reads a variable that looked like a secret it does not need.
      for (const name of needed) withheld.delete(name);
      continue;
    }
    if (next !== undefined && modules.length === 0) loaded.set(next, { failed: ended });
    left = next === undefined ? [] : modules.length === 0 ? rest : [next, ...rest];
  }
  return loaded;
}

interface Loaded {
  /** The modules that were loaded, in order. */
  readonly modules: readonly LoadedModule[];
  /** How the process ended, if it did not load all modules. */
  readonly ended: LoadFailure;
}

function runLoader(
  paths: readonly string[],
  { env, cwd, signal, limitMs = LIMIT_MS }: LoadModulesOptions,
): Promise<Loaded> {
  return new Promise((resolve, reject) => {
    const flags = process.execArgv.filter((flag) => flag === '--experimental-strip-types');
    const child = spawn(process.execPath, [...flags, '--input-type=module', '-e', SCRIPT, '--', ...paths], {
      cwd,
      env,
      detached: process.platform !== 'win32',
      windowsHide: true,
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    });
    const modules: LoadedModule[] = [];
    let isLate = false;
    let timer: NodeJS.Timeout;
    const kill = () => killAll(child);
    const startClock = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        isLate = true;
        kill();
      }, limitMs);
    };
    startClock();
    signal.addEventListener('abort', kill, { once: true });
    let text = '';
    (child.stdio[3] as Readable).setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) modules.push(readLine(line));
      startClock();
      // A module may have started something that keeps the process alive.
      if (modules.length === paths.length) kill();
    });
    const stop = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', kill);
    };
    child.once('error', (error) => {
      stop();
      reject(error);
    });
    child.once('close', (code, by) => {
      stop();
      kill(); // Includes the processes that it has started.
      resolve({ modules, ended: isLate ? late(limitMs) : endedBy(code, by) });
    });
  });
}

function killAll({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // The process group is already gone.
  }
}

function readLine(line: string): LoadedModule {
  const said = JSON.parse(line) as
    | { readonly exports: Readonly<Record<string, string>> }
    | { readonly thrown: { message: string; name: string; code?: string; stack: string } };
  if ('exports' in said) return said;
  const { message, name, code, stack } = said.thrown;
  const place = thrownPlace(Object.assign(new Error(), { stack }));
  const isOurs = place?.includes('[eval') ?? false;
  return {
    failed: {
      message: message.slice(0, MAX_MESSAGE),
      code,
      isSyntax: name === 'SyntaxError',
      ...(isOurs ? {} : { place }),
    },
  };
}

const TOP_LEVEL = 'Do that in the function, not at the top level of the module.';

const late = (ms: number): LoadFailure => ({
  message: `it was still loading after ${ms / 1000} s.`,
  hint: TOP_LEVEL,
});

/** Node's exit code for a promise that never settles. */
const UNSETTLED = 13;

function endedBy(code: number | null, by: string | null): LoadFailure {
  if (code === UNSETTLED) return { message: 'its top-level "await" never ends.', hint: TOP_LEVEL };
  const how = by === null ? `ended its process with exit code ${code}` : `made its process end by ${by}`;
  return { message: `it ${how}.`, hint: 'A module of a tool must not end the process: throw an error.' };
}

const SECRET =
  /(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH|PAT)(?:_|$)/i;
/** Our own variables. No module needs to know them. */
const OWN = /^TELLTALE_/i;

/** The names of secrets that the modules' source files do not mention. */
function secretsOf(env: Io['env'], modules: readonly string[]): Set<string> {
  const secrets = Object.keys(env).filter((name) => SECRET.test(name));
  if (secrets.length === 0) return new Set();
  const files = new Set(modules.flatMap((module) => [...moduleFiles(module)]));
  const sources = [...files].map((file) => sourceOf(file));
  return new Set(secrets.filter((name) => !sources.some((source) => source.includes(name))));
}

function sourceOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // Whoever loads the file reports why it cannot be read.
  }
}

const without = (env: Io['env'], withheld: ReadonlySet<string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value === undefined || withheld.has(name) || OWN.test(name) ? [] : [[name, value]],
    ),
  );

const namedIn = ({ message }: LoadFailure, withheld: ReadonlySet<string>): readonly string[] =>
  [...withheld].filter((name) => message.includes(name) && !OWN.test(name));
