import type { ReviewDetailsInfo, ReviewInfo } from '../../../telltale/src/client/api.ts';
import type { TelltaleClient } from '../../../telltale/src/client/client.ts';
import { type ErrorJson, toRuntimeError } from '../../../telltale/src/lib/errors.ts';
import type { SessionEvent } from '../../../telltale/src/log/event.ts';
import type { RunEvent } from '../../../telltale/src/log/run-event.ts';
import { createStore, type Readable } from './readable.ts';

/** How, by whom and when a review was answered. */
export interface Resolution {
  readonly answer: string;
  readonly choice?: string;
  readonly by: string;
  readonly note?: string;
  readonly at: number;
}

export interface InboxView {
  readonly kind: 'loading' | 'ready' | 'failed';
  readonly error?: ErrorJson;
  /** Oldest first. */
  readonly open: readonly ReviewInfo[];
  /** Reviews that were answered while the page was open, newest first. */
  readonly answered: readonly (ReviewInfo & { readonly resolution: Resolution })[];
}

export interface ReviewInbox extends Readable<InboxView> {
  readonly refresh: () => Promise<void>;
  readonly accept: (event: SessionEvent | RunEvent) => void;
  /** Call it with the response to an answer. */
  readonly answered: (details: ReviewDetailsInfo) => void;
}

const PAGE = 200;
const MAX_OPEN = 2_000;
const MAX_ANSWERED = 50;
/** How many reviews that disappeared without an event are looked up one by one. */
const MAX_ASKED_AFTER = 20;
const SESSION_ENDS: ReadonlySet<string> = new Set([
  'session.completed',
  'session.failed',
  'session.cancelled',
]);
const RUN_ENDS: ReadonlySet<string> = new Set([
  'workflow.completed',
  'workflow.failed',
  'workflow.cancelled',
]);

/** All open reviews. They are read once and then updated by events. */
export function createReviewInbox(
  client: TelltaleClient,
  /** Called for each new review. */
  onAsked: (review: ReviewInfo) => void = () => undefined,
): ReviewInbox {
  const view = createStore<InboxView>({ kind: 'loading', open: [], answered: [] });
  let readings = 0;
  /** Reviews that were answered while the list was being read, so it may still contain them. */
  const gone = new Set<string>();

  const resolve = (review: string, resolution: Resolution, told?: ReviewInfo) => {
    const { open, answered, ...rest } = view.get();
    gone.add(review);
    const info = open.find((one) => one.review === review) ?? told;
    if (info === undefined || answered.some((one) => one.review === review)) return;
    view.set({
      ...rest,
      open: open.filter((one) => one !== info),
      answered: [{ ...info, resolution }, ...answered].slice(0, MAX_ANSWERED),
    });
  };
  const add = (info: ReviewInfo) => {
    const { open, ...rest } = view.get();
    if (gone.has(info.review) || open.some(({ review }) => review === info.review)) return;
    view.set({ ...rest, open: [...open, info].sort(byAge).slice(0, MAX_OPEN) });
    onAsked(info);
  };
  const inbox: ReviewInbox = {
    ...view,
    async refresh() {
      const reading = ++readings;
      try {
        const items: ReviewInfo[] = [];
        let cursor: string | undefined;
        do {
          const page = await client.reviews({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
          items.push(...page.items);
          cursor = page.next;
        } while (cursor !== undefined && items.length < MAX_OPEN);
        if (reading !== readings) return;
        const open = items.filter(({ review }) => !gone.has(review)).sort(byAge);
        const before = view.get();
        view.set({ kind: 'ready', open, answered: before.answered });
        const known = new Set(open.map(({ review }) => review));
        const missing = before.open.filter(({ review }) => !known.has(review)).slice(0, MAX_ASKED_AFTER);
        // A review that cannot be read is not shown as answered. The inbox is correct without it.
        for (const { review } of missing) client.review(review).then(inbox.answered, () => undefined);
      } catch (thrown) {
        if (reading !== readings) return;
        const { kind, open, answered } = view.get();
        const error = toRuntimeError(thrown).toJSON();
        view.set({ kind: kind === 'ready' ? 'ready' : 'failed', error, open, answered });
      }
    },
    accept(event) {
      if (event.type === 'review.requested') client.review(event.review).then(add, () => inbox.refresh());
      else if (event.type === 'review.resolved') resolve(event.review, resolutionOf(event));
      else {
        const isSession = 'turn' in event;
        if (!(isSession ? SESSION_ENDS : RUN_ENDS).has(event.type)) return;
        const stream = isSession ? event.session : event.run;
        if (view.get().open.some(({ session }) => session === stream)) void inbox.refresh();
      }
    },
    answered(details) {
      const { review, answer, choice, by, note, answeredAt } = details;
      if (answer === undefined || by === undefined || answeredAt === undefined) return;
      const resolution = {
        answer,
        by,
        at: answeredAt,
        ...(choice === undefined ? {} : { choice }),
        ...(note === undefined ? {} : { note }),
      };
      resolve(review, resolution, details);
    },
  };
  return inbox;
}

const byAge = (a: ReviewInfo, b: ReviewInfo) => a.at - b.at;

type Resolved = Extract<SessionEvent | RunEvent, { readonly type: 'review.resolved' }>;

const resolutionOf = (event: Resolved): Resolution => ({
  answer: event.answer,
  by: event.by,
  at: event.at,
  ...('choice' in event ? { choice: event.choice } : {}),
  ...(event.note === undefined ? {} : { note: event.note }),
});
