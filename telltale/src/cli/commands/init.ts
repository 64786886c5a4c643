import process from 'node:process';
import type { CommandContext, RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import type { ChosenModel } from '../init/choose-model.ts';
import { paletteFor } from '../io.ts';
import { shellWord, usage } from '../options.ts';
import { packageFolder, packageVersion } from '../program.ts';
import { jsonText } from '../view/json-text.ts';

interface InitOptions {
  readonly name?: string;
  readonly provider?: string;
  readonly model?: string;
  readonly yaml?: true;
  readonly yes?: true;
  readonly json?: true;
}

const EXAMPLES = `
On a terminal it asks for the provider and lists those whose key is set first. With --yes, with --json
and in a pipe it takes the first provider whose key is set. Without any key, a script stands in for the
model, so the project runs anyway. Its test never needs a key.
The folder must be empty or missing. Only package.json and what npm and git create may be in it.
"npm create telltale my-agent" does the same.

Examples:
  $ telltale init my-agent
  $ telltale init my-agent --yaml                  only manifests, no TypeScript
  $ telltale init my-agent --provider openai
  $ telltale init my-agent --model openai/gpt-5
`;

export const registerInit: RegisterCommand = (program, context) => {
  program
    .command('init')
    .summary('create a project: an agent, a tool, a test')
    .description(
      'Creates a project that runs at once: an agent, a tool in TypeScript, a workflow and a test.',
    )
    .argument('[dir]', 'the folder: empty or new', '.')
    .option('--yaml', 'only manifests: no TypeScript, no build step')
    .option('--provider <name>', 'anthropic, openai, google, ollama, openai-compatible or scripted')
    .option('--model <ref>', 'the model: provider/model, scripted:FILE, or a name with --provider')
    .option('--name <name>', "the agent's name (default: from the folder)")
    .option('-y, --yes', 'ask nothing')
    .option('--json', 'print what was created as JSON')
    .addHelpText('after', EXAMPLES)
    .action(context.run((dir: string, options: InitOptions) => init(dir, options, context)));
};

async function init(dir: string, options: InitOptions, { io }: CommandContext): Promise<ExitCode> {
  const { askModel, foundModel, givenModel } = await import('../init/choose-model.ts');
  const { ownDependency } = await import('../init/write-project.ts');
  const { PROJECT_KINDS, projectFiles } = await import('../init/project-files.ts');
  const { isProjectName, nameOfFolder } = await import('../init/write-project.ts');
  const { emptyFolder, writeProject } = await import('../init/write-project.ts');
  const { manifestJsonSchema } = await import('../../manifest/check-manifest.ts');
  if (options.name !== undefined && !isProjectName(options.name))
    throw usage(
      `--name '${options.name}' cannot be used.`,
      'Start with a letter and use only letters, digits, _ and -.',
    );
  const given = givenModel(options, io.env);
  const folder = await emptyFolder(dir, io);
  const asks = io.stdin.isTerminal && io.stdout.isTerminal && options.yes !== true && options.json !== true;
  const terminal = { input: process.stdin, output: process.stdout };
  const model = given ?? (asks ? await askModel(io, terminal) : foundModel(io.env));
  if (model === undefined) return EXIT.interrupted;

  const choice = {
    ...model,
    name: options.name ?? nameOfFolder(folder),
    yaml: options.yaml === true,
    dependency: ownDependency(packageFolder(), packageVersion()),
    schemas: Object.fromEntries(
      PROJECT_KINDS.map((kind) => [kind, `${JSON.stringify(manifestJsonSchema(kind))}\n`]),
    ),
  };
  const files = projectFiles(choice);
  await writeProject(folder, files, io.signal);

  const next = nextCommands(folder === io.cwd ? undefined : dir, model);
  const { name, yaml, dependency } = choice;
  if (options.json === true) {
    const { provider, model: ref } = model;
    const paths = files.map(({ path }) => path);
    await io.stdout.write(
      jsonText({ folder, name, provider, model: ref, yaml, telltale: dependency, files: paths, next }, 2),
    );
    return EXIT.ok;
  }
  const { bold, dim, green } = paletteFor(io.stdout);
  const lines = [
    `${green('✓')} Created ${bold(name)} in ${folder}`,
    ...files.map(({ path }) => dim(`  ${path}`)),
    '',
    modelLine(model, given !== undefined || asks),
    '',
    'Next:',
    ...next.map((line) => `  ${line}`),
  ];
  await io.stdout.write(`${lines.join('\n')}\n`);
  return EXIT.ok;
}

/** Three commands that work as printed. Without a key, a chat does not. */
function nextCommands(dir: string | undefined, model: ChosenModel): readonly string[] {
  const canChat = model.keyVariable === undefined || model.hasKey;
  const enter = dir === undefined ? [] : [`cd ${shellWord(dir)}`];
  const commands = [...enter, 'npm install', ...(canChat ? ['npm run chat'] : []), 'npm test'];
  return commands.slice(0, 3);
}

function modelLine({ provider, model, keyVariable, hasKey, key }: ChosenModel, wasChosen: boolean): string {
  if (provider === 'scripted')
    return wasChosen
      ? 'A script stands in for the model. Choose a model in agent.yml when you have a key.'
      : "No provider's key is set, so a script stands in for the model. Choose a model in agent.yml when you have a key.";
  if (keyVariable === undefined) return `The model is ${model}.`;
  if (key !== undefined) return `The model is ${model}. Its key is in .env, which git ignores.`;
  return hasKey
    ? `The model is ${model}: ${keyVariable} is set.`
    : `The model is ${model}. Before you chat, copy .env.example to .env and put ${keyVariable} into it.`;
}
