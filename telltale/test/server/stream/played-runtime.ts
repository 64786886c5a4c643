import { encodeEvent } from '../../../src/log/codec.ts';
import type { ObservedEvent, SessionEvent } from '../../../src/log/event.ts';
import { encodeRunEvent } from '../../../src/log/run-codec.ts';
import type { RunEvent } from '../../../src/log/run-event.ts';
import type { StreamRuntime } from '../../../src/server/stream/stream-source.ts';

type Told = SessionEvent | RunEvent;

/** A runtime whose log, and whatever is told of it, a test plays: in orders that are rare in a real one. */
export interface PlayedRuntime {
  readonly runtime: StreamRuntime;
  /** Puts an event onto the log of a stream, and tells nobody. */
  write(event: Told): void;
  /** Tells those who watch the runtime. */
  tell(event: Told): void;
  /** Tells those who follow the session, which is worked on here from `begin` to `letGo`. */
  show(event: ObservedEvent): void;
  begin(session: string): void;
  letGo(session: string): Promise<void>;
  /** Tells those who watch the store. */
  move(stream: string): void;
  /** Reads of the store wait until the returned function is called. */
  hold(): () => void;
  /** Resolves once a read waits. */
  held(): Promise<void>;
}

export const textEvent = (session: string, seq: number, text = `text ${seq}`): SessionEvent => ({
  type: 'text',
  text,
  seq,
  at: seq,
  session,
  turn: 1,
  cause: { stream: session, seq: 0, depth: 0 },
});

export const stepEvent = (run: string, seq: number): RunEvent => ({
  type: 'workflow.waiting',
  for: `${seq}`,
  seq,
  at: seq,
  run,
  cause: { stream: run, seq: 0, depth: 0 },
});

export function createPlayedRuntime(): PlayedRuntime {
  const logs = new Map<string, { readonly kind: 'session' | 'run'; readonly lines: string[] }>();
  const watchers = new Set<(event: Told) => void>();
  const movers = new Map<string, () => void>();
  const here = new Map<
    string,
    { readonly end: () => void; readonly listeners: Set<(e: ObservedEvent) => void> }
  >();
  let gate: Promise<void> | undefined;
  let onHeld: () => void = () => undefined;
  const infoOf = (stream: string) => {
    const log = logs.get(stream);
    return log && { stream, kind: log.kind, status: 'running', head: log.lines.length, createdAt: 0 };
  };
  const runtime = {
    store: {
      location: 'played',
      info: async (stream: string) => infoOf(stream),
      list: async () => [...logs.keys()].map(infoOf),
      async read(stream: string, { from = 1, limit = 1_000 } = {}) {
        const lines = logs.get(stream)?.lines.slice(from - 1, from - 1 + limit) ?? [];
        if (gate !== undefined) {
          onHeld();
          await gate;
        }
        return lines;
      },
      watch(stream: string, moved: () => void) {
        movers.set(stream, moved);
        return () => movers.delete(stream);
      },
    },
    watch(watcher: (event: Told) => void) {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    session(id: string) {
      const session = here.get(id);
      if (session === undefined) return undefined;
      return {
        id,
        result: new Promise<void>((resolve) => {
          const { end } = session;
          here.set(id, {
            ...session,
            end() {
              end();
              resolve();
            },
          });
        }),
        speech: (told: (open: undefined) => void) => told(undefined),
        subscribe(listener: (event: ObservedEvent) => void) {
          session.listeners.add(listener);
          return () => session.listeners.delete(listener);
        },
      };
    },
  } as unknown as StreamRuntime;
  return {
    runtime,
    write(event) {
      const stream = 'session' in event ? event.session : event.run;
      const log = logs.get(stream) ?? { kind: 'session' in event ? 'session' : 'run', lines: [] };
      const line =
        'session' in event
          ? encodeEvent(event, { type: 'text', text: event.type === 'text' ? event.text : '' })
          : encodeRunEvent(event, { type: 'workflow.waiting', for: '' });
      logs.set(stream, log).get(stream)?.lines.push(line);
    },
    tell(event) {
      for (const watcher of watchers) watcher(event);
    },
    show(event) {
      const stream = 'session' in event ? event.session : '';
      for (const listener of here.get(stream)?.listeners ?? []) listener(event);
    },
    begin(session) {
      here.set(session, { end: () => undefined, listeners: new Set() });
    },
    async letGo(session) {
      const { end } = here.get(session) ?? { end: () => undefined };
      here.delete(session);
      end();
    },
    move(stream) {
      movers.get(stream)?.();
    },
    hold() {
      let open: () => void = () => undefined;
      gate = new Promise((resolve) => {
        open = () => {
          gate = undefined;
          resolve();
        };
      });
      return open;
    },
    held: () =>
      new Promise((resolve) => {
        onHeld = resolve;
      }),
  };
}
