import { paletteFor } from '../colour.ts';
import type { CommandContext, RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { shellWord, usage } from '../usage.ts';
import { packageVersion } from '../version.ts';
import { jsonText } from '../view/json-line.ts';

interface Options {
  readonly name?: string;
  readonly model?: string;
  readonly yes?: true;
  readonly json?: true;
}

const EXAMPLES = `
Asks on a terminal; --yes, --json and a pipe take the defaults. The project runs and passes its test
as it is: a transcript stands in for the model. A folder that is not empty is refused;
what "npm install" and "git init" leave does not count, and a package.json keeps all it says.

Examples:
  $ telltale init my-agent
  $ telltale init my-agent --yes && cd my-agent && npm install && npm start
  $ telltale init . --yes --model anthropic/claude-sonnet-4-5
`;

export const registerInit: RegisterCommand = (program, context) => {
  program
    .command('init')
    .summary('create a project: an agent, a tool, a test')
    .description('Makes a project that runs: an agent, a tool, a transcript in place of a model, and a test.')
    .argument('[dir]', 'where: a folder that is empty or not there yet', '.')
    .option('--name <name>', "the agent's name (default: made of the folder's)")
    .option('--model <ref>', 'what it runs on (default: the transcript)')
    .option('-y, --yes', 'ask nothing')
    .option('--json', 'print what was made as JSON')
    .addHelpText('after', EXAMPLES)
    .action(context.run((dir: string, options: Options) => init(dir, options, context)));
};

async function init(dir: string, options: Options, { io }: CommandContext): Promise<ExitCode> {
  const [{ emptyFolder, writeProject }, { isProjectName, nameOfFolder }, { projectFiles, TRANSCRIPT }] =
    await Promise.all([
      import('../init/write-project.ts'),
      import('../init/project-name.ts'),
      import('../init/project-files.ts'),
    ]);
  if (options.name !== undefined && !isProjectName(options.name))
    throw usage(`--name '${options.name}' cannot be used.`, 'Use letters, digits, _ and -, a letter first.');
  if (options.model !== undefined && !(await isModel(options.model)))
    throw usage(`--model '${options.model}' names no model.`, 'Write provider/model, or scripted:FILE.');
  const folder = await emptyFolder(dir, io);
  const given = { name: options.name ?? nameOfFolder(folder), model: options.model ?? TRANSCRIPT };
  const asks = io.stdin.isTerminal && io.stdout.isTerminal && options.yes !== true && options.json !== true;
  const chosen = asks ? await (await import('../init/ask-project.ts')).askProject(given, io) : given;
  if (chosen === undefined) return EXIT.interrupted;
  const files = projectFiles({ ...chosen, version: packageVersion() });
  await writeProject(folder, files);
  const next = [
    ...(folder === io.cwd ? [] : [`cd ${shellWord(dir)}`]),
    'npm install',
    'npm start',
    'npm test',
  ];
  const { bold, dim, green } = paletteFor(io.stdout);
  await io.stdout.write(
    options.json === true
      ? jsonText({ folder, ...chosen, files: files.map(({ path }) => path), next }, 2)
      : `${[
          `${green('✓')} ${bold(chosen.name)} is in ${folder}`,
          ...files.map(({ path }) => dim(`  ${path}`)),
          '',
          'Next:',
          ...next.map((line) => `  ${line}`),
        ].join('\n')}\n`,
  );
  return EXIT.ok;
}

async function isModel(ref: string): Promise<boolean> {
  const { isModelRef } = await import('../../manifest/schema/model-ref.ts');
  return isModelRef(ref);
}
