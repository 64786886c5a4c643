import type { Cause } from '../../src/log/event.ts';

export interface PlacedEvent {
  readonly seq: number;
  readonly type: string;
  /** Absent only where a log is broken. */
  readonly cause?: Cause | undefined;
}

/** What never comes from outside: something on a log has brought it about. */
const INNER =
  /^(turn\.started|turn\.completed|model\.output|thought|text|response|action\.(declared|started|completed|failed|interrupted)|session\.completed|step\.(started|completed|failed)|workflow\.(completed|failed)|child\..*|trigger\.fired)$/;

/**
 * What is wrong with the causes of whole logs, by stream: each event names one that stands before it, and counts one
 * step more than that; a chain begins outside of every log, at 0 in its own stream, with what may come from there. Of a stream that is not among them
 * nothing can be said.
 */
export function unsoundCauses(logs: ReadonlyMap<string, readonly PlacedEvent[]>): readonly string[] {
  const wrong: string[] = [];
  for (const [stream, events] of logs)
    for (const { seq, type, cause } of events) {
      const because =
        cause?.seq === 0 && INNER.test(type) ? 'it comes from outside' : whyUnsound(logs, stream, seq, cause);
      if (because !== undefined) wrong.push(`${stream} ${seq} ${type}: ${because}`);
    }
  return wrong;
}

function whyUnsound(
  logs: ReadonlyMap<string, readonly PlacedEvent[]>,
  stream: string,
  seq: number,
  cause: Cause | undefined,
): string | undefined {
  if (cause === undefined) return 'it has no cause';
  const named = `${cause.seq} of ${cause.stream}, ${cause.depth} deep`;
  if (cause.seq === 0)
    return cause.depth === 0 && cause.stream === stream ? undefined : `no beginning: ${named}`;
  if (cause.stream === stream && cause.seq >= seq) return `it stands before its cause: ${named}`;
  const log = logs.get(cause.stream);
  if (log === undefined) return undefined;
  const event = log[cause.seq - 1];
  if (event === undefined) return `its cause is in no log: ${named}`;
  const depth = event.cause === undefined ? cause.depth : event.cause.depth + 1;
  return depth === cause.depth ? undefined : `its cause stands ${depth} deep: ${named}`;
}
