import { RuntimeError } from '../../lib/errors.ts';
import { identityText } from '../../lib/ids.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import type { ReviewAnswer } from '../../log/review-event.ts';
import type { OpenReview } from '../../log/reviews.ts';
import { kindOfRequest, type ReviewKind } from '../../log/reviews.ts';
import type { ApprovalRequest } from '../../log/run-event.ts';
import type { RunState } from '../../log/run-state.ts';
import type { Review, SessionState } from '../../log/state.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { APPROVAL_VOID } from '../../scheduler/scheduler-deps.ts';
import type { Store, TableWrite } from '../../store/store.ts';

/**
 * Open reviews. Rows are written in the transaction of the events, so that no log has to be folded to list
 * them.
 */
const OPEN = 'reviews';
/** Maps closed reviews to the logs that they are on. */
const CLOSED = 'reviews.closed';

const MAX_WHAT = 2_000;

const MAX_PARAMETERS = 500;

const parametersOf = (input: JsonObject): string => clip(JSON.stringify(input), MAX_PARAMETERS);

const rowOf = ({ review, ...row }: OpenReview): TableWrite => ({
  table: OPEN,
  key: review,
  value: { ...row, what: clip(row.what, MAX_WHAT) } as unknown as Json, // an OpenReview is plain data
});

export const sessionReview = (
  { review, action, target, what, because, input, at, uncovered, always }: Omit<Review, 'grants'>,
  { id, agent, parent }: Pick<SessionState, 'id' | 'agent' | 'parent'>,
): OpenReview => ({
  review,
  kind: 'permission',
  of: 'session',
  session: id,
  agent,
  ...(parent === undefined ? {} : { parent: parent.session }),
  action,
  target,
  what,
  parameters: parametersOf(input),
  because,
  at,
  ...(always === undefined ? {} : { always: always.covers }),
  ...(uncovered === undefined ? {} : { uncovered }),
});

export const runReview = (
  request: ApprovalRequest,
  { id, workflow, manifest, origin }: Pick<RunState, 'id' | 'workflow' | 'manifest' | 'origin'>,
  at: number,
): OpenReview => {
  const { review, step, prompt, call, options, assignee, due } = request;
  const parent = origin.parent?.run ?? origin.session?.id;
  return {
    review,
    kind: kindOfRequest(request),
    of: 'run',
    session: id,
    agent: manifest.agent,
    workflow,
    ...(parent === undefined ? {} : { parent }),
    action: step,
    target: call?.target ?? `workflow "${workflow}"`,
    what: prompt,
    ...(call === undefined ? {} : { parameters: parametersOf(call.input) }),
    because: call?.because ?? BECAUSE[kindOfRequest(request)](step),
    options,
    ...(assignee === undefined ? {} : { assignee }),
    ...(due === undefined ? {} : { due }),
    at,
    ...(call?.uncovered === undefined ? {} : { uncovered: call.uncovered }),
  };
};

const BECAUSE: Readonly<Record<ReviewKind, (step: string) => string>> = {
  permission: (step) => `the call of the step "${step}" has to be approved`,
  approval: (step) => `the step "${step}" asks a person`,
  confirm: (step) => `the step "${step}" begins once a person confirms it`,
  plan: (step) => `the plan of the step "${step}" has to be approved`,
  escalation: (step) => `the step "${step}" cannot be settled without a person`,
};

export const rowOfSession = (...review: Parameters<typeof sessionReview>): TableWrite =>
  rowOf(sessionReview(...review));

export const rowOfRun = (...review: Parameters<typeof runReview>): TableWrite => rowOf(runReview(...review));

/** Removes a review from the list and remembers its log. */
export const closeRow = (review: string, session: string): readonly TableWrite[] => [
  { table: OPEN, key: review, value: undefined },
  { table: CLOSED, key: review, value: { session } },
];

export interface ReviewFilter {
  readonly kind?: ReviewKind;
  readonly assignee?: string;
  /** A session or run: selects its reviews and those of everything below it. */
  readonly session?: string;
  /** 1,000 by default, which is also the maximum. */
  readonly limit?: number;
}

/** Reviews in a list, and reviews read per page. */
const MAX_LISTED = 1_000;
/** Reviews that are searched for a list. */
const MAX_READ = 100_000;

/** How many ancestors are followed. */
const MAX_ABOVE = 64;

type ReviewTables = Pick<Store, 'tables'>;

/** The open reviews of all sessions in the store, oldest first. */
export async function listReviews(
  store: Pick<Store, 'tables' | 'info'>,
  filter: ReviewFilter = {},
): Promise<readonly OpenReview[]> {
  const { tables } = store;
  const limit = Math.min(filter.limit ?? MAX_LISTED, MAX_LISTED);
  const found: OpenReview[] = [];
  const parents = new Map<string, Promise<string | undefined>>();
  for await (const keys of pages({ tables }, OPEN)) {
    const rows = await Promise.all(
      keys.map(async (key) => {
        const row = readRow(key, await tables.get(OPEN, key));
        // Undefined if it was answered meanwhile.
        return row === undefined || !isMeant(row, filter) ? undefined : withAbove(store, row, parents);
      }),
    );
    for (const row of rows) if (row !== undefined && isBelow(row, filter.session)) found.push(row);
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
}

const isMeant = ({ kind, assignee }: OpenReview, filter: ReviewFilter): boolean =>
  (filter.kind === undefined || filter.kind === kind) &&
  (filter.assignee === undefined || filter.assignee === assignee);

const isBelow = ({ session, above = [] }: OpenReview, stream: string | undefined): boolean =>
  stream === undefined || session === stream || above.includes(stream);

/** A review with its ancestors. `parents` caches them for reviews with the same ancestors. */
export async function withAbove<Known extends OpenReview>(
  store: Pick<Store, 'info'>,
  review: Known,
  parents = new Map<string, Promise<string | undefined>>(),
): Promise<Known> {
  const above: string[] = [];
  const parentOf = (stream: string) => {
    const known = parents.get(stream) ?? store.info(stream).then((info) => info?.parent);
    parents.set(stream, known);
    return known;
  };
  for (
    let parent = review.parent;
    parent !== undefined && above.length < MAX_ABOVE;
    parent = await parentOf(parent)
  )
    above.push(parent);
  return above.length === 0 ? review : { ...review, above };
}

export const findReview = async ({ tables }: ReviewTables, review: string): Promise<OpenReview | undefined> =>
  readRow(review, await tables.get(OPEN, review));

/** Which of these reviews are open. */
export async function openAmong(
  { tables }: ReviewTables,
  reviews: readonly string[],
): Promise<ReadonlySet<string>> {
  const open = new Set<string>();
  for await (const keys of pages({ tables }, OPEN)) for (const key of keys) open.add(key);
  // Most missing reviews have been answered. Some may only be beyond the page limit.
  for (const review of reviews)
    if (!open.has(review) && (await tables.get(OPEN, review)) !== undefined) open.add(review);
  return open;
}

/** The session or run whose log a closed review is on. */
export async function closedIn({ tables }: ReviewTables, review: string): Promise<string | undefined> {
  const found = (await tables.get(CLOSED, review)) as { readonly session: string } | undefined;
  return found?.session;
}

/** The ids of closed reviews that begin or end with `part`, at most `limit`. */
export async function closedLike(
  { tables }: ReviewTables,
  part: string,
  limit: number,
): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const keys of pages({ tables }, CLOSED)) {
    for (const key of keys) if (key.startsWith(part) || key.endsWith(part)) found.push(key);
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
}

async function* pages({ tables }: ReviewTables, table: string): AsyncGenerator<readonly string[], void> {
  let after: string | undefined;
  for (let read = 0; read < MAX_READ; read += MAX_LISTED) {
    const keys = await tables.keys(table, { limit: MAX_LISTED, ...(after === undefined ? {} : { after }) });
    if (keys.length > 0) yield keys;
    if (keys.length < MAX_LISTED) return;
    after = keys.at(-1);
  }
}

/**
 * Rows from before reviews had kinds: options mean that the review is a run's, and the target tells the kind.
 */
function readRow(review: string, value: Json | undefined): OpenReview | undefined {
  if (value === undefined) return undefined;
  const row = value as unknown as Omit<OpenReview, 'review' | 'kind' | 'of'> & Partial<OpenReview>;
  const of = row.of ?? (row.options === undefined ? 'session' : 'run');
  const kind = row.kind ?? (of === 'run' && row.target.startsWith('workflow "') ? 'approval' : 'permission');
  return { ...row, review, kind, of };
}

/** The error that the model sees. */
export const refusedBy = ({ target, because, by, note }: Review) =>
  new RuntimeError('not_permitted', `A person refused the call of ${target}${said(by, note)}.`, {
    hint: `Do without it, or ask for something else. It is asked because of "${because}".`,
  });

const said = (by: string | undefined, note: string | undefined): string =>
  `${by === undefined ? '' : ` (${identityText(by)})`}${note === undefined ? '' : `: ${note.replace(/\.+$/, '')}`}`;

export const withdrawnReview = (target: string) =>
  new RuntimeError('cancelled', `The call of ${target} was cancelled before anybody approved it.`);

export const reviewUnknown = (review: string, open: readonly string[]) =>
  new RuntimeError('review_unknown', `No review is named "${review}".`, {
    hint:
      open.length === 0
        ? 'Nothing waits for a person.'
        : `${suggest(review, open.slice(0, 20), 'Open ones')} "telltale reviews" lists them.`,
  });

/** How a review was decided. */
export interface ClosedReview {
  readonly answer: ReviewAnswer;
  readonly choice?: string;
  readonly by: string;
  readonly at: number;
  readonly note?: string;
}

/** Why a review can no longer be answered. */
export const reviewClosed = (review: string, session: string, closed: ClosedReview): RuntimeError =>
  closed.answer === 'withdrawn' ? withdrawn(review, session, closed) : answered(review, closed);

const answered = (review: string, { answer, choice, by, at }: ClosedReview) =>
  new RuntimeError(
    'review_answered',
    `The review ${review} was ${answer}${choice === undefined || NAMED.has(choice) ? '' : ` ("${choice}")`} by ${identityText(by)} at ${timeOf(at)}.`,
    { hint: `It can be decided only once. To see the decision: telltale reviews show ${review}` },
  );

/** Choices that add nothing to the answer. */
const NAMED: ReadonlySet<string> = new Set(['approve', 'reject']);

const withdrawn = (review: string, session: string, { by, at, note }: ClosedReview) =>
  new RuntimeError(
    'review_withdrawn',
    `The review ${review} was withdrawn by ${identityText(by)} at ${timeOf(at)}${note === undefined ? '.' : `: ${note.replace(/\.+$/, '')}.`}`,
    { hint: `Nothing waits for an answer to it. To see what happened: telltale show ${session}` },
  );

/** The session or run of the review has ended or is about to. */
export const reviewOver = (review: string, session: string, how: string) =>
  new RuntimeError('review_withdrawn', `The review ${review} cannot be answered: ${session} ${how}.`, {
    hint: `Nothing waits for an answer to it. To see what happened: telltale show ${session}`,
  });

const timeOf = (at: number): string => new Date(at).toISOString();

/** What would run has changed since the approval, so it is asked for again. */
export const approvalVoid = (target: string, changed: readonly string[]) =>
  new RuntimeError(APPROVAL_VOID, `The approval of the call of ${target} is void: ${changed.join('; ')}.`, {
    hint: 'A person is asked again, about what would run now.',
  });

export const noSuchOption = (review: string, choice: string, options: readonly string[]) =>
  new RuntimeError('bad_option', `"${choice}" is not an answer to the review ${review}.`, {
    hint: suggest(choice, options, 'Its answers'),
  });

export const notForSession = (review: string) =>
  new RuntimeError('bad_option', `The review ${review} cannot be approved for the whole session.`, {
    hint: `It needs approval each time. To approve this one: telltale reviews approve ${review}`,
  });

export const rejectedForSession = (review: string) =>
  new RuntimeError('bad_option', `"always" belongs to an approval, and ${review} would be rejected.`, {
    hint: 'Leave "always" out, or approve it.',
  });

export const contradiction = (review: string, approved: boolean, choice: string) =>
  new RuntimeError(
    'bad_option',
    `The review ${review} cannot be ${approved ? 'approved' : 'rejected'} with the choice "${choice}".`,
    {
      hint: `Use one of the two. To give only the choice: telltale reviews answer ${review} --choice ${choice}`,
    },
  );

export const noAnswer = (review: string, options: readonly string[]) =>
  new RuntimeError('bad_option', `The answer to the review ${review} is empty.`, {
    hint: `Choose one of its answers: ${options.join(', ')}.`,
  });

export const needsChoice = (review: string, options: readonly string[]) =>
  new RuntimeError('bad_option', `Answer with one of these: ${options.join(', ')}.`, {
    hint: `For example: telltale reviews answer ${review} --choice ${options[0] ?? 'approve'}`,
  });

export const saidTooMuch = (review: string, what: string, length: number, most: number) =>
  new RuntimeError(
    'bad_option',
    `${what} for the review ${review} has ${length} characters; ${most} are the most.`,
    { hint: 'Say it shorter, or put it into a file and name that.' },
  );
