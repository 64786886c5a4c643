import type { OpenReview } from '../../events/open-review.ts';
import { choiceFor } from './choice-for.ts';
import {
  contradiction,
  needsChoice,
  noAnswer,
  noSuchOption,
  notForSession,
  rejectedForSession,
  saidTooMuch,
} from './review-errors.ts';

/** A person's word on a review: `approved`, `choice` or `text` says it. */
export interface ReviewReply {
  readonly approved?: boolean;
  /** With approval: for the rest of the session, where the review offers that. */
  readonly always?: boolean;
  /** Which of the options; `approve` or `reject` where there are no others. */
  readonly choice?: string;
  /** One of the options in so many words; on an escalation, what the agent is told to try again with; else a note. */
  readonly text?: string;
  /** Who decides; `api` without it. */
  readonly by?: string;
  readonly note?: string;
}

export interface ReadReply {
  readonly answer: 'approved' | 'rejected';
  readonly choice?: string;
  readonly note?: string;
  readonly always?: true;
}

const MAX_NOTE = 20_000;
const MAX_BY = 200;
export const YES_OR_NO: readonly string[] = ['approve', 'reject'];
/** What lets work that is disputed pass. */
const YES: ReadonlySet<string> = new Set(['approve', 'pass', 'accept']);
/** What text stands for where a person has to settle something. */
const RETRY = 'retry';

/** What a reply comes to. Throws `bad_option` where it is no answer to this review. */
export function readReply(
  review: Pick<OpenReview, 'review' | 'kind' | 'options' | 'always'>,
  reply: ReviewReply,
): ReadReply {
  const read = readWord(review, reply);
  if (reply.always !== true) return read;
  if (review.always === undefined) throw notForSession(review.review);
  if (read.answer !== 'approved') throw rejectedForSession(review.review);
  return { ...read, always: true };
}

function readWord(review: Pick<OpenReview, 'review' | 'kind' | 'options'>, reply: ReviewReply): ReadReply {
  const { review: id, options: own } = review;
  const options = own ?? YES_OR_NO;
  const { approved, text } = reply;
  bounded(id, 'What is said', reply.note ?? text ?? '', MAX_NOTE);
  bounded(id, 'The name of who decides', reply.by ?? '', MAX_BY);
  const said = text?.trim();
  const named =
    reply.choice ?? (approved === undefined ? options.find((option) => option === said) : undefined);
  const isRetry =
    named === undefined && approved === undefined && review.kind === 'escalation' && options.includes(RETRY);
  const note = reply.note ?? (named !== undefined && named === said ? undefined : text);
  const withNote = note === undefined || note.trim() === '' ? {} : { note };
  if (isRetry && said !== undefined && said !== '') return { answer: 'rejected', choice: RETRY, ...withNote };
  if (named === undefined) {
    if (approved === true && review.kind === 'escalation') {
      const yes = options.find((option) => YES.has(option));
      if (yes === undefined) throw needsChoice(id, options);
      return { answer: 'approved', choice: yes, ...withNote };
    }
    if (approved !== undefined) return { answer: approved ? 'approved' : 'rejected', ...withNote };
    throw said === undefined || said === '' ? noAnswer(id, options) : needsChoice(id, options);
  }
  if (!options.includes(named)) throw noSuchOption(id, named, options);
  const means = meaningOf(review.kind, named, options);
  // The own answers of an `approval` step may be given either way.
  const isPlain = review.kind !== 'approval' || YES_OR_NO.includes(named);
  if (approved !== undefined && isPlain && approved !== (means === 'approved'))
    throw contradiction(id, approved, named);
  const answer = approved === undefined ? means : approved ? 'approved' : 'rejected';
  return { answer, ...(own === undefined ? {} : { choice: named }), ...withNote };
}

/** Only what says yes is approval; of the answers of an `approval` step, all but `reject` are. */
function meaningOf(
  kind: OpenReview['kind'],
  choice: string,
  options: readonly string[],
): ReadReply['answer'] {
  if (kind === 'approval') return choice === 'reject' ? 'rejected' : 'approved';
  const isYes = kind === 'escalation' ? YES.has(choice) : choice === choiceFor('approved', options);
  return isYes ? 'approved' : 'rejected';
}

function bounded(review: string, what: string, text: string, most: number): void {
  if (text.length > most) throw saidTooMuch(review, what, text.length, most);
}
