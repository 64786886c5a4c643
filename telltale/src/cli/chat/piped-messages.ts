import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Io } from '../io.ts';
import { readText } from '../parse/read-text.ts';

/** What fits into no model's context anyway. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

/** What is piped in, a line a message; empty lines say nothing. */
export async function* pipedMessages(io: Io): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of readText('-', io)) {
    const lines = (rest + piece).split(/\r?\n/);
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') yield line;
    if (rest.length > MAX_CHARACTERS) throw lineTooLong();
  }
  if (rest.trim() !== '') yield rest;
}

const lineTooLong = () =>
  new RuntimeError(
    'file_too_large',
    `A line of standard input is longer than ${MAX_CHARACTERS.toLocaleString('en')} characters.`,
    { hint: 'A line is a message. Put long texts into a file that the agent can read with a tool.' },
  );
