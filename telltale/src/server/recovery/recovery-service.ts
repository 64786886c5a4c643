import type { Runtime } from '../../agent/runtime-types.ts';
import type { Clock } from '../../lib/clock.ts';
import { type RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { SessionEvent } from '../../log/event.ts';
import type { RunEvent } from '../../log/run-event.ts';
import { QUARANTINED } from '../../store/quarantine.ts';
import type { StreamInfo } from '../../store/store.ts';
import type { AgentCatalog } from '../catalog/agent-catalog.ts';
import { takeUp as goOn, whoGoesOn } from './pick-up.ts';
import type { RecoveryGuard } from './recovery-guard.ts';

/** Makes sure that live sessions are worked on: after a restart, and when something they were waiting for arrives. */
export interface Caretaker {
  /** Resumes every session and run that was alive when its process stopped. */
  recover(): Promise<Recovered>;
  /** Resumes a session that has no owner. Does nothing if it has one. */
  takeUp(session: string): Promise<void>;
  close(): Promise<void>;
}

export interface Recovered {
  readonly sessions: readonly string[];
  readonly runs: readonly string[];
  /** Streams that cannot continue here, with reasons. */
  readonly left: readonly { readonly stream: string; readonly why: string }[];
}

export interface CaretakerDeps {
  readonly runtime: Runtime;
  readonly catalog: Pick<AgentCatalog, 'list'>;
  readonly clock: Clock;
  /** Counts recoveries that a process did not survive. */
  readonly guard?: RecoveryGuard | undefined;
  /** Called once for each stream that cannot be resumed. */
  readonly onLeft: (stream: string, why: string) => void;
  readonly onError?: (thrown: unknown) => void;
}

/** The most waiting sessions that are watched. Others continue when someone resumes them. */
const MAX_ATTENDED = 10_000;
/** When to check a session again that had an owner. */
const LOOKS_MS = [50, 200, 1_000];
/** How often, and how many times, to check a session whose store failed: for an hour. */
const TEND_MS = 10_000;
const TENDS = 360;
/** The most sessions resumed in parallel. */
const AT_ONCE = 16;

export function createCaretaker({
  runtime,
  catalog,
  clock,
  guard,
  onLeft,
  onError = () => undefined,
}: CaretakerDeps): Caretaker {
  const { store } = runtime;
  /** Waiting sessions, with the functions that stop watching them. */
  const attended = new Map<string, () => void>();
  const underWay = new Map<string, Promise<void>>();
  /** Sessions that will be checked again soon. */
  const looks = new Set<string>();
  /** Sessions whose store failed, with the functions that stop waiting for it. */
  const tended = new Map<string, () => void>();
  let closed = false;

  const takeUp = (session: string): Promise<void> => {
    const running = underWay.get(session);
    if (running !== undefined || closed) return running ?? Promise.resolve();
    forget(session); // it is watched again when it waits again
    const work = resume(session).finally(() => underWay.delete(session));
    underWay.set(session, work);
    return work;
  };

  /** Sessions that wait for a free slot in this process. */
  const inLine = new Set<string>();
  const nextInLine = (): void => {
    const [first] = inLine;
    if (first === undefined || closed || runtime.places?.free === 0) return;
    inLine.delete(first);
    // It may have ended or found an owner meanwhile. Then its slot is for the next one.
    void takeUp(first).then(nextInLine);
  };
  const unheard = runtime.places?.onFree(nextInLine);

  const resume = async (session: string): Promise<void> => {
    try {
      const taken = await goOn({ runtime, catalog, onError: () => undefined }, session); // errors are on its log
      if (taken === 'no room') {
        inLine.add(session);
        return;
      }
      // Nobody else notices what arrives while it is being released.
      const look = () => void attend(session).catch(() => undefined);
      void wasStoreTrouble(session).then((was) => (was ? tend(session) : look()));
    } catch (thrown) {
      const error = toRuntimeError(thrown);
      if (error.code === 'runtime_closed') return;
      if (isStoreTrouble(error)) return tend(session);
      forget(session);
      onLeft(session, `${error.message} ${error.hint ?? ''}`.trim());
    }
  };

  /** Watches a waiting session until something arrives for it. */
  const attend = async (session: string, look = 0): Promise<void> => {
    const info = await store.info(session);
    if (closed || info === undefined) return;
    const isMoved = info.status === 'running' || info.messages !== undefined;
    const above = info.parent === undefined || !isMoved ? undefined : await whoGoesOn(store, session);
    if (info.owner !== undefined || above?.owner !== undefined) {
      // Whoever wrote the answer owns the stream for a moment, and does not announce its release.
      const delay = LOOKS_MS[look];
      if (delay === undefined || looks.has(session)) return;
      looks.add(session);
      clock.after(delay, () => {
        looks.delete(session);
        void attend(session, look + 1).catch(() => undefined);
      });
      return;
    }
    if (info.status === QUARANTINED) return forget(session);
    if (isMoved) return takeUp(session);
    if (info.status !== 'waiting') return forget(session);
    if (attended.has(session) || attended.size >= MAX_ATTENDED) return;
    attended.set(
      session,
      // If the store cannot answer, the next change triggers another check.
      store.watch(session, () => void attend(session).catch(() => undefined)),
    );
    await attendCalled(session);
  };

  /**
   * Also watches the agents it called, because their messages concern it, too, even if they arrived while it was being
   * released.
   */
  const attendCalled = async (session: string): Promise<void> => {
    const called = await store.list({ kind: 'session', parent: session, status: ['running', 'waiting'] });
    for (const { stream } of called) await attend(stream);
  };

  /** Waits until nobody works on the session here any more. */
  const wasStoreTrouble = async (session: string): Promise<boolean> => {
    try {
      const ended = await runtime.session(session)?.result;
      return ended?.status === 'interrupted' && ended.error !== undefined && isStoreTrouble(ended.error);
    } catch (thrown) {
      return isStoreTrouble(toRuntimeError(thrown));
    }
  };

  /** A session whose log could not be written continues when the store works again. */
  const tend = (session: string, left = TENDS): void => {
    if (closed || left === 0 || tended.has(session)) return;
    const look = async () => {
      tended.delete(session);
      const info = await store.info(session).catch(() => undefined); // the next check may succeed
      if (info !== undefined && info.status !== 'running') return;
      if (info === undefined || info.owner !== undefined) tend(session, left - 1);
      else await takeUp(session);
    };
    tended.set(
      session,
      clock.after(TEND_MS, () => void look()),
    );
  };

  const forget = (session: string) => {
    attended.get(session)?.();
    attended.delete(session);
  };

  const observe = (event: SessionEvent | RunEvent) => {
    if (event.type === 'session.started' && event.parent === undefined)
      void wasStoreTrouble(event.session).then((was) => {
        if (was) tend(event.session);
      });
    if (event.type !== 'session.waiting' || !('session' in event)) return;
    const look = () => void attend(event.session).catch(() => undefined);
    const live = runtime.session(event.session);
    if (live === undefined) look();
    else live.result.then(look, look);
  };
  const unwatch = runtime.watch(observe);

  return {
    takeUp,
    async recover() {
      const alive = await store.list({ kind: 'session', status: ['running', 'waiting'] });
      const left: { stream: string; why: string }[] = [];
      const sessions: string[] = [];
      const own = alive.filter(({ owner, parent }) => owner === undefined && parent === undefined).reverse();
      const goesOn = ({ status, head, messages }: StreamInfo) =>
        head > 0 && (status !== 'waiting' || messages !== undefined);
      const recoverOne = async (stream: string) => {
        await guard?.begin(stream);
        await takeUp(stream);
        if (runtime.session(stream) !== undefined || inLine.has(stream)) sessions.push(stream);
        else left.push({ stream, why: 'See the message above.' });
      };
      const sorted = await guard?.sort(own.filter(goesOn).map(({ stream }) => stream));
      const fresh = sorted === undefined ? undefined : new Set(sorted.fresh);
      for (let at = 0; at < own.length; at += AT_ONCE)
        await Promise.all(
          own.slice(at, at + AT_ONCE).map(async (info) => {
            if (info.head === 0) return;
            if (!goesOn(info)) return attend(info.stream);
            if (fresh?.has(info.stream) !== false) await recoverOne(info.stream);
          }),
        );
      const aliveRuns =
        guard === undefined ? [] : await store.list({ kind: 'run', status: ['running', 'waiting'] });
      const isDue = ({ due }: StreamInfo) => due !== undefined && due <= clock.now();
      const inHand = aliveRuns.filter((info) => info.owner === undefined && (goesOn(info) || isDue(info)));
      const sortedRuns = await guard?.sort(inHand.map(({ stream }) => stream));
      for (const stream of sortedRuns?.fresh ?? []) await guard?.begin(stream);
      const later = new Set(sortedRuns?.suspected);
      const runs = await runtime.workflows.recover(later);
      // Recovered one by one, so that a failure can be attributed, and after all others, which have started by then.
      const recoverSuspected = async () => {
        for (const stream of sorted?.suspected ?? []) {
          await recoverOne(stream);
          await guard?.past(stream);
        }
        for (const stream of later) {
          await guard?.begin(stream);
          runtime.workflows.wake(stream);
          await guard?.past(stream);
        }
      };
      void recoverSuspected().catch(onError);
      const called = alive.filter(({ owner, parent }) => owner === undefined && parent !== undefined);
      for (let at = 0; at < called.length; at += AT_ONCE)
        await Promise.all(called.slice(at, at + AT_ONCE).map(({ stream }) => attend(stream)));
      return { sessions, runs, left };
    },
    async close() {
      closed = true;
      unheard?.();
      unwatch();
      for (const session of [...attended.keys()]) forget(session);
      for (const cancel of tended.values()) cancel();
      await guard?.close();
      await Promise.all(underWay.values());
    },
  };
}

/** Errors that may pass by themselves: a full disk, a lock. */
const isStoreTrouble = ({ code, retryable }: Pick<RuntimeError, 'code' | 'retryable'>): boolean =>
  code.startsWith('store_') && retryable;
