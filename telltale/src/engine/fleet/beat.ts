import type { Clock } from '../../kernel/clock.ts';

/** Something that a process does about once a second, and sooner when it is told that there may be reason to. */
export interface Beat {
  start(): void;
  poke(): void;
  /** Resolves once what is under way has ended; nothing is begun after that. */
  stop(): Promise<void>;
}

export interface BeatOptions {
  readonly clock: Clock;
  /** From 0 up to 1: keeps a thousand processes from beating at once. */
  readonly random: () => number;
  /** How long pokes are gathered. */
  readonly soonMs: number;
  /** `soon` asks for the next one as a poke does. `poked`: since the last one somebody had reason to ask. */
  readonly run: (poked: boolean) => Promise<'soon' | undefined>;
  /** Told of the first error of a row, and then once a minute. */
  readonly onError: (thrown: unknown) => void;
}

const EVERY_MS = 1_000;
/** Of the pause, by chance. */
const JITTER = 0.2;
const TELL_MS = 60_000;

/** One at a time. After an error no poke shortens the pause: whatever is broken is tried once a second at the most. */
export function createBeat({ clock, random, soonMs, run, onError }: BeatOptions): Beat {
  let cancel: (() => void) | undefined;
  let dueAt = Number.POSITIVE_INFINITY;
  let running: Promise<void> | undefined;
  let status: 'new' | 'started' | 'stopped' = 'new';
  let poked = false;
  let failing = false;
  let toldAt = Number.NEGATIVE_INFINITY;

  const arm = (delayMs: number) => {
    const due = clock.monotonic() + delayMs;
    if (status !== 'started' || running !== undefined || due >= dueAt) return;
    cancel?.();
    dueAt = due;
    cancel = clock.after(delayMs, beat);
  };

  const beat = () => {
    cancel = undefined;
    dueAt = Number.POSITIVE_INFINITY;
    const wasPoked = poked;
    poked = false;
    running = run(wasPoked).then(
      (next) => settle(next === 'soon'),
      (thrown) => {
        const now = clock.monotonic();
        if (!failing || now - toldAt >= TELL_MS) {
          toldAt = now;
          onError(thrown);
        }
        settle('failed');
      },
    );
  };

  const settle = (next: boolean | 'failed') => {
    running = undefined;
    failing = next === 'failed';
    if (next === true) poked = true;
    arm(poked && !failing ? soonMs : EVERY_MS * (1 + JITTER * random()));
  };

  return {
    start() {
      if (status !== 'new') return;
      status = 'started';
      arm(soonMs);
    },
    poke() {
      poked = true;
      if (!failing) arm(soonMs);
    },
    async stop() {
      status = 'stopped';
      cancel?.();
      await running;
    },
  };
}
