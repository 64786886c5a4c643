import type { LiveEvent } from '../../events/live-event.ts';
import type { Json } from '../../kernel/json.ts';

/** What a process tells of a session that it works on, in the order in which it came about. */
export type LiveItem =
  | { readonly kind: 'live'; readonly event: LiveEvent }
  /** Everything live that stands before this durable event has been told, and the event is on the log. */
  | { readonly kind: 'durable'; readonly seq: number }
  /** What is open of the turn's speech follows, as deltas from its beginning on, up to `opened`. No turn: nothing is open. */
  | { readonly kind: 'open'; readonly turn: number | undefined }
  | { readonly kind: 'opened' }
  /** The session is not worked on here any more. */
  | { readonly kind: 'left' };

export interface LiveMessage {
  /** Which telling it belongs to: no two are called the same, of whichever process. */
  readonly by: string;
  /** Counts the messages of one telling, from 1 on. */
  readonly n: number;
  /** The durable event that its first item stands behind. */
  readonly behind: number;
  readonly items: readonly LiveItem[];
}

/** One item as it crosses. */
export function encodeItem(item: LiveItem): string {
  switch (item.kind) {
    case 'durable':
      return `["d",${item.seq}]`;
    case 'open':
      return item.turn === undefined ? '["s"]' : `["s",${item.turn}]`;
    case 'opened':
      return '["e"]';
    case 'left':
      return '["x"]';
    case 'live':
      return encodeLive(item.event);
  }
}

function encodeLive(event: LiveEvent): string {
  switch (event.type) {
    case 'response.delta':
      return `["r",${event.turn},${JSON.stringify(event.text)}${event.final === undefined ? '' : `,${event.final}`}]`;
    case 'thought.delta':
      return `["t",${event.turn},${JSON.stringify(event.text)},${event.depth}]`;
    case 'action.progress':
      return `["p",${event.turn},${JSON.stringify(event.id)},${JSON.stringify(event.data)}]`;
  }
}

/** Undefined for what is no such message. Items that only another version knows are left out. */
export function decodeMessage(text: string, session: string): LiveMessage | undefined {
  const parsed = parsedJson(text);
  if (!Array.isArray(parsed)) return undefined;
  const [by, n, behind, items] = parsed;
  if (typeof by !== 'string' || !isCount(n) || !isCount(behind) || !Array.isArray(items)) return undefined;
  return { by, n, behind, items: items.flatMap((item) => decodeItem(item, session)) };
}

function decodeItem(item: Json, session: string): readonly LiveItem[] {
  if (!Array.isArray(item)) return [];
  const [kind, first, second, third] = item;
  if (kind === 'e') return [{ kind: 'opened' }];
  if (kind === 'x') return [{ kind: 'left' }];
  if (kind === 's') return [{ kind: 'open', turn: isCount(first) ? first : undefined }];
  if (!isCount(first)) return [];
  if (kind === 'd') return [{ kind: 'durable', seq: first }];
  if (typeof second !== 'string') return [];
  const place = { session, turn: first };
  if (kind === 'r') {
    const final = typeof third === 'boolean' ? { final: third } : {};
    return [{ kind: 'live', event: { type: 'response.delta', ...place, text: second, ...final } }];
  }
  if (kind === 't' && isCount(third))
    return [{ kind: 'live', event: { type: 'thought.delta', ...place, depth: third, text: second } }];
  if (kind === 'p')
    return [{ kind: 'live', event: { type: 'action.progress', ...place, id: second, data: third ?? null } }];
  return [];
}

const isCount = (value: Json | undefined): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

function parsedJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined; // not ours: what others send on a channel is data
  }
}
