import type {
  ListResourcesResult,
  ReadResourceResult,
  Resource,
  ResourceTemplate,
} from '@modelcontextprotocol/sdk/types.js';
import { readEventPage } from '../../agent/read-session.ts';
import type { Runtime } from '../../agent/runtime-types.ts';
import { RuntimeError } from '../../lib/errors.ts';

const SCHEME = 'telltale://sessions/';
const STATE = 'application/json';
const LOG = 'application/x-ndjson';
/** The sessions on one page of the list. */
const PAGE = 50;
/** The most sessions that can be listed. Older ones can be read by id. */
const MAX_LISTED = 10_000;
/** The most ids offered as completions. */
const MAX_COMPLETED = 100;
/** The most events on one page of a log. */
const MAX_EVENTS = 500;
const MAX_CHARS = 1_000_000;

export const SESSION_TEMPLATES: readonly ResourceTemplate[] = [
  {
    uriTemplate: `${SCHEME}{id}`,
    name: 'session',
    title: 'A session',
    description: 'The state of a session: status, result, turns, cost, metadata.',
    mimeType: STATE,
  },
  {
    uriTemplate: `${SCHEME}{id}/log{?from}`,
    name: 'session-log',
    title: "A session's log",
    description: `Its events from number "from" on, one JSON object per line, at most ${MAX_EVENTS}. _meta.next is the URI of the rest.`,
    mimeType: LOG,
  },
];

/** Sessions of the store as resources. */
export interface SessionResources {
  /** Newest first. */
  list(cursor?: string): Promise<ListResourcesResult>;
  read(uri: string): Promise<ReadResourceResult>;
  /** Completes the beginning of a session id, newest first. Empty for other arguments of a template. */
  complete(argument: string, begin: string): Promise<readonly string[]>;
  /** Calls `updated` when the session's log has grown. */
  watch(uri: string, updated: () => void): Promise<() => void>;
}

export function createSessionResources({ store, state }: Pick<Runtime, 'store' | 'state'>): SessionResources {
  const found = async (uri: string) => {
    const place = placeOf(uri);
    const info = place && (await store.info(place.session));
    if (place === undefined || info?.kind !== 'session') throw resourceUnknown(uri);
    return place;
  };
  return {
    async list(cursor) {
      const all = await store.list({ kind: 'session', limit: MAX_LISTED });
      const last = cursor === undefined ? -1 : all.findIndex(({ stream }) => stream === cursor);
      if (cursor !== undefined && last === -1) throw badCursor(cursor);
      const page = all.slice(last + 1, last + 1 + PAGE);
      const resources = page.map(
        ({ stream, name, title, status }): Resource => ({
          uri: `${SCHEME}${stream}`,
          name: stream,
          title: title === '' ? name : title,
          description: `Agent "${name}", ${status}.`,
          mimeType: STATE,
        }),
      );
      const next = last + 1 + PAGE < all.length ? page.at(-1)?.stream : undefined;
      return { resources, ...(next === undefined ? {} : { nextCursor: next }) };
    },
    async read(uri) {
      const { session, log, from } = await found(uri);
      if (!log) {
        const text = JSON.stringify(summaryOf(await state(session)), null, 2);
        return { contents: [{ uri, mimeType: STATE, text }] };
      }
      const events = await readEventPage(store, session, from, MAX_EVENTS + 1);
      const lines = events.map((event) => JSON.stringify(event));
      const shown = fitting(lines.slice(0, MAX_EVENTS));
      const next =
        shown.length < lines.length
          ? { _meta: { next: `${SCHEME}${session}/log?from=${from + shown.length}` } }
          : {};
      return { contents: [{ uri, mimeType: LOG, text: shown.map((line) => `${line}\n`).join(''), ...next }] };
    },
    async complete(argument, begin) {
      if (argument !== 'id') return [];
      const all = await store.list({ kind: 'session', limit: MAX_LISTED });
      return all.flatMap(({ stream }) => (stream.startsWith(begin) ? [stream] : [])).slice(0, MAX_COMPLETED);
    },
    async watch(uri, updated) {
      const { session } = await found(uri);
      return store.watch(session, updated);
    },
  };
}

interface SessionResourcesPlace {
  readonly session: string;
  readonly log: boolean;
  readonly from: number;
}

function placeOf(uri: string): SessionResourcesPlace | undefined {
  const [, session, log, from = '1'] =
    /^telltale:\/\/sessions\/([^/?#]+)(?:(\/log)(?:\?from=(\d{1,15}))?)?$/.exec(uri) ?? [];
  const id = session === undefined ? undefined : decoded(session);
  return id === undefined
    ? undefined
    : { session: id, log: log !== undefined, from: Math.max(1, Number(from)) };
}

/** Undefined for invalid percent-encoding. */
function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** Keeps at least one line, because an event is never truncated. */
function fitting(lines: readonly string[]): readonly string[] {
  let chars = 0;
  const end = lines.findIndex((line, index) => {
    chars += line.length + 1;
    return index > 0 && chars > MAX_CHARS;
  });
  return end === -1 ? lines : lines.slice(0, end);
}

type SessionResourcesSessionState = Awaited<ReturnType<Runtime['state']>>;

const summaryOf = ({
  id,
  totals,
  startedAt,
  at,
  open,
  actions,
  reviews,
  ...state
}: SessionResourcesSessionState) => ({
  session: id,
  agent: state.agent,
  model: state.model,
  status: state.status,
  ...(state.parent === undefined ? {} : { parent: state.parent.session }),
  input: state.input,
  started: new Date(startedAt).toISOString(),
  updated: new Date(at).toISOString(),
  events: state.seq,
  turns: totals.turns,
  usage: {
    input: totals.input,
    output: totals.output,
    ...(totals.estimated === undefined ? {} : { estimated: totals.estimated }),
  },
  cost_usd: totals.cost_usd,
  metadata: state.metadata,
  actions: { declared: actions.size, running: [...open] },
  waitingFor: reviews.flatMap(({ review, what, answer }) => (answer === undefined ? [{ review, what }] : [])),
  result: state.result ?? null,
  error: state.error ?? null,
});

const resourceUnknown = (uri: string) =>
  new RuntimeError('resource_unknown', `There is no resource "${uri}".`, {
    hint: 'List them with resources/list. A log is telltale://sessions/ID/log.',
  });

const badCursor = (cursor: string) =>
  new RuntimeError('bad_cursor', `The list has no cursor "${cursor}".`, {
    hint: 'Start again without a cursor.',
  });
