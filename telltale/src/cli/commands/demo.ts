import type { CommandContext, RegisterCommand } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { addModeOptions, type ModeOptions, runMode } from '../run/run-mode.ts';
import { usage } from '../usage.ts';

interface Options extends ModeOptions {
  readonly dir?: string;
  readonly rate?: string;
}

export const registerDemo: RegisterCommand = (program, context) => {
  addModeOptions(program.command('demo'))
    .summary('watch an agent change a small project; needs no key')
    .description(
      'Runs a coding agent on a small project in a folder of its own: real files, real commands, a scripted model. At the pace of a quick model on a terminal, at once in a pipe.',
    )
    .option('--dir <folder>', 'where to lay the project out: new or empty (default: a temporary folder)')
    .option('--rate <n>', 'tokens a second of the model, on a terminal or not')
    .action(context.run((options: Options) => demo(options, context)));
};

async function demo(options: Options, context: CommandContext): Promise<ExitCode> {
  const mode = runMode(options, context.io);
  const rate = options.rate === undefined ? undefined : tokensPerSecond(options.rate);
  const { runDemo } = await import('../demo/run-demo.ts');
  return runDemo({ mode, rate, dir: options.dir }, context);
}

function tokensPerSecond(text: string): number {
  const rate = Number(text);
  if (rate > 0 && Number.isFinite(rate)) return rate;
  throw usage(`--rate '${text}' is no number above 0.`, 'Write --rate 40 for 40 tokens a second.');
}
