import { leadRun } from '../../session/guide/lead-run.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { storeFlag } from '../session/store-location.ts';
import { streamToResume } from '../session/stream-to-resume.ts';
import { withStoredSessions } from '../session/with-runtime.ts';
import { signerFor } from '../signer.ts';
import { harmlessLine } from '../view/harmless.ts';
import { jsonText } from '../view/json-line.ts';
import { findToAnswer } from './find-review.ts';

export interface AnswerOptions {
  readonly store?: string;
  readonly json?: true;
  readonly note?: string;
  readonly by?: string;
  /** Which of the options that a workflow's step gives. */
  readonly choice?: string;
  /** With approval: for the rest of the session. */
  readonly always?: true;
}

/** What is said: yes, no, or words. */
export type Word = { readonly approved: boolean } | { readonly text: string | undefined };

/** `telltale reviews approve|reject|answer`. */
export async function answer(
  asked: string,
  word: Word,
  options: AnswerOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { stdout, program } = context.io;
  const by = signerFor(options.by);
  return withStoredSessions(context, options, async (sessions) => {
    const id = await findToAnswer(sessions, asked);
    const said = 'approved' in word ? word : word.text === undefined ? {} : { text: word.text };
    const answered = await sessions.answer(id, {
      ...said,
      by,
      ...(options.choice === undefined ? {} : { choice: options.choice }),
      ...(options.note === undefined ? {} : { note: options.note }),
      ...(options.always === undefined ? {} : { always: options.always }),
    });
    const { review, answer: came, choice, outcome, pid } = answered;
    const { session, kind } = review;
    const info = await sessions.store.info(session);
    const resume =
      info === undefined
        ? `${program} resume ${session}`
        : await streamToResume(sessions.store, info, context.io);
    const json = { review: id, kind, session, answer: came, choice: choice ?? null, by, outcome };
    const scope = options.always === true ? ' for this session' : '';
    const became = choice === undefined ? `${came}${scope}` : `answered: ${harmlessLine(choice)}`;
    // What leads a session goes on with that, which no process stays with.
    const isLead = info?.parent !== undefined && info.stream === leadRun(info.parent);
    const stays =
      info?.kind === 'run' && !isLead
        ? 'a process that waits for it (--wait) continues by itself. Otherwise:'
        : 'continue with:';
    const text =
      pid === undefined
        ? `${id} is ${became}. No process works on ${session} now; ${stays}\n  ${resume}${storeFlag(options.store)}\n`
        : outcome === 'resolved'
          ? `${id} is ${became}: process ${pid} continues ${session}.\n`
          : `Delivered to process ${pid}, which works on ${session}: ${id} will be ${became}.\n`;
    await stdout.write(options.json === true ? jsonText({ ...json, pid: pid ?? null }, 2) : text);
    return EXIT.ok;
  });
}
