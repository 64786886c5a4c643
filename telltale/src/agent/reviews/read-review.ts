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

/** Everything known about a review, open or closed, from its log. */
export interface ReviewDetails extends OpenReview, Covered {
  readonly status: 'open' | ReviewAnswer;
  /** The exact parameters of the call. */
  readonly input?: JsonObject;
  /** What an approval grants. */
  readonly grants?: readonly string[];
  /** The hash of the code that runs. */
  readonly definition?: string;
  /** The review that it replaces, and what has changed. */
  readonly replaces?: ReplacedReview;
  /** What led to an escalation: the agent's claims, where it was stuck, and the verdicts. */
  readonly work?: Pick<GuidedState, 'claims' | 'stuck' | 'verdicts'>;
  /** The actions of a plan. */
  readonly plan?: readonly PlannedAction[];
  readonly decision?: {
    readonly answer: ReviewAnswer;
    readonly choice?: string;
    readonly by: string;
    readonly at: number;
    readonly note?: string;
    /** Approved for the rest of the session. */
    readonly always?: true;
    /** The session-wide approval that the answer follows from. */
    readonly standing?: string;
  };
  /** Set if the approval no longer counts: since when, and what has changed. */
  readonly voided?: { readonly at: number; readonly changed: readonly string[] };
}

/** Reads a review with all of its details. Throws `review_unknown`. */
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
  const state = await readRun(store, run, asked.seq); // the state when the question was asked
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

/** A person's answer to a review, given as `approved`, `choice` or `text`. */
export interface ReviewReply {
  readonly approved?: boolean;
  /** Approves for the rest of the session, if the review offers that. */
  readonly always?: boolean;
  /** One of the options, or `approve` or `reject` if there are none. */
  readonly choice?: string;
  /** The text of an option, an instruction for another try (escalations), or a note. */
  readonly text?: string;
  /** Who decides. The default is `api`. */
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
/** Options that accept disputed work. */
const YES: ReadonlySet<string> = new Set(['approve', 'pass', 'accept']);
/** The option that free text selects on an escalation. */
const RETRY = 'retry';

/** Interprets a reply. Throws `bad_option` if it does not answer this review. */
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
  // An `approval` step may define any options, which fit either answer.
  const isPlain = review.kind !== 'approval' || YES_OR_NO.includes(named);
  if (approved !== undefined && isPlain && approved !== (means === 'approved'))
    throw contradiction(id, approved, named);
  const answer = approved === undefined ? means : approved ? 'approved' : 'rejected';
  return { answer, ...(own === undefined ? {} : { choice: named }), ...withNote };
}

/** Only options that mean yes approve. For an `approval` step every option except `reject` does. */
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

/** Without options named `approve` and `reject`, the first option approves and the last one rejects. */
export const choiceFor = (said: 'approved' | 'rejected', options: readonly string[]): string => {
  const named = options.find((option) => option === (said === 'approved' ? 'approve' : 'reject'));
  return named ?? (said === 'approved' ? options[0] : options.at(-1)) ?? said;
};
