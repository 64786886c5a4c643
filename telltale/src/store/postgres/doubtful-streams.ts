import type { Ask } from './ask.ts';
import type { Ownership } from './ownership.ts';

/**
 * Streams whose making or taking failed without an answer: it may have gone through all the same, or may still do so, and
 * then they are this owner's without its knowing, and nobody works on them. Each is given up for a while, as often as it
 * is found to be so.
 */
export interface DoubtfulStreams {
  add(streams: readonly string[]): void;
  isEmpty(): boolean;
  /** Not while something is written: then one that is being taken looks the same. */
  giveUp(): Promise<void>;
}

export interface DoubtfulDeps {
  readonly ask: Ask;
  readonly schema: string;
  readonly ownership: Pick<Ownership, 'id'>;
  /** Whether this store knows that it writes the stream. */
  readonly isHeld: (stream: string) => boolean;
  /** What was given up is anybody's. */
  readonly onGivenUp: () => void;
}

/** Longer than a server keeps a call that it has received and that waits for a lock. */
const DOUBT_MS = 60_000;
/** Of one that is not written down here, the end of this process is what frees it. */
const MAX_DOUBTFUL = 10_000;

export function createDoubtfulStreams(deps: DoubtfulDeps): DoubtfulStreams {
  const { ask, schema, ownership, isHeld, onGivenUp } = deps;
  const until = new Map<string, number>();
  return {
    add(streams) {
      for (const stream of streams)
        if (until.size < MAX_DOUBTFUL) until.set(stream, performance.now() + DOUBT_MS);
    },
    isEmpty: () => until.size === 0,
    async giveUp() {
      const now = performance.now();
      const streams = [...until.keys()].filter((stream) => !isHeld(stream));
      const { rows } = await ask(
        `UPDATE "${schema}".heads h SET owner = NULL FROM "${schema}".streams s
          WHERE s.stream = ANY ($1::text[]) AND h.id = s.id AND h.owner = $2 RETURNING 1`,
        [streams, ownership.id],
      );
      if (rows.length > 0) onGivenUp();
      for (const [stream, end] of until) if (end <= now || isHeld(stream)) until.delete(stream);
    },
  };
}
