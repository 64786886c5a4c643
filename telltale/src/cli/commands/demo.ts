import type { CommandContext, ExitCode, RegisterCommand } from '../command.ts';
import { usage } from '../options.ts';
import { addModeOptions, type ModeOptions, runMode } from '../run/run-mode.ts';

interface Options extends ModeOptions {
  readonly dir?: string;
  readonly rate?: string;
}

export const registerDemo: RegisterCommand = (program, context) => {
  addModeOptions(program.command('demo'))
    .summary('watch an agent change a small project; needs no key')
    .description(
      'Runs a coding agent on a small project in a new folder. The files and commands are real; the model is scripted, so no key is needed. On a terminal it speaks at the pace of a fast model, in a pipe all at once.',
    )
    .option('--dir <folder>', "the project's folder: new or empty (default: a temporary folder)")
    .option('--rate <n>', 'how many tokens per second the model speaks')
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
  throw usage(`--rate '${text}' is not a number above 0.`, 'Write --rate 40 for 40 tokens a second.');
}
