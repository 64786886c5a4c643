import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { definitionHash } from '../definition/definition-hash.ts';
import { moduleFiles } from '../definition/module-files.ts';
import { placedCause, thrownMessage } from '../output/thrown-message.ts';
import { type Run, runUserCode } from '../user-code.ts';
import type { Implemented, ToolContext } from './implementation.ts';

/** A function of a user's module, loaded at its first call: what its code does while loading is part of an action. */
export function moduleTool(
  { module, export: name }: { readonly module: string; readonly export: string },
  context: ToolContext,
): Implemented {
  const { what, file, isApproved } = context;
  let loading: Promise<Run> | undefined;
  let loaded: Run | undefined;
  /** Of the files as they were loaded: that is what runs, whatever becomes of the files. */
  let hash: string | undefined;
  const hashNow = () => definitionHash(null, moduleFiles(locate(module, file, what)));
  const load = async () => {
    if (isApproved) hash ??= hashNow();
    loading ??= loadExport(module, name, file, what);
    try {
      loaded = await loading;
      return loaded;
    } catch (thrown) {
      hash = undefined;
      loading = undefined; // tried again at the next call: the file may have been mended since
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

async function loadExport(module: string, name: string, file: string, what: string): Promise<Run> {
  const path = locate(module, file, what);
  let exported: Readonly<Record<string, unknown>>;
  try {
    exported = await import(/* @vite-ignore */ pathToFileURL(path).href);
  } catch (thrown) {
    throw cannotLoad(path, what, file, thrown);
  }
  const run = Object.hasOwn(exported, name) ? exported[name] : undefined;
  if (typeof run === 'function') return run as Run;
  throw notExported(path, name, what, run, Object.keys(exported));
}

/** Paths are relative to the manifest; a bare name is a package's, looked for from the manifest on. */
function locate(module: string, file: string, what: string): string {
  if (/^[./]/.test(module) || /\.[cm]?[jt]s$/.test(module)) return resolve(dirname(file), module);
  try {
    return createRequire(file).resolve(module);
  } catch (thrown) {
    throw cannotLoad(module, what, file, thrown);
  }
}

function cannotLoad(path: string, what: string, file: string, cause: unknown): RuntimeError {
  const code = cause instanceof Error ? (cause as NodeJS.ErrnoException).code : undefined;
  const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
  if (isMissing && !existsSync(path)) return notThere(path, what, file);
  const hint =
    code === 'ERR_UNKNOWN_FILE_EXTENSION'
      ? 'This Node cannot read TypeScript by itself: use Node 22.18 or later, or build it to JavaScript.'
      : cause instanceof Error && cause.name === 'SyntaxError'
        ? `See the place with: node --check ${path}`
        : `It is named by ${file}.`;
  return new RuntimeError(
    'module_failed',
    `The module ${path} of ${what} ${isMissing ? 'imports what is not there' : 'cannot be loaded'}: ${thrownMessage(cause)}`,
    { hint, cause: placedCause(cause) },
  );
}

const notThere = (path: string, what: string, file: string) =>
  new RuntimeError('module_failed', `The module ${path} of ${what} is not there.`, {
    hint: `Create it, or correct its name in ${file}.`,
  });

const notExported = (path: string, name: string, what: string, found: unknown, exported: readonly string[]) =>
  new RuntimeError(
    'module_failed',
    found === undefined
      ? `The module ${path} of ${what} exports no "${name}".`
      : `What the module ${path} of ${what} exports as "${name}" is no function.`,
    {
      hint: `${suggest(name, exported, 'It exports')} A tool is "export function ${name}(parameters, { agent, signal })".`,
    },
  );
