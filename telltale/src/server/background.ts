import type { LoadedAgent } from '../agent/loaded-agent.ts';
import { publishLive } from '../agent/remote/publish-live.ts';
import type { DueTime, HookHeaders, Listening, OutsideOutcome } from '../agent/runs/run-types.ts';
import type { Runtime } from '../agent/runtime-types.ts';
import { hookUnknown } from '../agent/triggers/webhook.ts';
import type { Fleet } from '../cluster/fleet.ts';
import type { Clock } from '../lib/clock.ts';
import { type ErrorJson, RuntimeError, toRuntimeError } from '../lib/errors.ts';
import { type Audit, createAudit } from './auth/audit.ts';
import type { AgentCatalog } from './catalog/agent-catalog.ts';
import type { Notifications } from './notify/create-notifications.ts';
import { createNotifications } from './notify/create-notifications.ts';
import { takeUp } from './recovery/pick-up.ts';
import { createRecoveryGuard, type HangWatch } from './recovery/recovery-guard.ts';
import {
  type Caretaker,
  type CaretakerDeps,
  createCaretaker,
  type Recovered,
} from './recovery/recovery-service.ts';

export interface BackgroundOptions {
  readonly runtime: Runtime;
  readonly catalog: AgentCatalog;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onError: (thrown: unknown) => void;
  /** Receives notes for whoever watches the process, one line each. */
  readonly onNote: (text: string) => void;
  /** Kills a process that hangs during recovery. */
  readonly hangWatch?: HangWatch | undefined;
  /** The URL of a session or run in the console, for notifications. */
  readonly pageOf: (kind: 'session' | 'run', stream: string) => string | undefined;
}

/** The background work of a server process: schedules, notifications, and the recovery of live sessions and runs. */
export interface Background {
  readonly audit: Audit;
  readonly listeners: Listeners;
  readonly notifications: Notifications;
  /** Recovers sessions and runs that were alive. In a fleet this happens continuously. */
  recover(): Promise<Recovered>;
  /** Starts nothing new, and waits at most `drainMs` for calls that must not be repeated. */
  close(drainMs?: number): Promise<void>;
}

const waitingText = (calls: number, withinMs: number) =>
  `Waiting up to ${Math.ceil(withinMs / 1000)} s for ${calls} ${calls === 1 ? 'call' : 'calls'} that must not be repeated.`;

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
      if (missed > 0)
        onNote(`${agent}: ${trigger} missed ${missed} of its times while no process was running.`);
    },
  });
  const onLeft = (stream: string, why: string) => {
    onNote(`${stream} cannot continue here: ${why}`);
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
  // Idle conversations free their slots, if slots are limited.
  const isLimited = fleet !== undefined || runtime.places !== undefined;
  const stopResting = isLimited ? restIdleChats({ runtime, clock }) : undefined;
  // Publish live events for clients that follow a session from another machine.
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

/**
 * In a fleet, any process finds live streams without an owner, and one with a free slot resumes them. So there is
 * nothing to recover at startup. A stream that cannot continue here is tried by other processes and quarantined in the
 * end.
 */
function createFleetCaretaker(
  { runtime, catalog }: Pick<CaretakerDeps, 'runtime' | 'catalog'>,
  fleet: Pick<Fleet, 'workOnSessions' | 'drain'>,
): Pick<Caretaker, 'recover' | 'close'> {
  const deps = { runtime, catalog, onError: () => undefined }; // errors are on the log of the session
  return {
    async recover() {
      fleet.workOnSessions(async (session, _signal, taken) => {
        await takeUp(deps, session);
        const live = runtime.session(session);
        if (live === undefined) return { kind: 'done' }; // another process owns it, or it has ended
        taken();
        const { status } = await live.result;
        return { kind: status === 'waiting' ? 'waiting' : 'done' };
      });
      return { sessions: [], runs: [], left: [] };
    },
    close: () => fleet.drain(),
  };
}

export interface RestIdleChatsDeps {
  readonly runtime: Pick<Runtime, 'watch' | 'session'>;
  readonly clock: Pick<Clock, 'after'>;
}

/** How long an idle conversation stays in its process. The next message often comes soon. */
const IDLE_MS = 60_000;

/**
 * Releases conversations that have been idle for a while, so that other streams of the fleet can use their slots. A
 * message makes a process with a free slot resume the conversation. The returned function ends this.
 */
export function restIdleChats({ runtime, clock }: RestIdleChatsDeps): () => void {
  /** For each session, a function that cancels its release. */
  const idle = new Map<string, () => void>();
  const unwatch = runtime.watch((event) => {
    if (!('session' in event) || event.session === undefined) return;
    const { session } = event;
    if (idle.size > 0) {
      idle.get(session)?.();
      idle.delete(session);
    }
    if (event.type !== 'session.waiting' || event.for !== 'message') return;
    const letGo = () => {
      idle.delete(session);
      // A message that arrives at this moment waits in the inbox, and resumes the session.
      void runtime.session(session)?.interrupt();
    };
    idle.set(session, clock.after(IDLE_MS, letGo));
  });
  return () => {
    unwatch();
    for (const cancel of idle.values()) cancel();
    idle.clear();
  };
}

export interface ListenersOptions {
  readonly runtime: { readonly workflows: Pick<Runtime['workflows'], 'listen'> };
  readonly catalog: Pick<AgentCatalog, 'list' | 'onChange'>;
  /** Called each time a schedule is due. */
  readonly onDue?: (agent: string, trigger: string, outcome: OutsideOutcome, due: DueTime) => void;
  readonly onError: (thrown: unknown) => void;
}

interface BackgroundOpen {
  readonly hash: string;
  readonly path: string;
  readonly listening: Listening;
}

/**
 * Subscribes to the triggers of every agent in a catalog. When the catalog changes, changed agents are subscribed again
 * and removed ones are dropped. Unchanged agents are left alone. An agent that fails to subscribe keeps its previous
 * subscription.
 */
export function createListeners({ runtime, catalog, onDue, onError }: ListenersOptions): Listeners {
  const open = new Map<string, BackgroundOpen>();
  let broken = new Map<string, ErrorJson>();
  let ambiguous: readonly ListenProblem[] = [];

  const listenFor = (name: string, agent: LoadedAgent<unknown>): Listening =>
    runtime.workflows.listen(agent, {
      onDue: (trigger, outcome, due) => onDue?.(name, trigger, outcome, due),
      onError,
    });

  const follow = () => {
    const named = new Map(
      catalog.list().flatMap(({ name, agent }) => (agent === undefined ? [] : [[name, agent]])),
    );
    const wasBroken = broken;
    broken = new Map();
    for (const [name, { listening }] of open)
      if (!named.has(name)) {
        listening.close();
        open.delete(name);
      }
    for (const [name, agent] of named) {
      const before = open.get(name);
      if (before?.hash === agent.hash && before.path === agent.path) continue;
      try {
        // Subscribe to the new version first, so that no event is missed.
        const listening = listenFor(name, agent);
        before?.listening.close();
        open.set(name, { hash: agent.hash, path: agent.path, listening });
      } catch (thrown) {
        const error = toRuntimeError(thrown);
        broken.set(name, error.toJSON());
        if (wasBroken.get(name)?.message !== error.message) onError(thrown);
      }
    }
    tellAmbiguous();
  };

  const agentsOf = (hook: string): readonly string[] =>
    [...open].flatMap(([name, { listening }]) => (listening.hooks.includes(hook) ? [name] : []));

  const tellAmbiguous = () => {
    const known = new Set(ambiguous.map(({ error }) => error.message));
    const hooks = new Set([...open.values()].flatMap(({ listening }) => listening.hooks));
    const found = [...hooks].flatMap((hook) => {
      const agents = agentsOf(hook);
      return agents.length > 1 ? [{ agents, error: hookAmbiguous(hook, agents) }] : [];
    });
    ambiguous = found.map(({ agents, error }) => ({ agents, error: error.toJSON() }));
    for (const { error } of found) if (!known.has(error.message)) onError(error);
  };

  follow();
  const endFollowing = catalog.onChange(follow);
  return {
    async deliver(hook, body, headers) {
      const agents = agentsOf(hook);
      const [agent] = agents;
      const found = agent === undefined ? undefined : open.get(agent);
      if (found === undefined)
        throw hookUnknown(
          hook,
          [...open.values()].flatMap(({ listening }) => listening.hooks),
        );
      if (agents.length > 1) throw hookAmbiguous(hook, agents);
      return found.listening.deliver(hook, body, headers);
    },
    hooks: () =>
      [...open].flatMap(([agent, { listening }]) => listening.hooks.map((hook) => ({ hook, agent }))),
    problems: () => [...Array.from(broken, ([agent, error]) => ({ agents: [agent], error })), ...ambiguous],
    close() {
      endFollowing();
      for (const { listening } of open.values()) listening.close();
      open.clear();
    },
  };
}

/** The error is retryable, so senders deliver the request again and nothing is lost. */
const hookAmbiguous = (hook: string, agents: readonly string[]) =>
  new RuntimeError(
    'hook_ambiguous',
    `The agents ${agents.join(' and ')} both listen to the hook "${hook}", so it starts none of them.`,
    {
      hint: 'Give one of their triggers another "hook", or import the workflow in only one of them.',
      retryable: true,
    },
  );

export interface ListenProblem {
  /** The affected agents. */
  readonly agents: readonly string[];
  readonly error: ErrorJson;
}

/** The schedules and hooks of all agents in a catalog, kept up to date. */
export interface Listeners {
  /** Delivers a request to whichever agent listens to the hook. Rejects with `hook_ambiguous` if several do. */
  deliver(hook: string, body: string | Uint8Array, headers: HookHeaders): Promise<OutsideOutcome>;
  /** Which agent listens to which hook. */
  hooks(): readonly { readonly hook: string; readonly agent: string }[];
  /** Errors of agents whose hooks or schedules are inactive, or still those from before the last change. */
  problems(): readonly ListenProblem[];
  /** Stops starting workflows. Scheduled runs that are due start after the next startup. */
  close(): void;
}
