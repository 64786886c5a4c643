import { type ReviewReply, readReply, YES_OR_NO } from '../../agent/reviews/read-review.ts';
import type { AskRun, RunQuestion } from '../../agent/runs/run-questions.ts';
import { identityText } from '../../lib/ids.ts';
import type { JsonObject } from '../../lib/json.ts';
import { invisibleWarning, textsIn } from '../../lib/text.ts';
import type { Answer, Approve } from '../../tools/target.ts';
import { type Io, paletteFor } from '../io.ts';
import { signer } from '../program.ts';
import { coverageLines } from '../review/review-lines.ts';
import { asTyped } from '../session/store-options.ts';
import { timeText } from '../view/figures.ts';
import { spelledOut } from '../view/harmless.ts';
import { sentences } from '../view/text-width.ts';
import type { RunView } from './run-view.ts';

/** Whether there is a terminal on which a person can be asked. */
export const asksPerson = ({ stdin, stderr }: Pick<Io, 'stdin' | 'stderr'>): boolean =>
  stdin.isTerminal && stderr.isTerminal;

/**
 * Asks the questions of workflow runs on the terminal, one at a time. Undefined without a terminal. A question that is
 * put off stays in the inbox, and the run waits for it.
 */
export function askRuns(
  io: Io,
  view: Pick<RunView, 'aside'>,
  storeFlag: string | undefined,
): AskRun | undefined {
  if (!asksPerson(io)) return undefined;
  return (question) => view.aside(() => ask(question, io, storeFlag));
}

async function ask(
  question: RunQuestion,
  io: Io,
  storeFlag: string | undefined,
): Promise<ReviewReply | undefined> {
  const { stdin, stderr } = io;
  const { signal } = question;
  if (signal.aborted) return undefined;
  const { dim, red } = paletteFor(stderr);
  const lines = questionLines(question, stderr);
  if (lines.join('\n').length > MAX_SHOWN) {
    const how = asTyped(`telltale reviews show ${question.review}`, io, storeFlag);
    await stderr.write(`${spelledOut(question.action)} is too long to show here. See: ${how}\n`);
    return undefined;
  }
  await stderr.write(`${lines.join('\n')}\n`);
  for (;;) {
    await stderr.write(`  ${answersOf(question)} ${dim('(Enter: later)')}: `);
    const line = await stdin.readLine(signal, TYPED_AHEAD_MS);
    if (line === undefined) await stderr.write('\n');
    if (line === undefined || line.trim() === '') return undefined;
    try {
      const reply = { ...replyOf(line.trim(), question), by: signer() };
      readReply(question, reply);
      return reply;
    } catch (thrown) {
      await stderr.write(`  ${red(thrown instanceof Error ? thrown.message : String(thrown))}\n`);
    }
  }
}

function questionLines(question: RunQuestion, stderr: Io['stderr']): readonly string[] {
  const { workflow = '', action, target, what, kind, input, changed = [], assignee, due } = question;
  const { bold, dim, yellow } = paletteFor(stderr);
  const covered = coverageLines(question);
  const options = question.options ?? YES_OR_NO;
  const warning = invisibleWarning(what, target, action, ...textsIn(input), ...options, ...covered);
  const isCall = input !== undefined && kind !== 'plan';
  const about = [
    ...(assignee === undefined ? [] : [`for ${spelledOut(identityText(assignee))}`]),
    ...(due === undefined ? [] : [`until ${timeText(due)}`]),
  ].join(', ');
  const who = `workflow ${bold(spelledOut(workflow))}, step ${bold(spelledOut(action))}`;
  return [
    `${yellow('?')} ${who} asks${isCall ? ` to call ${spelledOut(target)}` : ''}${about === '' ? '' : ` (${about})`}:`,
    ...indented(spelledOut(what)),
    ...(changed.length === 0
      ? []
      : [
          yellow('    This was asked before, and has changed:'),
          ...changed.flatMap((each) => indented(`- ${spelledOut(each)}`)),
        ]),
    ...(isCall ? indented(spelledOut(JSON.stringify(input, null, 2))).map(dim) : []),
    ...(warning === undefined ? [] : [yellow(`    warning: ${warning}`)]),
    ...covered.flatMap(indented),
  ];
}

const isYesOrNo = ({ options = YES_OR_NO }: RunQuestion): boolean =>
  options.length === YES_OR_NO.length && YES_OR_NO.every((option) => options.includes(option));

/** The possible answers. */
function answersOf(question: RunQuestion): string {
  const { kind, options = YES_OR_NO } = question;
  if (isYesOrNo(question)) return 'Approve it? [y/n, with an optional note]';
  const choices = options.map((option, index) => `${index + 1} ${spelledOut(option)}`).join(', ');
  return kind === 'escalation' && options.includes('retry')
    ? `Choose ${choices}, or write what the agent should do`
    : `Choose ${choices}`;
}

/** `y`, `n too early`, `2`, `ship`, or the instruction for another try. */
function replyOf(line: string, question: RunQuestion): ReviewReply {
  const { options = YES_OR_NO } = question;
  if (isYesOrNo(question)) {
    const [, word = '', note = ''] = /^(\S+?)[,:]?(?:\s+(.*))?$/s.exec(line) ?? [];
    const said = note === '' ? {} : { note };
    if (/^(y(es)?|approve)$/i.test(word)) return { approved: true, ...said };
    if (/^(no?|reject)$/i.test(word)) return { approved: false, ...said };
    return { choice: word };
  }
  const numbered = /^\d+$/.test(line) ? options[Number(line) - 1] : undefined;
  return numbered === undefined ? { text: line } : { choice: numbered };
}

/** Nobody can judge a longer text by reading it. */
const MAX_SHOWN = 16 * 1024;
/** Nobody reads and answers a question this fast: the line was typed earlier, for something else. */
const TYPED_AHEAD_MS = 150;

/**
 * Asks for approvals on the terminal, one at a time, showing everything that would be done. Undefined without a
 * terminal: then the review waits for `telltale reviews`.
 */
export function askPerson(io: Io, view: Pick<RunView, 'aside'>): Approve | undefined {
  if (!asksPerson(io)) return undefined;
  let last: Promise<unknown> = Promise.resolve();
  return (question) => {
    const answer = last.then(() => view.aside(() => askOnTerminal(question, io)));
    last = answer.catch(() => undefined);
    return answer;
  };
}

async function askOnTerminal(question: Parameters<Approve>[0], { stdin, stderr }: Io): Promise<Answer> {
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
    return { ...no, note: 'it is too long for a person to check' };
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
    ...(isOnly(input, what) ? [] : indented(given).map(dim)),
    ...(warning === undefined ? [] : [yellow(`    warning: ${warning}`)]),
    ...covered.flatMap(indented),
    ...(always === undefined
      ? []
      : sentences(
          indented(`"always" allows, until the session ends: ${spelledOut(always)}`),
          stderr.columns,
        )),
  ];
  const answers = always === undefined ? '[y/N]' : '[y]es / [N]o / [a]lways for this session';
  await stderr.write(`${lines.join('\n')}\n`);
  for (;;) {
    await stderr.write(`  Allow it? ${answers} `);
    const answer = await stdin.readLine(signal, TYPED_AHEAD_MS);
    if (answer === undefined) await stderr.write('\n');
    const [, word = '', note = ''] = /^\s*(\S*?)[,:]?(?:\s+(.*?))?\s*$/s.exec(answer ?? '') ?? [];
    if (/^(no?)?$/i.test(word)) return { ...no, ...(note === '' ? {} : { note }) };
    if (note === '' && /^y(es)?$/i.test(word)) return { approved: true, by };
    if (note === '' && always !== undefined && /^a(lways)?$/i.test(word))
      return { approved: true, always: true, by };
    const known = always === undefined ? 'y or n' : 'y, n or a';
    await stderr.write(`  ${dim(`Type ${known}. To tell the agent why not, type n and the reason.`)}\n`);
  }
}

/** Whether a call has no other parameter than the text that is shown already. */
const isOnly = (input: JsonObject, what: string): boolean => {
  const values = Object.values(input);
  return values.length === 0 || (values.length === 1 && values[0] === what);
};

const indented = (text: string): readonly string[] => text.split('\n').map((line) => `    ${line}`);

/** Gives the terminal to one question at a time. */
export interface Asides extends Pick<RunView, 'aside'> {
  /** Whether a question is being asked. */
  isAsking(): boolean;
  /** Resolves when no question is being asked. */
  idle(): Promise<void>;
}

export function oneAtATime(aside: RunView['aside']): Asides {
  let last: Promise<unknown> = Promise.resolve();
  let asking = 0;
  return {
    aside(ask, kind) {
      asking++;
      const done = last.then(() => aside(ask, kind)).finally(() => asking--);
      last = done.catch(() => undefined);
      return done;
    },
    isAsking: () => asking > 0,
    async idle() {
      while (asking > 0) await last;
    },
  };
}
