import type { Json } from '../../src/lib/json.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import type { RunEvent } from '../../src/log/run-event.ts';
import type { JournalLine } from './journal.ts';

/** A log as it was found in the end. */
export interface StreamLog {
  readonly stream: string;
  /** The agent or workflow. */
  readonly name: string;
  readonly status: string;
  /** Messages that were left in its inbox. */
  readonly left: number;
  readonly log:
    | { readonly kind: 'session'; readonly events: readonly SessionEvent[] }
    | { readonly kind: 'run'; readonly events: readonly RunEvent[] };
}

/** What was asked of the fleet. `acked`: it said that it had taken it; else nobody knows. */
export interface Asked {
  readonly kind: 'start' | 'signal' | 'steer' | 'hook';
  /** Unlike all others; it comes back in what the log says of it. */
  readonly token: string;
  readonly acked: boolean;
  /** Whom it was for, or what was begun with it. */
  readonly stream?: string;
}

/** Who was seen to own a stream, in the order of looking. */
export interface Owned {
  readonly stream: string;
  readonly epoch: number;
  readonly owner: string;
}

/** All that is known of a time with faults, once all is quiet again. */
export interface Evidence {
  readonly journal: readonly JournalLine[];
  readonly streams: ReadonlyMap<string, StreamLog>;
  /** Lines of logs as they were read meanwhile, and as they are. */
  readonly seen: ReadonlyMap<string, readonly string[]>;
  readonly lines: ReadonlyMap<string, readonly string[]>;
  /** How long the journal was after a step or action was seen as completed: by its key. */
  readonly completedAt: ReadonlyMap<string, number>;
  readonly owned: readonly Owned[];
  readonly asked: readonly Asked[];
  /** What comes out where nothing happens, by agent or workflow. */
  readonly undisturbed: ReadonlyMap<string, Json>;
  /** Whether a clock was set meanwhile: then a schedule may leave times out. */
  readonly clocksSet: boolean;
  /** When all was quiet. */
  readonly quietAt: number;
}

/** What has to hold, whatever happens. */
export const INVARIANTS = {
  ended: 'each session and run that was begun has completed',
  effects: 'what has completed was done',
  once: 'what may not be done twice was done at most once',
  again: 'what had completed was not done again',
  doubt: 'what was interrupted may not be done twice, and had begun',
  intent: 'nothing was done that the log does not know of',
  settled: 'each step and action ended once',
  order: 'nothing was done before what it depends on',
  skips: 'a skipped action depends on an interrupted one, or on a `<parallel>` that its turn broke off in',
  gapless: 'events count from 1 without gaps',
  causes: 'each event names what brought it about, which was there before it',
  forks: 'whoever reads later reads the same, and more; epochs rise with owners',
  waits: 'each wait was set once and fired once, not before its time',
  messages: 'each message that was taken came once',
  begun: 'each request began one session or run',
  schedules: 'each time of the schedule has one run',
  triggers: 'each trigger that fired has one run',
  calls: 'who called a run got what it gave',
  reviews: 'each question was answered once',
  answers: 'a result is that of a quiet day, except for what was interrupted or skipped',
} as const;

export type Invariant = keyof typeof INVARIANTS;

export interface Breach {
  readonly invariant: Invariant;
  readonly about: string;
}

/** Counts what was looked at, and keeps what did not hold. */
export interface Verdict {
  readonly checked: Record<Invariant, number>;
  readonly breaches: Breach[];
  hold(invariant: Invariant, held: boolean, about: () => string): void;
}

export function createVerdict(): Verdict {
  const checked = Object.fromEntries(Object.keys(INVARIANTS).map((name) => [name, 0])) as Verdict['checked'];
  const breaches: Breach[] = [];
  return {
    checked,
    breaches,
    hold(invariant, held, about) {
      checked[invariant]++;
      if (!held) breaches.push({ invariant, about: about() });
    },
  };
}
