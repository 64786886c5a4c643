import type { ObservedEvent } from '../../events/event.ts';
import type { Runtime, Session } from '../../session/runtime-types.ts';
import type { OpenSpeech } from '../../session/speech.ts';

/** What is needed of a runtime. */
export type StreamRuntime = Pick<Runtime, 'store' | 'watch' | 'session'>;

/** Where a stream's events come from: the session, where it is worked on here, else the store. */
export interface StreamSource {
  /** Whether it is worked on here: only then are there deltas. */
  isHere(): boolean;
  /** Tells what is said of elements that are still open; nothing where it is not worked on here. */
  speech(told: (open: OpenSpeech | undefined) => void): void;
  /** To be called when it may have been taken up here. */
  look(): void;
  close(): void;
}

export interface StreamSourceEdges {
  readonly runtime: StreamRuntime;
  readonly kind: 'session' | 'run';
  readonly stream: string;
  readonly told: (event: ObservedEvent) => void;
  /** The log may have more than was told. */
  readonly moved: () => void;
}

export function createStreamSource({ runtime, kind, stream, told, moved }: StreamSourceEdges): StreamSource {
  let session: Session<unknown> | undefined;
  let stop: (() => void) | undefined;
  let isClosed = false;

  const attach = () => {
    stop?.();
    session = kind === 'session' ? runtime.session(stream) : undefined;
    if (session === undefined) {
      stop = runtime.store.watch(stream, moved);
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
  attach();

  return {
    isHere: () => session !== undefined,
    speech(told) {
      session?.speech(told);
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
