import { decodeEvent } from '../../events/codec.ts';
import type { ObservedEvent } from '../../events/event.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Runtime, Session } from '../runtime-types.ts';
import type { OpenSpeech } from '../speech.ts';
import { followAfar } from './follow-afar.ts';
import { createSpeechSoFar } from './speech-so-far.ts';

export interface FollowDeps {
  readonly runtime: Pick<Runtime, 'store' | 'session' | 'prompt'>;
  readonly clock: Clock;
}

export interface FollowOptions {
  /** The last durable event that is known already. */
  readonly after: number;
  readonly told: (event: ObservedEvent) => void;
  /** The log could not be read; it is read again when it moves. */
  readonly onFailure: (thrown: unknown) => void;
}

/** Lines that are read at a time. */
const PAGE = 500;
/** Events that wait until the log was read up to them; with more, it is begun anew. */
const MAX_WAITING = 4_096;

/**
 * The events of a session, wherever it is worked on and wherever it moves: each durable one behind `after` once and in
 * order, live ones in their place for as long as they can be had. Whoever joins in the middle is told what is open as
 * deltas. The returned function ends it.
 */
export function followSession(
  { runtime, clock }: FollowDeps,
  session: string,
  { after, told, onFailure }: FollowOptions,
): () => void {
  const { store } = runtime;
  const soFar = createSpeechSoFar();
  let head = after;
  let isClosed = false;
  let stop: () => void = () => undefined;

  const page = (from: number) => store.read(session, { from, limit: PAGE });
  const tell = (event: ObservedEvent) => {
    if (isClosed) return;
    if ('seq' in event) {
      if (event.seq <= head) return;
      head = event.seq;
    }
    soFar.note(event);
    told(event);
  };
  const spoken = (open: OpenSpeech | undefined) => {
    if (open !== undefined) for (const event of soFar.missing(session, open)) tell(event);
  };

  const attach = () => {
    stop();
    if (isClosed) return;
    const here = runtime.session(session);
    if (here !== undefined) {
      stop = followHere(here);
      return;
    }
    const live = store.shared?.live;
    const afar = followAfar({ store, page, live, clock }, session, head, {
      told: tell,
      spoken,
      onFailure,
      moved() {
        if (runtime.session(session) !== undefined) attach();
      },
    });
    stop = afar.close;
  };

  /** What is on the log already is read there first; what comes meanwhile waits. */
  const followHere = (here: Session<unknown>): (() => void) => {
    let waiting: ObservedEvent[] | undefined = [];
    let isLeft = false;
    const unsubscribe = here.subscribe((event) => {
      if (waiting === undefined) tell(event);
      else if (waiting.push(event) > MAX_WAITING) attach();
    });
    const begin = (open: OpenSpeech | undefined) => {
      if (isLeft) return;
      spoken(open);
      const due = waiting ?? [];
      waiting = undefined;
      for (const event of due) tell(event);
    };
    here.speech((open, seq) => {
      waiting = []; // what came before is in it, or on the log
      if (seq <= head) begin(open);
      else readTo(seq, () => isLeft).then(() => begin(open), onFailure);
    });
    const letGo = () => {
      if (!isLeft) attach();
    };
    here.result.then(letGo, letGo);
    return () => {
      isLeft = true;
      unsubscribe();
    };
  };

  const readTo = async (seq: number, isLeft: () => boolean) => {
    while (head < seq && !isClosed && !isLeft()) {
      const lines = await page(head + 1);
      if (lines.length === 0) return;
      for (const line of lines) tell(decodeEvent(line, session));
    }
  };

  attach();
  return () => {
    isClosed = true;
    stop();
  };
}
