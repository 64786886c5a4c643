import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { thrownPlace } from '../../kernel/thrown-place.ts';
import { definitionHash } from '../definition/definition-hash.ts';
import { moduleFiles } from '../definition/module-files.ts';
import { placedCause, thrownMessage } from '../output/thrown-message.ts';
import { type Run, runUserCode } from '../user-code.ts';
import type { Implemented, ToolContext } from './implementation.ts';
import { moduleMissing, moduleProblem } from './module-problem.ts';

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
  const wanted = { path: locate(module, file, what), name, what, file };
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
  return exported[name] as Run;
}

const loadFailure = (thrown: unknown) => ({
  message: thrownMessage(thrown),
  code: thrown instanceof Error ? (thrown as NodeJS.ErrnoException).code : undefined,
  place: thrownPlace(thrown),
  isSyntax: thrown instanceof Error && thrown.name === 'SyntaxError',
  cause: placedCause(thrown),
});

/** Paths are relative to the manifest. A bare name is a package, looked up from the manifest's folder. */
export function locate(module: string, file: string, what: string): string {
  if (/^[./]/.test(module) || /\.[cm]?[jt]s$/.test(module)) return resolve(dirname(file), module);
  try {
    return createRequire(file).resolve(module);
  } catch {
    throw new RuntimeError('module_failed', `The package "${module}" of ${what} is not installed.`, {
      hint: `Install it: npm install ${module}. Or fix "module" in ${file}: a path begins with "./".`,
    });
  }
}
