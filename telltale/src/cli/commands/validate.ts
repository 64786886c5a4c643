import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import { MANIFEST_LIMITS } from '../../manifest/diagnostic.ts';
import type { ManifestText } from '../../manifest/load-manifests.ts';
import type { ValidateResult } from '../../manifest/validate-manifests.ts';
import type { RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import type { Io } from '../io.ts';
import { usage } from '../options.ts';
import { startProgress } from '../progress.ts';
import { printJson, printText } from '../validate/print-result.ts';
import { countText } from '../view/figures.ts';

interface ValidateOptions {
  readonly json?: true;
  readonly root?: string;
  readonly modules: boolean;
}

const EXAMPLES = `
Examples:
  $ telltale validate                      every manifest in this folder and below
  $ telltale validate agent.yml            one agent and all it imports
  $ telltale validate --json | jq .errors  for a script
  $ cat agent.yml | telltale validate -    from standard input
`;

export const registerValidate: RegisterCommand = (program, { io, run }) => {
  program
    .command('validate')
    .summary('check manifests and the modules of their tools')
    .description(
      'Checks manifests and everything they import. Also loads the modules of tools, in a separate process; nothing else is run. Exits with 2 if there are errors.',
    )
    .argument('[paths...]', 'files, folders or "-" for standard input (default: the current folder)')
    .option('--json', 'print the result as JSON')
    .option('--no-modules', 'do not load the modules of tools')
    .option(
      '--root <dir>',
      'the project folder, which imports may not leave (default: the nearest one with package.json, .git or telltale.yml)',
    )
    .addHelpText('after', EXAMPLES)
    .action(run((paths: readonly string[], options: ValidateOptions) => validate(paths, options, io)));
};

async function validate(paths: readonly string[], options: ValidateOptions, io: Io): Promise<ExitCode> {
  const { validateManifests } = await import('../../manifest/validate-manifests.ts');
  const { moduleCheck: loadingModules } = await import('../validate/load-modules.ts');
  if (options.root !== undefined) await checkRoot(options.root, io);
  let read = 0;
  const stopProgress = startProgress(io, () => `Checking manifests… ${read} files`);
  let result: ValidateResult;
  try {
    result = await validateManifests(await inputs(paths, io), {
      env: io.env,
      cwd: io.cwd,
      root: options.root,
      signal: io.signal,
      ...(options.modules ? { checkModules: loadingModules(namedFiles(paths, io), io) } : {}),
      onProgress: (files) => {
        read = files;
      },
    });
  } finally {
    await stopProgress();
  }
  if (result.sources.length === 0 && result.diagnostics.length === 0) throw noManifests(paths, result);
  await (options.json ? printJson(result, io.stdout) : printText(result, io.stdout, io));
  return result.ok ? EXIT.ok : EXIT.usage;
}

const namedFiles = (paths: readonly string[], { cwd }: Io): readonly string[] =>
  paths.map((path) => resolve(cwd, path));

async function checkRoot(root: string, io: Io): Promise<void> {
  const found = await stat(resolve(io.cwd, root)).catch(() => undefined);
  if (!found?.isDirectory())
    throw usage(
      `--root '${root}' ${found === undefined ? 'does not exist' : 'is not a folder'}.`,
      'Name the project folder.',
    );
}

async function inputs(paths: readonly string[], io: Io): Promise<readonly (string | ManifestText)[]> {
  if (paths.length === 0) return ['.'];
  if (paths.indexOf('-') !== paths.lastIndexOf('-'))
    throw usage("'-' (standard input) is given twice.", 'Give it once.');
  return Promise.all(paths.map((path) => (path === '-' ? standardInput(io) : path)));
}

async function standardInput(io: Io): Promise<ManifestText> {
  if (io.stdin.isTerminal) await io.stderr.write('Reading a manifest from the terminal; Ctrl-D ends it.\n');
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of io.stdin) {
    io.signal.throwIfAborted();
    total += chunk.length;
    if (total > MANIFEST_LIMITS.fileBytes) throw inputTooLarge();
    chunks.push(chunk);
  }
  return { label: '<stdin>', bytes: Buffer.concat(chunks), folder: io.cwd };
}

const inputTooLarge = () =>
  new RuntimeError(
    'file_too_large',
    `Standard input is longer than ${MANIFEST_LIMITS.fileBytes.toLocaleString('en')} bytes, which is the limit for a manifest.`,
    { hint: 'Split it into several files.' },
  );

const noManifests = (paths: readonly string[], { found }: ValidateResult) =>
  usage(
    `There is no manifest in ${paths.length === 0 ? 'the current folder' : paths.join(', ')} (${countText(found.looked, 'YAML or JSON file')} searched).`,
    'A manifest is a .yml, .yaml or .json file with "kind: Agent" (or Tool, Relic, Artifact, Workflow) at the top.',
  );
