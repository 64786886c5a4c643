import { readRun, readRunEvents } from '../../engine/read-run.ts';
import type { Covered } from '../../lib/approved-files.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { EventOf } from '../../log/event.ts';
import type { ReplacedReview, ReviewAnswer } from '../../log/review-event.ts';
import type { OpenReview } from '../../log/reviews.ts';
import type { PlannedAction, RunEventOf } from '../../log/run-event.ts';
import type { GuidedState } from '../../log/run-state.ts';
import type { Store } from '../../store/store.ts';
import { readEvents, readSession } from '../read-session.ts';
import {
  closedIn,
  contradiction,
  findReview,
  listReviews,
  needsChoice,
  noAnswer,
  noSuchOption,
  notForSession,
  rejectedForSession,
  reviewUnknown,
  runReview,
  saidTooMuch,
  sessionReview,
  withAbove,
} from './review-table.ts';

/** All that is known of a review, open or not, from the log that it is on. */
export interface ReviewDetails extends OpenReview, Covered {
  readonly status: 'open' | ReviewAnswer;
  /** The parameters that would run, or ran, exactly. */
  readonly input?: JsonObject;
  /** What the approval is for. */
  readonly grants?: readonly string[];
  /** The hash of what runs. */
  readonly definition?: string;
  /** The review in whose place it is asked, and what had changed. */
  readonly replaces?: ReplacedReview;
  /** What led to an escalation: what the agent said, where it was stuck, what the verifier said. */
  readonly work?: Pick<GuidedState, 'claims' | 'stuck' | 'verdicts'>;
  /** What would be executed, of a plan. */
  readonly plan?: readonly PlannedAction[];
  readonly decision?: {
    readonly answer: ReviewAnswer;
    readonly choice?: string;
    readonly by: string;
    readonly at: number;
    readonly note?: string;
    /** Approved for the rest of the session. */
    readonly always?: true;
    /** The review that was approved for the rest of the session, where the answer follows from that. */
    readonly standing?: string;
  };
  /** The approval counts no longer: since when, and what had changed. */
  readonly voided?: { readonly at: number; readonly changed: readonly string[] };
}

/** Reads a review with all there is to know of it. Throws `review_unknown`. */
export async function readReview(store: Store, review: string): Promise<ReviewDetails> {
  const stream = (await findReview(store, review))?.session ?? (await closedIn(store, review));
  const info = stream === undefined ? undefined : await store.info(stream);
  const found =
    info === undefined
      ? undefined
      : await (info.kind === 'run' ? ofRun : ofSession)(store, info.stream, review);
  if (found === undefined)
    throw reviewUnknown(
      review,
      (await listReviews(store)).map((each) => each.review),
    );
  return withAbove(store, found);
}

async function ofSession(store: Store, session: string, id: string): Promise<ReviewDetails | undefined> {
  const events = (await readEvents(store, session)).filter(
    (event) => 'review' in event && event.review === id,
  );
  const asked = events.find((event) => event.type === 'review.requested');
  if (asked?.type !== 'review.requested') return undefined;
  const { input, grants, definition, replaces, files } = asked;
  return {
    ...sessionReview(asked, await readSession(store, session, asked.seq)),
    input,
    grants,
    ...(files === undefined ? {} : { files }),
    ...(definition === undefined ? {} : { definition }),
    ...(replaces === undefined ? {} : { replaces }),
    ...endOf(events),
  };
}

async function ofRun(store: Store, run: string, id: string): Promise<ReviewDetails | undefined> {
  const events = (await readRunEvents(store, run)).filter(
    (event) => 'review' in event && event.review === id,
  );
  const asked = events.find((event) => event.type === 'review.requested');
  if (asked?.type !== 'review.requested') return undefined;
  const state = await readRun(store, run, asked.seq); // as it was when it was asked
  const guided = state.steps.get(asked.step)?.guided;
  const { call, replaces } = asked;
  const plan = asked.kind === 'plan' ? guided?.plans.at(-1)?.plan : undefined;
  return {
    ...runReview(asked, state, asked.at),
    ...(call === undefined ? {} : { input: call.input, grants: call.grants }),
    ...(call?.files === undefined ? {} : { files: call.files }),
    ...(call?.definition === undefined ? {} : { definition: call.definition }),
    ...(replaces === undefined ? {} : { replaces }),
    ...(asked.kind === 'escalation' && guided !== undefined ? { work: workOf(guided) } : {}),
    ...(plan === undefined ? {} : { plan }),
    ...endOf(events),
  };
}

const workOf = ({ claims, stuck, verdicts }: GuidedState): NonNullable<ReviewDetails['work']> => ({
  claims,
  stuck,
  verdicts,
});

type ReviewEnding =
  | EventOf<'review.resolved' | 'review.voided'>
  | RunEventOf<'review.resolved' | 'review.voided'>;

/** The first answer counts. */
function endOf(
  events: readonly { readonly type: string }[],
): Pick<ReviewDetails, 'status' | 'decision' | 'voided'> {
  const endings = events as readonly ReviewEnding[];
  const resolved = endings.find((event) => event.type === 'review.resolved');
  if (resolved?.type !== 'review.resolved') return { status: 'open' };
  const { answer, by, at, note } = resolved;
  const choice = 'choice' in resolved ? resolved.choice : undefined;
  const voided = endings.find((event) => event.type === 'review.voided');
  return {
    status: answer,
    decision: {
      answer,
      ...(choice === undefined || choice === '' ? {} : { choice }),
      by,
      at,
      ...(note === undefined ? {} : { note }),
      ...('always' in resolved && resolved.always === true ? { always: true as const } : {}),
      ...('standing' in resolved && resolved.standing !== undefined ? { standing: resolved.standing } : {}),
    },
    ...(voided?.type === 'review.voided' ? { voided: { at: voided.at, changed: voided.changed } } : {}),
  };
}

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

/** Approval is the first of the options, refusal the last, where none of them is called so. */
export const choiceFor = (said: 'approved' | 'rejected', options: readonly string[]): string => {
  const named = options.find((option) => option === (said === 'approved' ? 'approve' : 'reject'));
  return named ?? (said === 'approved' ? options[0] : options.at(-1)) ?? said;
};
