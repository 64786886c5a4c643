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

/**
 * In a fleet, what is alive and has nobody at work on it is found by whichever process looks for it, and goes to one that
 * has room: there is nothing to take up at a start, and nothing to be watched for here. What cannot go on here is tried
 * by others, and laid aside in the end.
 */
function createFleetCaretaker(
  { runtime, catalog }: Pick<CaretakerDeps, 'runtime' | 'catalog'>,
  fleet: Pick<Fleet, 'workOnSessions' | 'drain'>,
): Pick<Caretaker, 'recover' | 'close'> {
  const deps = { runtime, catalog, onError: () => undefined }; // its log has what went wrong
  return {
    async recover() {
      fleet.workOnSessions(async (session, _signal, taken) => {
        await takeUp(deps, session);
        const live = runtime.session(session);
        if (live === undefined) return { kind: 'done' }; // another has it, or it has ended
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

/** For how long a conversation stays in its process after its last word: the next one often comes soon. */
const IDLE_MS = 60_000;

/**
 * Lets go of conversations in which nobody has said anything for a while: their places are for others of the fleet's
 * streams, and a message has them taken up by whoever has room. The returned function ends that.
 */
export function restIdleChats({ runtime, clock }: RestIdleChatsDeps): () => void {
  /** By session, what takes its letting go back. */
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
      // What is said in this very moment waits in its inbox: that has it taken up again.
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
  /** Told of each time that a schedule was due. */
  readonly onDue?: (agent: string, trigger: string, outcome: OutsideOutcome, due: DueTime) => void;
  readonly onError: (thrown: unknown) => void;
}

interface BackgroundOpen {
  readonly hash: string;
  readonly path: string;
  readonly listening: Listening;
}

/**
 * Listens for every agent of a catalog. When the catalog changes, agents that are as they were are left alone, those
 * that changed are listened for as they are now, and those that are gone no longer. One that cannot be listened for
 * keeps what it had.
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
        // The new one first: there is no moment at which nobody listens.
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

/** Nothing is lost by it: senders try again what was answered so. */
const hookAmbiguous = (hook: string, agents: readonly string[]) =>
  new RuntimeError(
    'hook_ambiguous',
    `The agents ${agents.join(' and ')} both listen to the hook "${hook}": none of them is started by it.`,
    {
      hint: 'Give one of their triggers another "hook", or have only one of them import the workflow.',
      retryable: true,
    },
  );

export interface ListenProblem {
  /** The agents that it is about. */
  readonly agents: readonly string[];
  readonly error: ErrorJson;
}

/** The schedules and hooks of all agents of a catalog, as it changes. */
export interface Listeners {
  /** As `Listening.deliver`, whichever agent listens. Rejects with `hook_ambiguous` where several do. */
  deliver(hook: string, body: string | Uint8Array, headers: HookHeaders): Promise<OutsideOutcome>;
  /** Who listens to what. */
  hooks(): readonly { readonly hook: string; readonly agent: string }[];
  /** Why hooks or schedules of agents are not listened to, or only as they were before the last change. */
  problems(): readonly ListenProblem[];
  /** Starts nothing any more. What waits for its turn by a schedule is started after the next start. */
  close(): void;
}
