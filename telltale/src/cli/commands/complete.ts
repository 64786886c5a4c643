import type { Command, Option } from 'commander';
import type { CommandContext, RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import type { KnownCommand, KnownOption } from '../completion/complete.ts';
import { harmlessLine } from '../view/harmless.ts';

/** The scripts of `telltale completion` call it. It is not in the help because people don't. */
export const registerComplete: RegisterCommand = (program, context) => {
  program
    .command('__complete', { hidden: true })
    .argument('<index>')
    .argument('[words...]')
    .allowUnknownOption()
    .helpOption(false)
    .action(
      context.run((index: string, words: readonly string[]) =>
        printCandidates(Number(index), words, program, context),
      ),
    );
};

async function printCandidates(
  index: number,
  words: readonly string[],
  program: Command,
  context: CommandContext,
): Promise<ExitCode> {
  const { complete } = await import('../completion/complete.ts');
  const known = program.commands.filter((command) => !command.name().startsWith('_')).map(knownCommand);
  const current = (words[index] ?? '').replace(/^["']/, '').replace(/^=$/, '');
  const candidates = await complete(words.slice(1, index), current, known, context);
  const lines = candidates.map(({ text, description }) =>
    description === undefined ? `${text}\n` : `${text}\t${harmlessLine(description)}\n`,
  );
  await context.io.stdout.write(lines.join(''));
  return EXIT.ok;
}

const knownCommand = (command: Command): KnownCommand => ({
  name: command.name(),
  summary: command.summary() || command.description(),
  options: command.options.map(knownOption),
  arguments: command.registeredArguments.map((argument) => ({
    name: argument.name(),
    isVariadic: argument.variadic,
  })),
  commands: command.commands.map(knownCommand),
});

const knownOption = ({ short, long, description, required, optional, argChoices }: Option): KnownOption => ({
  flags: [short, long].filter((flag) => flag !== undefined && flag !== null),
  description,
  takesValue: required || optional,
  choices: argChoices ?? [],
});
