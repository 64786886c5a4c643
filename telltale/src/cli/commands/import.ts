import { relative, resolve } from 'node:path';
import { Argument, Option } from 'commander';
import { FORMATS } from '../../importers/formats.ts';
import type { Format, ImportedFile, MadeFile } from '../../importers/importer.ts';
import type { RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import type { Io } from '../io.ts';
import { paletteFor } from '../io.ts';
import { usage } from '../options.ts';
import { startProgress } from '../progress.ts';
import { countText } from '../view/figures.ts';
import { jsonText } from '../view/json-text.ts';

interface CommandImportOptions {
  readonly out: string;
  readonly force?: true;
  readonly agent?: true;
  readonly model?: string;
  readonly confirm?: 'after' | 'before';
  readonly dryRun?: true;
  readonly json?: true;
}

const EXAMPLES = `
A path is a file, or a folder that is searched for files of the format. The manifests are
validated as by "telltale validate" before anything is written. Every construct is reported
as kept, changed (how) or left out (why).

Examples:
  $ telltale import workrail review.json --out workflows
  $ telltale import workrail *.json --agent && telltale run review-agent.yml "Review my branch"
  $ telltale import workrail review.json --dry-run
  $ telltale import workrail *.json --json | jq '.files[].entries[] | select(.outcome == "left")'
`;

export const registerImport: RegisterCommand = (program, { io, run }) => {
  program
    .command('import')
    .summary('convert files of other systems')
    .description(
      'Converts files of another system into Telltale manifests, and reports what happened to each construct. Exits with 2 if a file cannot be converted; the others are converted all the same.',
    )
    .addArgument(new Argument('<format>', 'the system the files are of').choices(Object.keys(FORMATS)))
    .argument('<paths...>', 'files, and folders to search')
    .option('--out <dir>', 'the folder for the manifests', '.')
    .option('--force', 'overwrite existing files')
    .option('--agent', 'also create an agent that follows the workflow (workrail)')
    .option('--model <ref>', 'the model of agents')
    .addOption(
      new Option(
        '--confirm <when>',
        'when a person is asked about a step with requireConfirmation (workrail; default: "after")',
      ).choices(['after', 'before']),
    )
    .option('--dry-run', 'print the manifests and write nothing')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', EXAMPLES)
    .action(
      run((format: string, paths: readonly string[], options: CommandImportOptions) =>
        importPaths(format, paths, options, io),
      ),
    );
};

async function importPaths(
  name: string,
  paths: readonly string[],
  options: CommandImportOptions,
  io: Io,
): Promise<ExitCode> {
  // Commander has checked the name.
  const format = FORMATS[name] as Format;
  const [{ importSources }, { createNodeFiles }, { isModelRef }, importer] = await Promise.all([
    import('../../importers/made.ts'),
    import('../../manifest/files.ts'),
    import('../../manifest/schema/model-ref.ts'),
    format.load(),
  ]);
  for (const option of ['agent', 'confirm', 'model'] as const)
    if (options[option] !== undefined && !format.options.includes(option))
      throw usage(`'import ${name}' has no option '--${option}'.`, 'Leave it out.');
  if (options.model !== undefined && !isModelRef(options.model))
    throw usage(`--model '${options.model}' is not a model.`, 'Write provider/model, or scripted:FILE.');
  if (options.model !== undefined && format.options.includes('agent') && options.agent !== true)
    throw usage("'--model' needs --agent, because it sets the model of the agent.", 'Add --agent.');
  const stop = startProgress(io, () => `Converting ${countText(paths.length, 'path')}…`);
  let imported: readonly ImportedFile[];
  try {
    imported = await importSources(paths, importer, {
      cwd: io.cwd,
      out: resolve(io.cwd, options.out),
      files: createNodeFiles(),
      signal: io.signal,
      confirm: options.confirm ?? 'after',
      agent: options.agent === true,
      model: options.model,
    });
  } finally {
    await stop();
  }
  const made = imported.flatMap((each) => each.made?.files ?? []);
  if (options.dryRun !== true) {
    const { writeImported: writeMade } = await import('../import/write-imported.ts');
    await writeMade(resolve(io.cwd, options.out), made, options.force === true);
  }
  await (options.json === true
    ? printJson(imported, options, io)
    : printText(imported, made, format, options, io));
  return imported.every((each) => each.made !== undefined) ? EXIT.ok : EXIT.usage;
}

async function printJson(
  imported: readonly ImportedFile[],
  options: CommandImportOptions,
  io: Io,
): Promise<void> {
  const { countsOf } = await import('../../importers/report.ts');
  const files = imported.map(({ file, diagnostics, made }) => ({
    file,
    ok: made !== undefined,
    ...(made === undefined
      ? {}
      : {
          [made.kind]: made.name,
          [options.dryRun === true ? 'texts' : 'written']:
            options.dryRun === true ? made.files : made.files.map(({ path }) => shownPath(path, options, io)),
          counts: countsOf(made.entries),
          entries: made.entries,
        }),
    diagnostics,
  }));
  await io.stdout.write(jsonText({ ok: files.every(({ ok }) => ok), files }, 2));
}

async function printText(
  imported: readonly ImportedFile[],
  made: readonly MadeFile[],
  { noun }: Format,
  options: CommandImportOptions,
  io: Io,
): Promise<void> {
  const { importText } = await import('../import/print-import.ts');
  // A dry run prints the manifests on stdout, so the report goes to stderr.
  const output = options.dryRun === true ? io.stderr : io.stdout;
  if (options.dryRun === true)
    await io.stdout.write(made.map(({ path, text }) => `# ${path}\n${text}`).join('---\n'));
  for (const each of imported) await output.write(`${importText(each, noun, paletteFor(output))}\n\n`);
  const written = made.map(({ path }) => `  ${shownPath(path, options, io)}`);
  const closing = options.dryRun === true ? 'Nothing was written.' : `Written:\n${written.join('\n')}`;
  if (made.length > 0) await output.write(`${closing}\n`);
}

const shownPath = (path: string, { out }: CommandImportOptions, { cwd }: Io): string =>
  relative(cwd, resolve(cwd, out, path)) || path;
