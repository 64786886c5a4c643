import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { RuntimeError, thrownPlace } from '../../lib/errors.ts';
import { suggest } from '../../lib/nearest.ts';
import { type CodeToolRun, runUserCode } from '../code/code-tool.ts';
import { moduleFiles } from '../definition/approved-files.ts';
import { definitionHash } from '../definition/definition-hash.ts';
import { causeWithPlace, thrownMessage } from '../output/output.ts';
import type { ImplementationContext, ToolImplementation } from './implementation.ts';

/**
 * A function of a user's module. The module is loaded at the first call, so whatever its code does while loading is
 * part of an action.
 */
export function moduleTool(
  { module, export: name }: { readonly module: string; readonly export: string },
  context: ImplementationContext,
): ToolImplementation {
  const { what, file, isApproved } = context;
  let loading: Promise<CodeToolRun> | undefined;
  let loaded: CodeToolRun | undefined;
  /** The hash of the files as they were loaded, because that is the code that runs, even if the files change. */
  let hash: string | undefined;
  const hashNow = () => definitionHash(null, moduleFiles(locateModule(module, file, what)));
  const load = async () => {
    if (isApproved) hash ??= hashNow();
    loading ??= loadExport(module, name, file, what);
    try {
      loaded = await loading;
      return loaded;
    } catch (thrown) {
      hash = undefined;
      loading = undefined; // retried at the next call, because the file may have been fixed meanwhile
      throw thrown;
    }
  };
  return {
    code: () => hash ?? hashNow(),
    run: (input, call) =>
      loaded === undefined
        ? load().then((run) => runUserCode(run, input, call, context))
        : runUserCode(loaded, input, call, context),
  };
}

async function loadExport(module: string, name: string, file: string, what: string): Promise<CodeToolRun> {
  const wanted = { path: locateModule(module, file, what), name, what, file };
  let exported: Readonly<Record<string, unknown>>;
  try {
    exported = await import(/* @vite-ignore */ pathToFileURL(wanted.path).href);
  } catch (thrown) {
    if (!existsSync(wanted.path)) throw moduleMissing(wanted);
    throw moduleProblem(wanted, { failed: loadFailure(thrown) });
  }
  const types = Object.entries(exported).map(([key, value]) => [key, typeof value]);
  const problem = moduleProblem(wanted, { exports: Object.fromEntries(types) });
  if (problem !== undefined) throw problem;
  return exported[name] as CodeToolRun;
}

const loadFailure = (thrown: unknown) => ({
  message: thrownMessage(thrown),
  code: thrown instanceof Error ? (thrown as NodeJS.ErrnoException).code : undefined,
  place: thrownPlace(thrown),
  isSyntax: thrown instanceof Error && thrown.name === 'SyntaxError',
  cause: causeWithPlace(thrown),
});

/** Resolves a path relative to the manifest. A bare name is a package, looked up from the manifest's folder. */
export function locateModule(module: string, file: string, what: string): string {
  if (/^[./]/.test(module) || /\.[cm]?[jt]s$/.test(module)) return resolve(dirname(file), module);
  try {
    return createRequire(file).resolve(module);
  } catch {
    throw new RuntimeError('module_failed', `The package "${module}" of ${what} is not installed.`, {
      hint: `Install it: npm install ${module}. Or fix "module" in ${file}: paths start with "./".`,
    });
  }
}

/** The result of loading a module. Plain data, so that another process can report it. */
export type LoadedModule =
  /** The `typeof` of each export. */
  { readonly exports: Readonly<Record<string, string>> } | { readonly failed: LoadFailure };

export interface LoadFailure {
  readonly message: string;
  /** Node's error code: `ERR_MODULE_NOT_FOUND`. */
  readonly code?: string | undefined;
  /** Where it was thrown, if the stack trace shows it: `/bot/search.mjs:3:7`. */
  readonly place?: string | undefined;
  readonly isSyntax?: boolean;
  /** What to do, if that is known. */
  readonly hint?: string;
  readonly cause?: unknown;
}

/** The module and the function that are needed. */
export interface WantedExport {
  /** An absolute path, or the name of a package that was not found. */
  readonly path: string;
  readonly name: string;
  /** For messages: `tool "search"`. */
  readonly what: string;
  /** The manifest's file. */
  readonly file: string;
}

/** Explains what is wrong with a module, with the same words in a run and in a check. */
export function moduleProblem(wanted: WantedExport, loaded: LoadedModule): RuntimeError | undefined {
  if ('failed' in loaded) return cannotLoad(wanted, loaded.failed);
  const { path, name, what } = wanted;
  const type = Object.hasOwn(loaded.exports, name) ? loaded.exports[name] : undefined;
  if (type === 'function') return undefined;
  const others = Object.keys(loaded.exports).filter((each) => loaded.exports[each] === 'function');
  return type === undefined
    ? failed(`The module ${path} of ${what} exports no "${name}".`, exportHint(wanted, others))
    : failed(
        `The module ${path} of ${what} exports "${name}" as ${ARTICLES[type] ?? type}, not as a function.`,
        `Make it a function: ${example(name)}`,
      );
}

const ARTICLES: Readonly<Record<string, string>> = {
  object: 'an object',
  undefined: 'undefined',
  string: 'a string',
  number: 'a number',
  boolean: 'a boolean',
  bigint: 'a bigint',
  symbol: 'a symbol',
};

const example = (name: string): string =>
  name === 'default'
    ? 'export default function (parameters, { agent, signal }) { … }'
    : `export function ${name}(parameters, { agent, signal }) { … }`;

function exportHint({ name, file }: WantedExport, others: readonly string[]): string {
  const add = `Add it: ${example(name)}`;
  if (others.length === 0) return add;
  const near = suggest(name, others, 'It exports');
  return `${near} ${add}. Or name another one with "export" in ${file}.`;
}

/** Node's message for an import that was not found. */
const NOT_FOUND = /^Cannot find (package|module) '([^']+)' imported from (.+)$/m;

function cannotLoad(
  { path, what, file }: WantedExport,
  { message, code, place, isSyntax, hint, cause }: LoadFailure,
): RuntimeError {
  const module = `The module ${path} of ${what}`;
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION')
    return failed(
      `${module} cannot be loaded: ${message}`,
      'This version of Node cannot run TypeScript. Use Node 22.18 or later, or build the module to JavaScript.',
      cause,
    );
  const [, kind, missing = '', importer = ''] = NOT_FOUND.exec(message) ?? [];
  if (kind !== undefined) {
    const who = importer === path ? `${module} imports` : `${module} cannot be loaded: ${importer} imports`;
    return kind === 'package'
      ? failed(`${who} "${missing}", which is not installed.`, `Install it: npm install ${missing}`, cause)
      : failed(
          `${who} ${missing}, which does not exist.`,
          `Create it, or fix the import in ${importer}.`,
          cause,
        );
  }
  if (isSyntax === true)
    return failed(`${module} has a syntax error: ${message}`, `See the line: node --check ${path}`, cause);
  return failed(
    `${module} failed while it was loaded: ${message}`,
    hint ?? (place === undefined ? `"module" in ${file} names it.` : `Fix ${place}.`),
    cause,
  );
}

export const moduleMissing = ({ path, what, file }: WantedExport): RuntimeError =>
  failed(`The module ${path} of ${what} does not exist.`, `Create it, or fix "module" in ${file}.`);

const failed = (message: string, hint: string, cause?: unknown) =>
  new RuntimeError('module_failed', message, { hint, cause });
