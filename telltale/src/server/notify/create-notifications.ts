import { platform } from 'node:os';
import type { Clock } from '../../kernel/clock.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Store } from '../../store/store.ts';
import { childEnvironment, type Env } from '../../targets/process/child-environment.ts';
import type { AgentCatalog } from '../catalog/agent-catalog.ts';
import { type Channel, createChannels } from './channels.ts';
import { createCollapse } from './collapse.ts';
import { createDispatcher } from './dispatcher.ts';
import { createLookAfterDead, lookBack, MARK_EVERY_MS, writeMark } from './look-back.ts';
import { mayBeNotice, type Notice, noticeOf } from './notice.ts';
import type { Notifications } from './notifications.ts';
import { createOutbox } from './outbox.ts';
import { infoOf, type OutboxRow, outboxId } from './outbox-row.ts';
import { createPace, paceKey } from './pace.ts';
import { runChannelCommand } from './run-channel-command.ts';
import { sendWebhook } from './send-webhook.ts';
import { createDesktop, type Desktop } from './show-on-desktop.ts';
import { isOfRun, streamOf, type WatchedEvent } from './stream-place.ts';
import { createStreamPlaces } from './stream-places.ts';

export interface NotificationsOptions {
  readonly store: Store;
  readonly catalog: Pick<AgentCatalog, 'list' | 'onChange'>;
  readonly clock: Clock;
  readonly random: () => number;
  /** Of commands and the desktop: they get the little that programs need, and what `permissions.environment` names. */
  readonly env?: Env;
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

  const put = async (event: WatchedEvent, agent: string, notice: Notice, channel: Channel): Promise<void> => {
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
