import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Io } from '../io.ts';
import { readText } from '../parse/read-text.ts';
import { startProgress } from '../progress.ts';
import { usage } from '../usage.ts';

/** What fits into no model's context anyway. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

/**
 * What the agent is asked to do: the argument, or standard input if that is `-` or missing and something is piped in.
 * `remedy`: how to say it, where nothing is said.
 */
export async function readInput(argument: string | undefined, io: Io, remedy: string): Promise<string> {
  if (argument !== undefined && argument !== '-') {
    if (argument.trim() === '') throw usage('The input is empty.', remedy);
    return argument;
  }
  if (argument === undefined && io.stdin.isTerminal) throw usage('Tell the agent what to do.', remedy);
  if (io.stdin.isTerminal) await io.stderr.write('Reading from the terminal; end with Ctrl-D.\n');
  const stopProgress = io.stdin.isTerminal
    ? async () => {}
    : startProgress(io, () => 'Reading standard input…');
  try {
    let text = '';
    for await (const piece of readText('-', io)) {
      text += piece;
      if (text.length > MAX_CHARACTERS) throw inputTooLong();
    }
    if (text.trim() === '') throw usage('Standard input is empty.', remedy);
    return text.replace(/\r?\n$/, '');
  } finally {
    await stopProgress();
  }
}

const inputTooLong = () =>
  new RuntimeError(
    'file_too_large',
    `Standard input is longer than ${MAX_CHARACTERS.toLocaleString('en')} characters.`,
    { hint: 'Put it into a file that the agent can read with a tool.' },
  );
