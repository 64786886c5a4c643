import { RuntimeError } from '../../lib/errors.ts';
import { printable, quoted } from '../../manifest/diagnostic.ts';
import type { ModelMessage } from '../model.ts';
import type { Expectation, ScriptTurn } from './script.ts';

const MAX_HEAD = 240;
const MAX_TAIL = 160;
const AROUND = 60;

/** Checks what a turn expects of the latest messages. Returns the unmet expectation, or undefined. Pure. */
export function expectPrompt(
  expected: readonly Expectation[],
  messages: readonly ModelMessage[],
  turnName: string,
): RuntimeError | undefined {
  const told = toldLast(messages);
  for (const expectation of expected) {
    if ('contains' in expectation) {
      if (told === undefined || !told.text.includes(expectation.contains))
        return lacks(turnName, expectation.contains, told);
      continue;
    }
    const at = told?.text.indexOf(expectation.notContains) ?? -1;
    if (told !== undefined && at !== -1) return holds(turnName, expectation.notContains, told, at);
  }
  return undefined;
}

interface ExpectPromptTold {
  readonly text: string;
  /** The name of that text in errors. */
  readonly where: string;
}

/**
 * Everything since the model's last output: tool results, and user messages. A request that broke off before any output
 * leaves two user messages.
 */
function toldLast(messages: readonly ModelMessage[]): ExpectPromptTold | undefined {
  const last = messages.findLastIndex(({ role }) => role !== 'assistant');
  if (last === -1) return undefined;
  const first = messages.findLastIndex(({ role }, index) => role === 'assistant' && index < last) + 1;
  const told = messages.slice(first, last + 1);
  return {
    text: told.map(({ text }) => text).join('\n\n'),
    where: told.some(({ role }) => role === 'tool')
      ? 'what the model was told since it last spoke'
      : 'the last message of the user',
  };
}

/** `turn 3 (x.yml:12)`. */
export const nameOfTurn = (number: number, { place }: ScriptTurn, id: string): string =>
  `turn ${number} (${place ?? id})`;

const HINT = 'If the prompt is right, correct the script. If not, something changed what the model is told.';

const lacks = (turn: string, expected: string, told: ExpectPromptTold | undefined) =>
  new RuntimeError(
    'script_expectation',
    told === undefined
      ? `The script's ${turn} expects ${quoted(expected)} in a user message, but there is none.`
      : `The script's ${turn} expects ${quoted(expected)} in ${told.where}, which is: ${clipped(told.text)}`,
    { hint: HINT },
  );

const holds = (turn: string, expected: string, told: ExpectPromptTold, at: number) =>
  new RuntimeError(
    'script_expectation',
    `The script's ${turn} expects no ${quoted(expected)} in ${told.where}, which has it here: ${around(told.text, at, expected.length)}`,
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
