import { invisibleWarning, textsIn } from '../../kernel/visible-text.ts';
import type { Answer, Approve } from '../../targets/target.ts';
import { paletteFor } from '../colour.ts';
import type { Io } from '../io.ts';
import { coverageLines } from '../review/review-lines.ts';
import { signer } from '../signer.ts';
import { spelledOut } from '../view/harmless.ts';
import type { RunView } from './run-view.ts';

/** What is longer cannot be judged by reading it. */
export const MAX_SHOWN = 16 * 1024;
/** Nobody reads and answers a question within this time: the line was typed before, for something else. */
export const TYPED_AHEAD_MS = 150;

/**
 * Asks on the terminal, one question at a time, with everything that would be done spelt out. Undefined where there is
 * no terminal to ask on: the review then waits for `telltale reviews`.
 */
export function askPerson(io: Io, view: Pick<RunView, 'aside'>): Approve | undefined {
  if (!io.stdin.isTerminal || !io.stderr.isTerminal) return undefined;
  let last: Promise<unknown> = Promise.resolve();
  return (question) => {
    const answer = last.then(() => view.aside(() => ask(question, io)));
    last = answer.catch(() => undefined);
    return answer;
  };
}

async function ask(question: Parameters<Approve>[0], { stdin, stderr }: Io): Promise<Answer> {
  const { what, target, input, changed = [], always, signal } = question;
  const by = signer();
  const no = { approved: false, by };
  if (signal.aborted) return no;
  const { bold, dim, red, yellow } = paletteFor(stderr);
  const told = spelledOut(what);
  const given = spelledOut(JSON.stringify(input, null, 2));
  const covered = coverageLines(question);
  const warning = invisibleWarning(what, target, ...textsIn(input), ...covered, always ?? '');
  if (told.length + given.length + covered.join('\n').length > MAX_SHOWN) {
    await stderr.write(
      `${red('refused')}: ${spelledOut(target)} is too long to show here (${what.length + given.length} characters).\n`,
    );
    return { ...no, note: 'it is too long to be checked by a person' };
  }
  const lines = [
    `${yellow('?')} ${bold(spelledOut(target))} asks for permission:`,
    ...indented(told),
    ...(changed.length === 0
      ? []
      : [
          yellow('    This was asked before, and has changed:'),
          ...changed.flatMap((each) => indented(`- ${spelledOut(each)}`)),
        ]),
    ...indented(given).map(dim),
    ...(warning === undefined ? [] : [yellow(`    warning: ${warning}`)]),
    ...covered.flatMap(indented),
    ...(always === undefined
      ? []
      : indented(`"always" also allows, for this session: ${spelledOut(always)}`)),
  ];
  const answers = always === undefined ? '[y/N]' : '[y]es / [N]o / [a]lways for this session';
  await stderr.write(`${lines.join('\n')}\n  Allow it? ${answers} `);
  const answer = await stdin.readLine(signal, TYPED_AHEAD_MS);
  if (answer === undefined) {
    await stderr.write('\n');
    return no;
  }
  if (always !== undefined && /^\s*a(lways)?\s*$/i.test(answer)) return { approved: true, always: true, by };
  return { approved: /^\s*y(es)?\s*$/i.test(answer), by };
}

export const indented = (text: string): readonly string[] => text.split('\n').map((line) => `    ${line}`);
