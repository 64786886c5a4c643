import { type ErrorJson, RuntimeError } from '../lib/errors.ts';
import { suggest } from '../lib/nearest.ts';
import { FEED_LATE, FEED_NO_ROOM } from '../log/feed-event.ts';
import { showCycle } from '../manifest/schema/checks/document-node.ts';
import { MAX_ADDED_FEEDS } from './feed.ts';

/** The code of a feed that failed because one that it refers to did. */
export const FEED_REFERENCE = 'feed_reference';

/** More ids would tell a reader nothing new. */
const MAX_IDS_SHOWN = 20;

export const feedLate = (deadlineMs: number): ErrorJson => ({
  code: FEED_LATE,
  message: `Not there after ${deadlineMs / 1000} s; it is still loading.`,
  retryable: true,
});

export const noValueYet = (): ErrorJson => ({ code: FEED_LATE, message: 'No value yet.', retryable: true });

export const feedNoRoom = (tokens: number, maxTokens: number): ErrorJson => ({
  code: FEED_NO_ROOM,
  message: `Its ${tokens} tokens have no room beside the other feeds of this turn (${maxTokens} in all).`,
  hint: 'Read it ("context_feed" with "operation": "read"), or give it a smaller "max_tokens".',
  retryable: true,
});

export const feedUnknown = (asked: string, known: readonly string[], by?: string) =>
  new RuntimeError(
    'feed_unknown',
    by === undefined
      ? `There is no feed "${asked}".`
      : `Feed "${by}" refers to "${asked}", and there is no such feed.`,
    { hint: suggest(asked, known.slice(0, MAX_IDS_SHOWN), 'Feeds') },
  );

export const feedExists = (id: string) =>
  new RuntimeError('feed_exists', `There is a feed "${id}" already.`, {
    hint: 'Change it ("context_feed" with "operation": "update"), or choose another id.',
  });

export const feedInUse = (id: string, users: readonly string[]) =>
  new RuntimeError(
    'feed_in_use',
    `Feed "${id}" is referred to by ${users.slice(0, MAX_IDS_SHOWN).join(', ')}.`,
    { hint: 'Remove or update these first.' },
  );

export const feedCycle = (cycle: readonly string[]) =>
  new RuntimeError(
    'feed_cycle',
    `These feeds refer to each other in a cycle: ${showCycle(cycle.map((id) => `$${id}`))}.`,
    { hint: 'Break the circle: a feed is loaded after those it refers to.' },
  );

export const feedLimit = () =>
  new RuntimeError('feed_limit', `The session has added ${MAX_ADDED_FEEDS} feeds, as many as it may.`, {
    hint: 'Remove one that is no longer needed, or update it.',
  });

export const feedDisabled = (id: string) =>
  new RuntimeError('feed_disabled', `Feed "${id}" is switched off: its "enabled" does not hold.`, {
    hint: 'The list of feeds says which are on.',
  });

/** In a chain of references each names the next, and all give the reason at its end: messages must not grow with it. */
export const feedReference = (id: string, failure: RuntimeError) => {
  const { cause } = failure;
  const root = failure.code === FEED_REFERENCE && cause instanceof RuntimeError ? cause : failure;
  return new RuntimeError('feed_reference', `It refers to feed "${id}", which failed: ${root.message}`, {
    hint: root.hint,
    retryable: root.retryable,
    cause: root,
  });
};

export const loadTimedOut = (id: string, timeoutMs: number) =>
  new RuntimeError('timeout', `The source of feed "${id}" gave nothing in ${timeoutMs / 1000} s.`, {
    hint: 'Ask it for less; it is asked again later.',
    retryable: true,
  });

export const gaveNothing = (id: string) =>
  new RuntimeError('bad_output', `The source of feed "${id}" ended without a value.`, {
    hint: 'A source gives JSON; null counts.',
  });

export const badParams = (id: string, message: string, hint: string | undefined) =>
  new RuntimeError('bad_parameters', `The params of feed "${id}": ${message}`, { hint });

export const loadStopped = (id: string, why: string) =>
  new RuntimeError('cancelled', `The load of feed "${id}" was stopped: ${why}.`);

export const keeperClosed = () =>
  new RuntimeError('cancelled', 'The session has ended, and with it its feeds.');

/** An error of the log, to be thrown again. */
export const fromLog = ({ code, message, hint, retryable }: ErrorJson): RuntimeError =>
  new RuntimeError(code, message, { hint, retryable });
