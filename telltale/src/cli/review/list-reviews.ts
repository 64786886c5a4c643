import type { ReviewDetails } from '../../agent/reviews/read-review.ts';
import { visibleText } from '../../lib/text.ts';
import type { OpenReview, ReviewKind } from '../../log/reviews.ts';
import { type CommandContext, EXIT, type ExitCode } from '../command.ts';
import { type Io, paletteFor } from '../io.ts';
import { findStream } from '../session/find-session.ts';
import type { StoreOption } from '../session/store-options.ts';
import { shownLocation, storeExists, storeFlag, storeLocation } from '../session/store-options.ts';
import { withSessions, withStoredSessions } from '../session/with-runtime.ts';
import { agoText, timeText } from '../view/figures.ts';
import { jsonText } from '../view/json-text.ts';
import { brief, type Column, tableLines } from '../view/text-width.ts';
import { findReview } from './answer-review.ts';
import { reviewLines } from './review-lines.ts';

export interface ListOptions {
  readonly store?: string;
  readonly json?: true;
  readonly kind?: ReviewKind;
  readonly assignee?: string;
  readonly session?: string;
  readonly run?: string;
}

/** `telltale reviews`. */
export async function listReviews(options: ListOptions, context: CommandContext): Promise<ExitCode> {
  const { io } = context;
  const { kind, assignee, store, session = options.run } = options;
  const location = storeLocation(store, io);
  const isThere = storeExists(location, io);
  const found = !isThere
    ? []
    : await withSessions(
        context,
        { ...(store === undefined ? {} : { store }), mustExist: true },
        async (sessions) =>
          sessions.reviews({
            ...(kind === undefined ? {} : { kind }),
            ...(assignee === undefined ? {} : { assignee }),
            ...(session === undefined ? {} : { session: (await findStream(sessions.store, session)).stream }),
          }),
      );
  if (options.json === true) await io.stdout.write(jsonText(found.map(openReviewJson), 2));
  else if (found.length === 0) {
    const isFiltered = [kind, assignee, session].some((each) => each !== undefined);
    await io.stdout.write(
      `Nothing ${isFiltered ? 'that matches ' : ''}waits for a person in ${shownLocation(location)}.\n`,
    );
  } else await print(found, storeFlag(store), io);
  return EXIT.ok;
}

const COLUMNS: readonly Column[] = [
  { title: 'REVIEW' },
  { title: 'KIND' },
  { title: 'ASKED' },
  { title: 'ASSIGNEE' },
  { title: 'FROM' },
  { title: 'QUESTION', gives: true },
];

const MAX_CELL = 200;
/** A question that only names its target is distinguished by its parameters. */
const questionOf = ({ kind, target, what, parameters = '' }: OpenReview): string => {
  if (kind !== 'permission') return what;
  return what === `call ${target}` ? `${what} ${parameters}` : `${target}: ${what}`;
};

const ANYBODY = '-';

async function print(
  found: readonly OpenReview[],
  flag: string,
  { stdout, clock, program }: Io,
): Promise<void> {
  const paint = paletteFor(stdout);
  const rows = found.map((each) => [
    brief(each.review, MAX_CELL),
    each.kind,
    agoText(clock.now() - each.at),
    brief(each.assignee ?? ANYBODY, MAX_CELL),
    brief(each.workflow === undefined ? each.agent : `${each.agent}/${each.workflow}`, MAX_CELL),
    brief(visibleText(questionOf(each)), MAX_CELL),
  ]);
  const lines = tableLines(COLUMNS, rows, {
    columns: stdout.columns,
    paint: (text, row) => (row === -1 ? paint.dim(text) : text),
  });
  const how = paint.dim(`See one in full and how to answer it: ${program} reviews show REVIEW${flag}`);
  await stdout.write(`${[...lines, how].join('\n')}\n`);
}

export interface ShowReviewsOptions extends StoreOption {
  readonly json?: true;
}

/** `telltale reviews show`: everything that would be done, or was decided, in full. */
export async function showReview(
  asked: string,
  options: ShowReviewsOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { stdout, clock, program } = context.io;
  return withStoredSessions(context, options, async (sessions) => {
    const review = await sessions.review(await findReview(sessions, asked));
    const lines = () => reviewLines(review, { now: clock.now(), flag: storeFlag(options.store), program });
    await stdout.write(options.json === true ? jsonText(reviewJson(review), 2) : `${lines().join('\n')}\n`);
    return EXIT.ok;
  });
}

/** For scripts: times as ISO 8601. */
const openReviewJson = ({ review, at, due, ...others }: OpenReview) => ({
  review,
  ...others,
  asked: timeText(at),
  ...(due === undefined ? {} : { due: timeText(due) }),
});

function reviewJson({ decision, voided, parameters: _, ...review }: ReviewDetails) {
  return {
    ...openReviewJson(review),
    ...(decision === undefined ? {} : { decision: { ...decision, at: timeText(decision.at) } }),
    ...(voided === undefined ? {} : { voided: { ...voided, at: timeText(voided.at) } }),
  };
}
