import { relative, resolve } from 'node:path';
import { Argument, Option } from 'commander';
import type { MadeFile } from '../../importers/made-file.ts';
import type { ImportedFile } from '../../importers/workrail/import-workrail.ts';
import { paletteFor } from '../colour.ts';
import type { RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { startProgress } from '../progress.ts';
import { usage } from '../usage.ts';
import { countText } from '../view/figures.ts';
import { jsonText } from '../view/json-line.ts';

interface Options {
  readonly out: string;
  readonly force?: true;
  readonly agent?: true;
  readonly model?: string;
  readonly confirm: 'after' | 'before';
  readonly dryRun?: true;
  readonly json?: true;
}

const EXAMPLES = `
Each file becomes a workflow, NAME.yml. If steps have criteria, NAME-checks.yml has the code
that checks notes. The results are validated as by "telltale validate". Every construct is
reported as kept, changed (how) or left out (why).

Examples:
  $ telltale import workrail review.json --out workflows
  $ telltale import workrail *.json --agent && telltale run review-agent.yml "Review my branch"
  $ telltale import workrail review.json --dry-run
  $ telltale import workrail *.json --json | jq '.files[].entries[] | select(.outcome == "left")'
`;

export const registerImport: RegisterCommand = (program, { io, run }) => {
  program
    .command('import')
    .summary('convert WorkRail workflows')
    .description(
      'Converts WorkRail workflow files into Telltale workflows, and reports what happened to each construct. Exits with 2 if a file is not a WorkRail workflow.',
    )
    .addArgument(new Argument('<kind>', 'what the files are').choices(['workrail']))
    .argument('<files...>', 'the files; the routines they call are looked up in the same folder')
    .option('--out <dir>', 'the folder for the manifests', '.')
    .option('--force', 'overwrite existing files')
    .option('--agent', 'also create an agent that follows the workflow')
    .option('--model <ref>', 'the model of that agent')
    .addOption(
      new Option('--confirm <when>', 'when a person is asked about a step with requireConfirmation')
        .choices(['after', 'before'])
        .default('after'),
    )
    .option('--dry-run', 'print the manifests and write nothing')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', EXAMPLES)
    .action(
      run((_: 'workrail', files: readonly string[], options: Options) => importFiles(files, options, io)),
    );
};

async function importFiles(paths: readonly string[], options: Options, io: Io): Promise<ExitCode> {
  const [{ importWorkrail }, { DEFAULT_MODEL }, { createNodeFiles }, { isModelRef }] = await Promise.all([
    import('../../importers/workrail/import-workrail.ts'),
    import('../../importers/workrail/agent-of.ts'),
    import('../../manifest/files/node-files.ts'),
    import('../../manifest/schema/model-ref.ts'),
  ]);
  if (options.model !== undefined && !isModelRef(options.model))
    throw usage(`--model '${options.model}' is not a model.`, 'Write provider/model, or scripted:FILE.');
  if (options.model !== undefined && options.agent !== true)
    throw usage("'--model' says what the agent runs on, and none is made.", 'Add --agent.');
  const stop = startProgress(io, () => `Converting ${countText(paths.length, 'file')}…`);
  let imported: readonly ImportedFile[];
  try {
    imported = await importWorkrail(paths, {
      cwd: io.cwd,
      files: createNodeFiles(),
      signal: io.signal,
      confirm: options.confirm,
      agent: options.agent === true,
      model: options.model ?? DEFAULT_MODEL,
    });
  } finally {
    await stop();
  }
  const made = imported.flatMap((each) => each.made?.files ?? []);
  if (options.dryRun !== true) {
    const { writeMade } = await import('../import/write-made.ts');
    await writeMade(resolve(io.cwd, options.out), made, options.force === true);
  }
  await (options.json === true ? printJson(imported, options, io) : printText(imported, made, options, io));
  return imported.every((each) => each.made !== undefined) ? EXIT.ok : EXIT.usage;
}

async function printJson(imported: readonly ImportedFile[], options: Options, io: Io): Promise<void> {
  const { countsOf } = await import('../../importers/workrail/report.ts');
  const files = imported.map(({ file, diagnostics, made }) => ({
    file,
    ok: made !== undefined,
    ...(made === undefined
      ? {}
      : {
          workflow: made.workflow,
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
  options: Options,
  io: Io,
): Promise<void> {
  const { importText } = await import('../import/print-import.ts');
  // Of a dry run the manifests are what is asked for: the report does not stand among them.
  const output = options.dryRun === true ? io.stderr : io.stdout;
  if (options.dryRun === true)
    await io.stdout.write(made.map(({ path, text }) => `# ${path}\n${text}`).join('---\n'));
  for (const each of imported) await output.write(`${importText(each, paletteFor(output))}\n\n`);
  const written = made.map(({ path }) => `  ${shownPath(path, options, io)}`);
  const closing = options.dryRun === true ? 'Nothing was written.' : `Written:\n${written.join('\n')}`;
  if (made.length > 0) await output.write(`${closing}\n`);
}

const shownPath = (path: string, { out }: Options, { cwd }: Io): string =>
  relative(cwd, resolve(cwd, out, path)) || path;
