import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cruise, type ICruiseResult } from 'dependency-cruiser';
import { importRules } from './import-rules.ts';
import { FOLDERS } from './import-table.ts';

export interface Breach {
  readonly rule: string;
  readonly file: string;
  /** The import or global that is not allowed. */
  readonly what: string;
}

export interface Inspection {
  /** Our source files that the inspection read. */
  readonly files: readonly string[];
  readonly breaches: readonly Breach[];
}

/** Checks the repository at `root`, or a copy of it, against the import table. */
export async function inspectImports(root: string): Promise<Inspection> {
  const folders = ['telltale/src', 'console'].filter((folder) => existsSync(join(root, folder)));
  const { output } = await cruise(
    folders,
    {
      baseDir: root,
      validate: true,
      ruleSet: { forbidden: importRules() },
      // Imports of types count like any other.
      tsPreCompilationDeps: true,
      doNotFollow: { path: 'node_modules' },
      exclude: { path: '^console/(node_modules|dist)/' },
      outputType: 'json',
    },
    {
      extensions: ['.ts', '.tsx', '.js', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'default'],
    },
  );
  const result: ICruiseResult = typeof output === 'string' ? JSON.parse(output) : output;
  return {
    files: result.modules
      .map(({ source }) => source)
      .filter((source) => /^(telltale\/src|console)\//.test(source)),
    breaches: [
      ...result.summary.violations.map(({ rule, from, to }) => ({ rule: rule.name, file: from, what: to })),
      ...unlistedFolders(root),
    ],
  };
}

function unlistedFolders(root: string): readonly Breach[] {
  return readdirSync(join(root, 'telltale', 'src'), { withFileTypes: true })
    .filter((entry) =>
      entry.isDirectory() ? !Object.hasOwn(FOLDERS, entry.name) : entry.name !== 'index.ts',
    )
    .map(({ name }) => ({ rule: 'folder-in-table', file: `telltale/src/${name}`, what: name }));
}

/** The files in which Biome finds a global that their folder may not use. */
export async function findRestrictedGlobals(root: string, biome: string): Promise<readonly Breach[]> {
  const args = [
    'lint',
    '--only=style/noRestrictedGlobals',
    '--vcs-enabled=false',
    '--reporter=json',
    '--max-diagnostics=none',
    'telltale/src',
  ];
  const stdout = await promisify(execFile)(process.execPath, [biome, ...args], { cwd: root }).then(
    ({ stdout }) => stdout,
    (failure: { readonly stdout: string }) => failure.stdout,
  );
  const report: BiomeReport = JSON.parse(stdout);
  return report.diagnostics.map(({ category, location, message }) => ({
    rule: category,
    file: location.path,
    what: message,
  }));
}

interface BiomeReport {
  readonly diagnostics: readonly {
    readonly category: string;
    readonly message: string;
    readonly location: { readonly path: string };
  }[];
}
