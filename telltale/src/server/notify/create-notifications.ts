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
import { childEnvironment, type ProcessEnvironment } from '../../tools/process/child-environment.ts';
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
  /**
   * The environment of commands and the desktop. They get the basic variables and those in `permissions.environment`.
   */
  readonly env?: ProcessEnvironment;
  readonly fetch?: typeof globalThis.fetch;
  readonly desktop?: Desktop;
  /** The page of a session or run: `http://127.0.0.1:4800/#/sessions/ses_1`. */
  readonly pageOf?: (kind: 'session' | 'run', stream: string) => string | undefined;
  readonly onError: (thrown: unknown) => void;
}

/** After this time, no process is expected to have the agent of a notification any more. */
const LEFT_TO_OTHERS_MS = 24 * 60 * 60_000;
/** The most notifications being written at a time. Further events are reported as errors. */
const MAX_IN_HAND = 10_000;

/** Sends notifications for the rules of agents and for `notify` steps. Each is in the store before it is sent. */
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
    // Another server with the same store may have the agent, or this one once the agent's file is fixed.
    isOurs: ({ agent, at }) =>
      clock.now() - at > LEFT_TO_OTHERS_MS || catalog.list().some(({ name }) => name === agent),
    deliver(row, signal) {
      const parcel = { row, signal, url: pageOf?.(row.of, row.stream) };
      const channel = channels.find(row.agent, row.channel);
      if (channel === undefined)
        return { kind: 'final', error: `The agent ${row.agent} no longer has a channel "${row.channel}".` };
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
  /** Runs even while nothing happens, so that events after a long pause are found by the mark, too. */
  const keepMarking = () => {
    if (closed) return;
    if (isAny) track(writeMark(store, clock.now()));
    if (isAny) track(lookAfterDead(clock.now()));
    endMarking = clock.after(MARK_EVERY_MS, keepMarking);
  };

  track(dispatcher.begin());
  // The mark only advances after everything before it was checked.
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

const FULL = 'Too many are already waiting, because their receiver has not responded for a long time.';

const tooMany = (event: WatchedEvent) =>
  new RuntimeError(
    'outbox_full',
    `${MAX_IN_HAND} notifications are already being written, so none is sent for ${event.type} of ${streamOf(event)}.`,
    { hint: 'The event is on its log. Check whether the store is slow.' },
  );

const notificationUnknown = (id: string, isSent: boolean) =>
  new RuntimeError(
    'notification_unknown',
    isSent ? `The notification "${id}" was sent.` : `There is no notification "${id}".`,
    { hint: 'Notifications that were given up have the status "dead".' },
  );

/** The most streams whose agent is cached. Others are looked up. */
const MAX_STREAMS = 10_000;

/** Finds the agent of a stream. */
export interface StreamPlaces {
  /** Caches what the first event of a stream says. */
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

/** How often the progress mark is written. */
const MARK_EVERY_MS = 30_000;
/** How long a write may have been in progress when the mark was written. */
const MARGIN_MS = 30_000;
const MAX_MISSED_STREAMS = 500;
const MAX_EVENTS = 500;

const writeMark = (store: Pick<Store, 'tables'>, at: number): Promise<void> =>
  store.tables.set(TABLE, KEY, at);

type Take = (event: WatchedEvent) => Promise<void>;

/**
 * Handles events that were committed just before the last process ended, because it may not have sent their
 * notifications. Sent ones are recognized by their ids.
 */
async function lookBack(store: Pick<Store, 'tables' | 'list' | 'read'>, take: Take): Promise<void> {
  const mark = await store.tables.get(TABLE, KEY);
  if (typeof mark !== 'number') return;
  await takeBetween(store, mark - MARGIN_MS, mark + MARK_EVERY_MS + MARGIN_MS, take);
}

/**
 * In a fleet, the other processes keep writing the mark when one dies. So the last events of a process are checked once
 * it is known to be dead. Returns a function that does this for all processes that died since its last call.
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

/** The channels of the agents in a catalog, as it is now. */
export interface Channels {
  /** Whether any agent has channels. */
  any(): boolean;
  find(agent: string, channel: string): NotificationsChannel | undefined;
  /** The channels that get a notice. */
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
        // Someone meant to send it, so it goes to all channels rather than to none.
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
    `A step of ${agent} notifies "${to}", which is not one of its channels, so all channels are notified.`,
    {
      hint: suggest(
        to,
        channels.map(({ name }) => name),
        'Channels',
      ),
    },
  );

/** Notifies people by webhook, on the desktop, or by a command. Durable: pending notifications survive a restart. */
export interface Notifications {
  /** Called with every event committed here. Applies the rules of the event's agent. Never throws. */
  observe(event: SessionEvent | RunEvent): void;
  /** Newest first. */
  list(options: {
    readonly status?: NotificationInfo['status'];
    readonly before?: string;
    readonly limit: number;
  }): Promise<readonly NotificationInfo[]>;
  /** Tries a dead notification again. Rejects with `notification_unknown`. */
  retry(id: string): Promise<NotificationInfo>;
  /** Stops sending. The rest is sent after the next start. */
  close(): Promise<void>;
}
