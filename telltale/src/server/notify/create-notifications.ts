import { platform } from 'node:os';
import type { LoadedAgent } from '../../agent/loaded-agent.ts';
import type { NotificationInfo } from '../../client/api.ts';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { suggest } from '../../lib/nearest.ts';
import { decodeEvent } from '../../log/codec.ts';
import type { SessionEvent } from '../../log/event.ts';
import { decodeRunEvent } from '../../log/run-codec.ts';
import type { RunEvent } from '../../log/run-event.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import { type ChildEnvironmentEnv, childEnvironment } from '../../tools/process/child-environment.ts';
import type { AgentCatalog } from '../catalog/agent-catalog.ts';
import { runChannelCommand, sendWebhook } from './channels.ts';
import { createCollapse } from './collapse.ts';
import { createDispatcher, createPace, paceKey } from './dispatcher.ts';
import {
  isOfRun,
  mayBeNotice,
  type Notice,
  noticeOf,
  placeOf,
  type StreamPlace,
  streamOf,
  type WatchedEvent,
} from './notice.ts';
import { createOutbox, infoOf, type OutboxRow, outboxId } from './outbox.ts';
import { createDesktop, type Desktop } from './show-on-desktop.ts';

export interface NotificationsOptions {
  readonly store: Store;
  readonly catalog: Pick<AgentCatalog, 'list' | 'onChange'>;
  readonly clock: Clock;
  readonly random: () => number;
  /** Of commands and the desktop: they get the little that programs need, and what `permissions.environment` names. */
  readonly env?: ChildEnvironmentEnv;
  readonly fetch?: typeof globalThis.fetch;
  readonly desktop?: Desktop;
  /** The page of a session or run: `http://127.0.0.1:4800/#/sessions/ses_1`. */
  readonly pageOf?: (kind: 'session' | 'run', stream: string) => string | undefined;
  readonly onError: (thrown: unknown) => void;
}

/** After that long nobody is expected to have the agent of a notification any more. */
const LEFT_TO_OTHERS_MS = 24 * 60 * 60_000;
/** Notifications that are being written at a time; an event beyond that is told as an error. */
const MAX_IN_HAND = 10_000;

/** By the rules of agents, and by what steps say. What is to be sent is in the store before it is sent. */
export function createNotifications(options: NotificationsOptions): Notifications {
  const { store, catalog, clock, random, env = {}, onError, pageOf } = options;
  const fetch = options.fetch ?? globalThis.fetch;
  const desktop = options.desktop ?? createDesktop({ platform: platform(), env, clock });
  const channels = createChannels(catalog, onError);
  const places = createStreamPlaces(store);
  const outbox = createOutbox(store.tables);
  const pace = createPace(store.tables, clock);
  const inHand = new Set<Promise<void>>();
  let endMarking: () => void = () => undefined;
  let closed = false;
  let isAny = channels.any();
  const endFollowing = catalog.onChange(() => {
    isAny = channels.any();
  });

  const dispatcher = createDispatcher({
    outbox,
    clock,
    random,
    onError,
    // Another server of the store may have the agent, or this one once its file is mended.
    isOurs: ({ agent, at }) =>
      clock.now() - at > LEFT_TO_OTHERS_MS || catalog.list().some(({ name }) => name === agent),
    deliver(row, signal) {
      const parcel = { row, signal, url: pageOf?.(row.of, row.stream) };
      const channel = channels.find(row.agent, row.channel);
      if (channel === undefined)
        return { kind: 'final', error: `The agent ${row.agent} has no channel "${row.channel}" any more.` };
      const { manifest, agent } = channel;
      if ('webhook' in manifest) return sendWebhook({ clock, fetch }, manifest.webhook, parcel);
      if ('desktop' in manifest) return desktop(parcel);
      const own = childEnvironment(env, agent.manifest.permissions.environment, {});
      return runChannelCommand(clock, { command: manifest.command, cwd: agent.folder, env: own }, parcel);
    },
  });
  const collapse = createCollapse(outbox, dispatcher.add);

  const put = async (
    event: WatchedEvent,
    agent: string,
    notice: Notice,
    channel: NotificationsChannel,
  ): Promise<void> => {
    if (dispatcher.isUnusable(agent, channel.name)) return;
    const stream = streamOf(event);
    const id = outboxId(event.at, stream, event.seq, channel.name);
    const row: OutboxRow = {
      id,
      at: event.at,
      agent,
      stream,
      seq: event.seq,
      of: isOfRun(event) ? 'run' : 'session',
      channel: channel.name,
      kind: channel.kind,
      about: notice.about[0] ?? '',
      message: notice.message,
      data: notice.data,
      attempts: 0,
      tries: 0,
      nextAt: clock.now(),
    };
    let turn = await pace.take(paceKey(row));
    while (turn.kind === 'counted') {
      if (await collapse.add(row, turn)) return;
      turn = await pace.take(paceKey(row), turn.since);
    }
    if (dispatcher.isFull()) {
      await outbox.add({ ...row, error: FULL, endedAt: clock.now() }, 'dead');
      return;
    }
    if (await outbox.add(row)) dispatcher.add(row);
  };

  const tell = async (event: WatchedEvent, isOld: boolean): Promise<void> => {
    const place = await places.of(event);
    const notice = place === undefined ? undefined : noticeOf(event, place);
    if (place === undefined || notice === undefined) return;
    for (const channel of channels.of(place.agent, notice)) {
      if (isOld && (await outbox.isKnown(outboxId(event.at, streamOf(event), event.seq, channel.name))))
        continue;
      await put(event, place.agent, notice, channel);
    }
  };

  const track = (work: Promise<void>) => {
    const done = work.catch((thrown) => {
      if (!closed) onError(thrown);
    });
    inHand.add(done);
    void done.then(() => inHand.delete(done));
  };

  const lookAfterDead = createLookAfterDead(store, (event) => tell(event, true));
  /** Also while nothing happens: what comes after a long silence is to be found by the mark, too. */
  const keepMarking = () => {
    if (closed) return;
    if (isAny) track(writeMark(store, clock.now()));
    if (isAny) track(lookAfterDead(clock.now()));
    endMarking = clock.after(MARK_EVERY_MS, keepMarking);
  };

  track(dispatcher.begin());
  // The mark moves on once all before it was looked at.
  track((isAny ? lookBack(store, (event) => tell(event, true)) : Promise.resolve()).finally(keepMarking));
  return {
    observe(event) {
      if (!isAny || closed) return;
      if (event.type === 'session.started' || event.type === 'workflow.started') places.note(event);
      if (!mayBeNotice(event)) return;
      if (inHand.size < MAX_IN_HAND) track(tell(event, false));
      else onError(tooMany(event));
    },
    list: ({ status, before, limit }) => outbox.list(status, before, limit),
    async retry(id) {
      const now = clock.now();
      const waiting = await outbox.get(id, 'waiting');
      if ((waiting?.lease?.until ?? 0) > now) return infoOf(waiting as OutboxRow, 'waiting'); // it is being sent
      const row = waiting ?? (await outbox.get(id, 'dead'));
      if (row !== undefined) {
        const again: OutboxRow = { ...row, tries: 0, nextAt: now };
        const isTaken =
          waiting === undefined
            ? await outbox.move(row, 'dead', again, 'waiting')
            : await outbox.replace(row, again);
        if (isTaken) dispatcher.add(again);
        return infoOf(again, 'waiting');
      }
      throw notificationUnknown(id, (await outbox.get(id, 'sent')) !== undefined);
    },
    async close() {
      closed = true;
      endFollowing();
      endMarking();
      await dispatcher.close();
      await Promise.all(inHand);
    },
  };
}

const FULL = 'Too many wait already: what they go to has not answered for long.';

const tooMany = (event: WatchedEvent) =>
  new RuntimeError(
    'outbox_full',
    `${MAX_IN_HAND} notifications are being written: nobody is told of ${event.type} of ${streamOf(event)}.`,
    { hint: 'It is on its log. Is the store slow?' },
  );

const notificationUnknown = (id: string, isSent: boolean) =>
  new RuntimeError(
    'notification_unknown',
    isSent ? `The notification "${id}" was sent.` : `There is no notification "${id}".`,
    { hint: 'Those that were given up are listed under the status "dead".' },
  );

/** Streams whose agent is remembered; the others are looked up. */
const MAX_STREAMS = 10_000;

/** Knows whose a stream is. */
export interface StreamPlaces {
  /** Takes what a stream's first event says. */
  note(event: WatchedEvent): void;
  of(event: WatchedEvent): Promise<StreamPlace | undefined>;
}

function createStreamPlaces(store: Pick<Store, 'read'>): StreamPlaces {
  const places = new Map<string, StreamPlace>();
  const keep = (stream: string, place: StreamPlace | undefined) => {
    if (place === undefined) return undefined;
    places.delete(stream);
    places.set(stream, place);
    const [oldest] = places.keys();
    if (places.size > MAX_STREAMS && oldest !== undefined) places.delete(oldest);
    return place;
  };
  return {
    note: (event) => void keep(streamOf(event), placeOf(event)),
    async of(event) {
      const stream = streamOf(event);
      const known = places.get(stream);
      if (known !== undefined) return known;
      const [line] = await store.read(stream, { from: 1, limit: 1 });
      if (line === undefined) return undefined;
      return keep(stream, placeOf(isOfRun(event) ? decodeRunEvent(line, stream) : decodeEvent(line, stream)));
    },
  };
}

const TABLE = 'notify.mark';
const KEY = 'at';

/** How often it is written down how far that got. */
const MARK_EVERY_MS = 30_000;
/** What was on its way into the store when it was written down. */
const MARGIN_MS = 30_000;
const MAX_MISSED_STREAMS = 500;
const MAX_EVENTS = 500;

const writeMark = (store: Pick<Store, 'tables'>, at: number): Promise<void> =>
  store.tables.set(TABLE, KEY, at);

type Take = (event: WatchedEvent) => Promise<void>;

/**
 * Events that were committed just before the last process ended, and that it may not have told anybody of. What it did
 * tell is known by its id.
 */
async function lookBack(store: Pick<Store, 'tables' | 'list' | 'read'>, take: Take): Promise<void> {
  const mark = await store.tables.get(TABLE, KEY);
  if (typeof mark !== 'number') return;
  await takeBetween(store, mark - MARGIN_MS, mark + MARK_EVERY_MS + MARGIN_MS, take);
}

/**
 * In a fleet the others go on writing the mark when one dies: what that one committed last is looked at once it is known
 * to be dead. Gives a function that does so for all that have died since it was called before.
 */
function createLookAfterDead(
  store: Pick<Store, 'list' | 'read' | 'shared'>,
  take: Take,
): (now: number) => Promise<void> {
  let known: ReadonlySet<number> = new Set();
  return async (now) => {
    const dead = ((await store.shared?.workers()) ?? []).filter(({ alive }) => !alive);
    for (const { quietMs } of dead.filter(({ id }) => !known.has(id))) {
      const heardAt = now - quietMs;
      await takeBetween(store, heardAt - MARGIN_MS, heardAt + MARGIN_MS, take);
    }
    known = new Set(dead.map(({ id }) => id));
  };
}

async function takeBetween(
  store: Pick<Store, 'list' | 'read'>,
  from: number,
  until: number,
  take: Take,
): Promise<void> {
  const streams = (await store.list({ limit: MAX_MISSED_STREAMS })).filter(
    ({ updatedAt }) => updatedAt >= from,
  );
  for (const info of streams)
    for (const event of await tailOf(store, info))
      if (event.at >= from && event.at <= until && mayBeNotice(event)) await take(event);
}

async function tailOf(
  store: Pick<Store, 'read'>,
  { stream, kind, head }: StreamInfo,
): Promise<readonly WatchedEvent[]> {
  const lines = await store.read(stream, { from: Math.max(1, head - MAX_EVENTS + 1) });
  return lines.map((line) => (kind === 'run' ? decodeRunEvent(line, stream) : decodeEvent(line, stream)));
}

type NotificationsManifest = NonNullable<AgentManifest['notifications']>;
export type ChannelManifest = NotificationsManifest['channels'][string];

export interface NotificationsChannel {
  readonly name: string;
  readonly kind: NotificationInfo['kind'];
  readonly manifest: ChannelManifest;
  readonly agent: LoadedAgent<unknown>;
}

/** The channels of the agents of a catalog, as it is now. */
export interface Channels {
  /** Whether any agent has some. */
  any(): boolean;
  find(agent: string, channel: string): NotificationsChannel | undefined;
  /** Who is to be told of it. */
  of(agent: string, notice: Notice): readonly NotificationsChannel[];
}

function createChannels(catalog: Pick<AgentCatalog, 'list'>, onError: (thrown: unknown) => void): Channels {
  const agentOf = (name: string) => catalog.list().find((entry) => entry.name === name)?.agent;
  const all = (name: string): readonly NotificationsChannel[] => {
    const agent = agentOf(name);
    const channels = agent?.manifest.notifications?.channels ?? {};
    if (agent === undefined) return [];
    return Object.entries(channels).map(([channel, manifest]) => ({
      name: channel,
      manifest,
      agent,
      kind: 'webhook' in manifest ? 'webhook' : 'desktop' in manifest ? 'desktop' : 'command',
    }));
  };
  return {
    any: () => catalog.list().some(({ agent }) => agent?.manifest.notifications !== undefined),
    find: (agent, channel) => all(agent).find(({ name }) => name === channel),
    of(agent, { about, to }) {
      const channels = all(agent);
      if (channels.length === 0) return [];
      if (about.includes('notify')) {
        const named = to === undefined ? channels : channels.filter(({ name }) => name === to);
        if (named.length > 0) return named;
        // Rather to all than to nobody: somebody meant it to be heard.
        onError(channelUnknown(agent, to ?? '', channels));
        return channels;
      }
      const rules = agentOf(agent)?.manifest.notifications?.rules ?? [];
      const told = rules.filter(({ on }) => on.some((event) => about.includes(event)));
      return channels.filter(({ name }) => told.some((rule) => rule.to?.includes(name) ?? true));
    },
  };
}

const channelUnknown = (agent: string, to: string, channels: readonly NotificationsChannel[]) =>
  new RuntimeError(
    'channel_unknown',
    `A step of ${agent} tells "${to}", which is none of its channels: all of them are told.`,
    {
      hint: suggest(
        to,
        channels.map(({ name }) => name),
        'Channels',
      ),
    },
  );

/** Tells people outside of what happens: by webhook, on the desktop, by a command. Durable: what is due survives a restart. */
export interface Notifications {
  /** Called with every event that is committed here; decides by the rules of the event's agent. Never throws. */
  observe(event: SessionEvent | RunEvent): void;
  /** Newest first. */
  list(options: {
    readonly status?: NotificationInfo['status'];
    readonly before?: string;
    readonly limit: number;
  }): Promise<readonly NotificationInfo[]>;
  /** Tries a dead one again. Rejects with `notification_unknown`. */
  retry(id: string): Promise<NotificationInfo>;
  /** Ends what is being sent; the rest is sent after the next start. */
  close(): Promise<void>;
}
