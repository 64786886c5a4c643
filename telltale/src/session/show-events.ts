import type { ObservedEvent, SessionEvent } from '../events/event.ts';
import type { LiveEvent } from '../events/live-event.ts';
import { added, NONE, without } from '../kernel/grow.ts';
import { tellOne } from '../kernel/tell-all.ts';
import type { SessionLog } from './session-log.ts';
import type { OpenSpeech } from './speech.ts';

/** Live events that wait for a commit; where a store takes longer than that, they are shown at once. */
const MAX_HELD = 4_096;

/** What of a log is about those who look on. */
export interface ShownLog extends Pick<SessionLog, 'state' | 'speaking'> {
  watched: boolean;
  readonly lastCommitted: number;
  readonly crashPoint?: ((name: string) => void) | undefined;
  /** In the order in which they came, no two the same. Most logs have one: a Set for it would be 140 bytes more. */
  listeners: readonly Listener[];
  /** Live events, and answers that stand among them, each with the durable one that they came behind. */
  held: readonly { readonly behind: number; readonly show: LiveEvent | (() => void) }[];
}

type Listener = (event: ObservedEvent) => void;

/** Methods of a log. */
export function show(this: ShownLog, event: LiveEvent): void {
  if (mayShow(this)) tell(this, event);
  else this.held = added(this.held, { behind: this.state.seq, show: event });
}

export function speech(this: ShownLog, told: (open: OpenSpeech | undefined, seq: number) => void): void {
  const open = this.speaking?.openSpeech();
  const { seq } = this.state;
  if (mayShow(this)) told(open, seq);
  else this.held = added(this.held, { behind: seq, show: () => told(open, seq) });
}

export function subscribe(this: ShownLog, listener: Listener): () => void {
  let listens = true;
  // One that comes twice is told twice, and each time leaves on its own.
  const own: Listener = this.listeners.includes(listener) ? (event) => listener(event) : listener;
  this.listeners = added(this.listeners, own);
  this.watched = true;
  return () => {
    if (!listens) return;
    listens = false;
    this.listeners = without(this.listeners, own);
    this.watched = this.listeners.length > 0;
  };
}

/** Durable ones, behind their commit, and the live ones that waited for them. */
export function publish(log: ShownLog, events: readonly SessionEvent[]): void {
  for (const event of events) {
    log.crashPoint?.(`committed:${event.type}`);
    tell(log, event);
    if (log.held.length > 0) showHeld(log, event.seq);
  }
}

export function showHeld(log: ShownLog, through: number): void {
  if (log.held.length === 0) return;
  let at = 0;
  // Whoever is told may show more meanwhile: that comes behind.
  for (let live = log.held[at]; live !== undefined && live.behind <= through; live = log.held[++at]) {
    if (typeof live.show === 'function') live.show();
    else tell(log, live.show);
  }
  if (at > 0) log.held = at === log.held.length ? NONE : log.held.slice(at);
}

function tell(log: ShownLog, event: ObservedEvent): void {
  const { listeners } = log;
  const { length } = listeners;
  // One that has left meanwhile is not told any more, and one that has come is told of what is next.
  for (let at = 0; at < length; at++) {
    const listener = listeners[at] as Listener;
    if (log.listeners === listeners || log.listeners.includes(listener)) tellOne(listener, event);
  }
}

function mayShow(log: ShownLog): boolean {
  if (log.held.length >= MAX_HELD) showHeld(log, log.state.seq); // all of them, so that none overtakes another
  return log.lastCommitted === log.state.seq;
}
