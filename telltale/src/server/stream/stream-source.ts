import type { ObservedEvent } from '../../events/event.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Afar, followAfar } from '../../session/distant/follow-afar.ts';
import type { Runtime, Session } from '../../session/runtime-types.ts';
import type { OpenSpeech } from '../../session/speech.ts';
import type { ReadPage } from './log-pages.ts';

/** What is needed of a runtime. */
export type StreamRuntime = Pick<Runtime, 'store' | 'watch' | 'session'>;

/** Where a stream's events come from: the session, where it is worked on here, else the store and what other processes tell. */
export interface StreamSource {
  /** Whether it is worked on here. */
  isHere(): boolean;
  /**
   * Tells what is said of elements that are still open. Where another process works on it, deltas are asked for from the
   * first time on that somebody wants to know, and what is open may be told by `spoken` instead.
   */
  speech(told: (open: OpenSpeech | undefined) => void): void;
  /** To be called when it may have been taken up here. */
  look(): void;
  close(): void;
}

export interface StreamSourceDeps {
  readonly runtime: StreamRuntime;
  readonly clock: Clock;
  readonly kind: 'session' | 'run';
  readonly stream: string;
  readonly pages: () => ReadPage;
  readonly told: (event: ObservedEvent) => void;
  /** What is open, for all: deltas that came before may have been missed. */
  readonly spoken: (open: OpenSpeech | undefined) => void;
  /** The log may have more than was told. */
  readonly moved: () => void;
}

export function createStreamSource(deps: StreamSourceDeps): StreamSource {
  const { runtime, clock, kind, stream, pages, told, spoken, moved } = deps;
  const { store } = runtime;
  const live = kind === 'session' ? store.shared?.live : undefined;
  let session: Session<unknown> | undefined;
  let afar: Afar | undefined;
  let isAskedFor = false;
  let stop: (() => void) | undefined;
  let isClosed = false;

  const attach = () => {
    stop?.();
    afar = undefined;
    session = kind === 'session' ? runtime.session(stream) : undefined;
    if (session === undefined) {
      stop = store.watch(stream, moved);
      if (isAskedFor) listen();
      return;
    }
    const own = session;
    stop = own.subscribe(told);
    const letGo = () => {
      if (isClosed || session !== own) return;
      attach();
      moved();
    };
    own.result.then(letGo, letGo);
  };

  /** From the log's end on; what is before it is read by whoever needs it. */
  const listen = () => {
    isAskedFor = true;
    const watching = stop;
    store.info(stream).then((info) => {
      if (isClosed || info === undefined || stop !== watching) return;
      watching?.();
      // A log that cannot be read is found to be so by whoever tells the clients.
      afar = followAfar({ store, page: pages(), live, clock }, stream, info.head, {
        told,
        spoken,
        onFailure: moved,
      });
      stop = afar.close;
      moved();
    }, moved);
  };
  attach();

  return {
    isHere: () => session !== undefined,
    speech(asker) {
      if (session !== undefined) session.speech(asker);
      else if (afar !== undefined) afar.speech(asker);
      else if (live !== undefined && !isAskedFor) listen();
    },
    look() {
      if (session === undefined && kind === 'session' && runtime.session(stream) !== undefined) attach();
    },
    close() {
      isClosed = true;
      stop?.();
    },
  };
}
