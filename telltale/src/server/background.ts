import type { Clock } from '../kernel/clock.ts';
import { publishLive } from '../session/distant/publish-live.ts';
import type { Runtime } from '../session/runtime-types.ts';
import type { Audit } from './auth/audit.ts';
import { createAudit } from './auth/create-audit.ts';
import type { AgentCatalog } from './catalog/agent-catalog.ts';
import { createListeners } from './hooks/create-listeners.ts';
import type { Listeners } from './hooks/listeners.ts';
import { createNotifications } from './notify/create-notifications.ts';
import type { Notifications } from './notify/notifications.ts';
import { type Caretaker, createCaretaker, type Recovered } from './recovery/create-caretaker.ts';
import { createFleetCaretaker } from './recovery/fleet-caretaker.ts';
import { createRecoveryGuard, type HangWatch } from './recovery/recovery-guard.ts';
import { restIdleChats } from './recovery/rest-idle-chats.ts';

export interface BackgroundOptions {
  readonly runtime: Runtime;
  readonly catalog: AgentCatalog;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onError: (thrown: unknown) => void;
  /** What whoever watches the process should know, a line each. */
  readonly onNote: (text: string) => void;
  /** Ends a process that hangs while it recovers something. */
  readonly hangWatch?: HangWatch | undefined;
  /** Where a stream can be looked at, for what people are told of it. */
  readonly pageOf: (kind: 'session' | 'run', stream: string) => string | undefined;
}

/** All that goes on in a process without anybody asking: schedules, notifications, and taking up what is alive. */
export interface Background {
  readonly audit: Audit;
  readonly listeners: Listeners;
  readonly notifications: Notifications;
  /** Takes up what was alive. In a fleet that goes on all the time. */
  recover(): Promise<Recovered>;
  /** Begins nothing more, and waits for `drainMs` at most for calls that must not be made twice. */
  close(drainMs?: number): Promise<void>;
}

const waitingText = (calls: number, withinMs: number) =>
  `Waiting for ${calls} ${calls === 1 ? 'call that must not be made twice' : 'calls that must not be made twice'}, for ${Math.ceil(withinMs / 1000)} s at most.`;

export function startBackground(options: BackgroundOptions): Background {
  const { runtime, catalog, clock, env, onError, onNote, pageOf, hangWatch } = options;
  const { store, fleet } = runtime;
  const notifications = createNotifications({
    store,
    catalog,
    clock,
    env,
    onError,
    pageOf,
    random: Math.random,
  });
  const unwatch = runtime.watch(notifications.observe);
  const audit = createAudit(store);
  const listeners = createListeners({
    runtime,
    catalog,
    onError,
    onDue(agent, trigger, _outcome, { missed }) {
      if (missed > 0) onNote(`${agent}: ${trigger} had missed ${missed} of its times while nobody ran.`);
    },
  });
  const onLeft = (stream: string, why: string) => {
    onNote(`${stream} cannot go on here: ${why}`);
    const what = `cannot go on: ${why}`;
    audit.add({ who: 'server', role: 'admin', what, about: stream, status: 409 }).catch(onError);
  };
  const caretaker: Pick<Caretaker, 'recover' | 'close'> =
    fleet === undefined
      ? createCaretaker({
          runtime,
          catalog,
          clock,
          onLeft,
          onError,
          guard: createRecoveryGuard({
            store,
            clock,
            hangWatch,
            onError,
            watch: runtime.watch,
            onQuarantined(stream, why) {
              onLeft(stream, `${why} It is quarantined. To try it again: telltale resume ${stream}`);
            },
          }),
        })
      : createFleetCaretaker({ runtime, catalog }, fleet);
  // An idle conversation gives its place to others, where there are only so many.
  const isLimited = fleet !== undefined || runtime.places !== undefined;
  const stopResting = isLimited ? restIdleChats({ runtime, clock }) : undefined;
  // Whoever follows a session from another machine hears it speak.
  const publishing =
    store.shared === undefined ? undefined : publishLive({ runtime, live: store.shared.live, clock });
  return {
    audit,
    listeners,
    notifications,
    recover: caretaker.recover,
    async close(drainMs) {
      publishing?.close();
      stopResting?.();
      listeners.close();
      await caretaker.close();
      await runtime.drain({
        ...(drainMs === undefined ? {} : { withinMs: drainMs }),
        onWaiting: ({ calls, withinMs }) => onNote(waitingText(calls, withinMs)),
      });
      unwatch();
      await notifications.close();
    },
  };
}
