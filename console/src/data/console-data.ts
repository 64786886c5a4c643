import type { ReviewInfo } from '../../../telltale/src/client/api.ts';
import type { TelltaleClient } from '../../../telltale/src/client/client.ts';
import { toRuntimeError } from '../../../telltale/src/lib/errors.ts';
import { visibleText } from '../../../telltale/src/lib/text.ts';
import type { SessionEvent } from '../../../telltale/src/log/event.ts';
import type { RunEvent } from '../../../telltale/src/log/run-event.ts';
import { questionOf } from '../pages/reviews/review-words.ts';
import { type AgentList, createAgentList } from './agent-list.ts';
import { type Connection, isRefusal, type Who } from './connection.ts';
import { createTicker } from './create-ticker.ts';
import { createStore, type Readable } from './readable.ts';
import { createReviewInbox, type ReviewInbox } from './review-inbox.ts';
import { createRunLists, type RunLists } from './run-lists.ts';
import { createSessionLists, type SessionLists } from './session-lists.ts';
import { createToasts, type Toasts } from './toasts.ts';

/** The data of all pages: what the server returned, updated by the events since then. */
export interface ConsoleData {
  readonly client: TelltaleClient;
  readonly connection: Readable<Connection>;
  readonly who: Readable<Who>;
  readonly sessions: SessionLists;
  readonly runs: RunLists;
  readonly reviews: ReviewInbox;
  readonly agents: AgentList;
  readonly toasts: Toasts;
  /** The state of pages that were left: filters and selected rows. */
  readonly kept: Map<string, unknown>;
  /** The time, updated once a second. */
  readonly now: Readable<number>;
  /** Asks who we are, and follows all events. The returned function stops it. */
  readonly start: () => () => void;
}

export interface DataEdges {
  readonly client: TelltaleClient;
  readonly clock?: () => number;
  /** Whether the current page shows a review. */
  readonly isInView?: (review: ReviewInfo) => boolean;
}

export function createConsoleData({
  client,
  clock = Date.now,
  isInView = () => false,
}: DataEdges): ConsoleData {
  const connection = createStore<Connection>({ kind: 'connecting' });
  const who = createStore<Who>({ kind: 'asking' });
  let settle = () => {};
  const settled = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const sessions = createSessionLists(client, settled);
  const runs = createRunLists(client, settled);
  const toasts = createToasts();
  const reviews = createReviewInbox(client, (asked) => {
    // A toast would cover the buttons that the page already shows.
    if (!isInView(asked))
      toasts.say('info', `Waiting for you: ${visibleText(questionOf(asked).title)}`, pathOf(asked));
  });
  reviews.subscribe(() => {
    for (const review of reviews.get().answered) toasts.takeBack(pathOf(review));
  });
  const agents = createAgentList(client);

  const ask = async () => {
    try {
      who.set({ kind: 'known', who: await client.whoami() });
    } catch (thrown) {
      const error = toRuntimeError(thrown).toJSON();
      who.set({ kind: isRefusal(error) ? 'refused' : 'failed', error });
    }
  };
  const accept = (event: SessionEvent | RunEvent) => {
    if ('turn' in event) sessions.collection.accept(event);
    else runs.collection.accept(event);
    reviews.accept(event);
  };
  const opened = () => {
    const again = connection.get().kind === 'lost';
    connection.set({ kind: 'open' });
    settle();
    void reviews.refresh();
    void agents.refresh();
    if (!again) return;
    if (who.get().kind !== 'known') void ask();
    sessions.refresh();
    runs.refresh();
  };

  return {
    client,
    connection,
    who,
    sessions,
    runs,
    reviews,
    agents,
    toasts,
    kept: new Map(),
    now: createTicker(clock),
    start() {
      void ask();
      return client.followAll((told) => {
        if (told.kind === 'event') accept(told.event);
        else if (told.kind === 'open') opened();
        else if (told.kind === 'lost') {
          const { error, retryInMs } = told;
          const retryAt = Number.isFinite(retryInMs) ? clock() + retryInMs : undefined;
          connection.set({ kind: 'lost', error, retryAt });
          if (isRefusal(error)) who.set({ kind: 'refused', error });
          settle();
        }
      });
    },
  };
}

const pathOf = ({ review }: Pick<ReviewInfo, 'review'>): string => `/reviews/${review}`;
