import type { Cause } from '../../events/event.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Store } from '../../store/store.ts';
import { eventUnknown } from './event-unknown.ts';
import { readAnyEvent } from './read-log.ts';
import type { StreamEvent } from './stream-event.ts';

export interface CauseChain {
  /** From the event that was asked for to the first cause. */
  readonly events: readonly StreamEvent[];
  /** A cause that is in no log any more. */
  readonly lost?: Cause;
}

/** Causes of causes: a chain that is longer is no explanation. */
const MAX_CHAIN = 10_000;

/** Why an event happened, across streams: from a run to the session that set it off, and to whoever called that. */
export async function causeChain(
  store: Store,
  stream: string,
  seq: number,
  head: number,
): Promise<CauseChain> {
  const asked = await readAnyEvent(store, stream, seq);
  if (asked === undefined) throw eventUnknown(stream, seq, head);
  const events = [asked];
  const seen = new Set([placeOf({ stream, seq })]);
  for (let { cause } = asked; cause.seq !== 0; ) {
    if (seen.has(placeOf(cause)) || events.length === MAX_CHAIN) throw causeCircle(stream, seq);
    seen.add(placeOf(cause));
    const event = await readAnyEvent(store, cause.stream, cause.seq);
    if (event === undefined) return { events, lost: cause };
    events.push(event);
    cause = event.cause;
  }
  return { events };
}

const placeOf = ({ stream, seq }: Pick<Cause, 'stream' | 'seq'>) => `${seq} ${stream}`;

const causeCircle = (stream: string, seq: number) =>
  new RuntimeError(
    'cause_circle',
    `The causes of event ${seq} of ${stream} lead nowhere: they go in a circle.`,
    {
      hint: 'The log is damaged. Restore the store from a backup.',
    },
  );
