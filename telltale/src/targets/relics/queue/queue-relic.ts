import { createHash } from 'node:crypto';
import type { JsonObject } from '../../../kernel/json.ts';
import type { Operation } from '../../operations.ts';
import { checkSize } from '../check-size.ts';
import { readTime } from '../read-time.ts';
import type { RelicContext, RelicDriver } from '../relic-driver.ts';
import { relicHealth } from '../relic-health.ts';
import { createQueue } from './create-queue.ts';
import type { QueueItem } from './queue.ts';

const DEFAULT_LEASE_MS = 60_000;
const MAX_PEEK = 100;
const MAX_PEEK_CHARS = 1024 * 1024;

const TIME = { type: ['string', 'number'] };
const LEASE = { type: 'string', minLength: 1, maxLength: 100, description: 'What "claim" gave.' };
const LEASE_FOR = {
  ...TIME,
  description: `How long the item is kept from others: "5m", or seconds. ${DEFAULT_LEASE_MS / 1000} s if absent.`,
};
const DELAY = { ...TIME, description: 'It is given to nobody before: "10m", or seconds.' };

/** Items in the runtime's own store that are handed out in the order in which they came. */
export function queueDriver({ name, what, store, deps: { clock } }: RelicContext): RelicDriver {
  const queue = createQueue(what, `relic-queue:${name}`, store.tables, clock);
  const leaseMs = ({ lease_for: given }: JsonObject) =>
    given === undefined ? DEFAULT_LEASE_MS : readTime(given, '/lease_for');
  const delayMs = ({ delay }: JsonObject) => (delay === undefined ? 0 : readTime(delay, '/delay'));
  const operations: Readonly<Record<string, Operation>> = {
    push: {
      description: 'adds an item at the end',
      parameters: {
        value: { description: 'The item: any value.' },
        key: {
          type: 'string',
          minLength: 1,
          maxLength: 512,
          description: 'An item pushed under the same key within a week is not pushed again.',
        },
        delay: DELAY,
      },
      required: ['value'],
      idempotent: true,
      async run(input, { idempotencyKey }) {
        const { value = null, key } = input;
        checkSize(value, 'an item');
        // Two spaces of names: what a caller calls a key must not meet that of another call.
        const known = key === undefined ? `call:${idempotencyKey}` : `key:${String(key)}`;
        const { n, duplicate } = await queue.push(value, digest(known), delayMs(input));
        return { n, ...(duplicate ? { duplicate } : {}) };
      },
    },
    claim: {
      description:
        'takes the first item for a time: "ack" ends that when the work is done; if nobody does, it is given out again. null if there is none',
      parameters: { lease_for: LEASE_FOR },
      idempotent: true,
      async run(input, { idempotencyKey }) {
        const claimed = await queue.claim(digest(idempotencyKey).slice(0, 20), leaseMs(input));
        if (claimed === undefined) return null;
        const { lease, until } = claimed;
        return { lease, until: new Date(until).toISOString(), ...shown(claimed) };
      },
    },
    ack: {
      description: 'the claimed item is done with and removed',
      parameters: { lease: LEASE },
      required: ['lease'],
      idempotent: true,
      async run({ lease }) {
        await queue.ack(String(lease));
        return { acked: true };
      },
    },
    release: {
      description: 'gives a claimed item back, to its old place',
      parameters: { lease: LEASE, delay: DELAY },
      required: ['lease'],
      idempotent: true,
      async run(input) {
        await queue.release(String(input.lease), delayMs(input));
        return { released: true };
      },
    },
    extend: {
      description: 'keeps a claimed item longer, from now on',
      parameters: { lease: LEASE, lease_for: LEASE_FOR },
      required: ['lease'],
      idempotent: true,
      run: async (input) => ({
        until: new Date(await queue.extend(String(input.lease), leaseMs(input))).toISOString(),
      }),
    },
    pop: {
      description: 'takes the first item off at once, done or not; null if there is none',
      parameters: {},
      idempotent: false,
      async run() {
        const popped = await queue.pop();
        return popped === undefined ? null : shown(popped);
      },
    },
    peek: {
      description: 'the next items, which stay where they are',
      parameters: {
        limit: { type: 'integer', minimum: 1, maximum: MAX_PEEK, description: 'How many; 1 if absent.' },
      },
      idempotent: true,
      run: async ({ limit = 1 }) => ({
        items: (await queue.peek(Number(limit), MAX_PEEK_CHARS)).map(shown),
      }),
    },
    size: {
      description: 'how many items are ready, leased and delayed',
      parameters: {},
      idempotent: true,
      run: async () => ({ ...(await queue.size()) }),
    },
    clear: {
      description: 'removes all items that nobody has claimed',
      parameters: {},
      idempotent: true,
      run: async () => ({ removed: await queue.clear() }),
    },
    health: relicHealth({
      what,
      driver: 'queue',
      where: store.location,
      clock,
      ask: async () => ({ ...(await queue.size()) }),
    }),
  };
  return { operations, byDefault: 'push' };
}

const shown = ({ n, value, pushedAt, tries }: QueueItem): JsonObject => ({
  n,
  value,
  pushed_at: new Date(pushedAt).toISOString(),
  tries,
});

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
