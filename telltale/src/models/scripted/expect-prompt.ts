import { RuntimeError } from '../../kernel/runtime-error.ts';
import { printable, quoted } from '../../manifest/printable.ts';
import type { ModelMessage } from '../model.ts';
import type { Expectation, ScriptTurn } from './script.ts';

const MAX_HEAD = 240;
const MAX_TAIL = 160;
const AROUND = 60;

/** What a turn expects of the prompt and does not find in the last message of the user, or undefined. Pure. */
export function expectPrompt(
  expected: readonly Expectation[],
  messages: readonly ModelMessage[],
  turnName: string,
): RuntimeError | undefined {
  const message = lastOfUser(messages);
  for (const expectation of expected) {
    if ('contains' in expectation) {
      if (message === undefined || !message.includes(expectation.contains))
        return lacks(turnName, expectation.contains, message);
      continue;
    }
    const at = message?.indexOf(expectation.notContains) ?? -1;
    if (message !== undefined && at !== -1) return holds(turnName, expectation.notContains, message, at);
  }
  return undefined;
}

/** What the user said since the model last spoke: a request that broke off before its first word leaves two messages. */
function lastOfUser(messages: readonly ModelMessage[]): string | undefined {
  const last = messages.findLastIndex(({ role }) => role === 'user');
  if (last === -1) return undefined;
  let first = last;
  while (messages[first - 1]?.role === 'user') first--;
  return messages
    .slice(first, last + 1)
    .map(({ text }) => text)
    .join('\n\n');
}

/** `turn 3 (x.yml:12)`. */
export const nameOfTurn = (number: number, { place }: ScriptTurn, id: string): string =>
  `turn ${number} (${place ?? id})`;

const HINT =
  'Correct the script where the prompt is as it should be; else something changed what the model is told.';

const lacks = (turn: string, expected: string, message: string | undefined) =>
  new RuntimeError(
    'script_expectation',
    message === undefined
      ? `The script's ${turn} expects ${quoted(expected)} in a message of the user, and there is none.`
      : `The script's ${turn} expects ${quoted(expected)} in the last message of the user, which is: ${clipped(message)}`,
    { hint: HINT },
  );

const holds = (turn: string, expected: string, message: string, at: number) =>
  new RuntimeError(
    'script_expectation',
    `The script's ${turn} expects no ${quoted(expected)} in the last message of the user, which has it here: ${around(message, at, expected.length)}`,
    { hint: HINT },
  );

function clipped(text: string): string {
  if (text.length <= MAX_HEAD + MAX_TAIL) return `"${printable(text)}".`;
  const left = text.length - MAX_HEAD - MAX_TAIL;
  return `"${printable(text.slice(0, MAX_HEAD))}", ${left} characters more, "${printable(text.slice(-MAX_TAIL))}".`;
}

function around(text: string, at: number, length: number): string {
  const from = Math.max(0, at - AROUND);
  const to = Math.min(text.length, at + Math.min(length, AROUND) + AROUND);
  return `"${from > 0 ? '…' : ''}${printable(text.slice(from, to))}${to < text.length ? '…' : ''}".`;
}
