import { z } from 'zod';
import { celOrBoolean } from './cel.ts';
import { choice } from './choice.ts';
import { closed } from './closed.ts';
import { enabledText } from './enabled.ts';
import { feedSource } from './feed-source.ts';
import { feedTransform } from './feed-transform.ts';
import { name } from './names.ts';
import { count } from './numbers.ts';
import { duration, positiveDuration } from './quantities.ts';

/** The parts of the prompt that the runtime makes itself; a feed of that id switches one off. */
const BUILTIN_FEEDS = ['metadata', 'results', 'news', 'memory'] as const;

const enabledFlag = celOrBoolean('Whether the feed is loaded.');
const enabled = choice([enabledFlag, enabledText], (value) =>
  typeof value === 'boolean' ? enabledFlag : enabledText,
)
  .prefault(true)
  .describe('Whether the feed is loaded: true, false, an environment variable, or CEL.');

const own = closed(
  {
    title: 'a feed',
    id: 'Feed',
    description: 'Something kept in front of the model.',
    keywords: {
      if: { required: ['type'], properties: { type: { const: 'periodic' } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required: ['interval'] },
      else: { not: { required: ['interval'] } },
    },
    slips: {
      name: 'Use "id" to name a feed.',
      ttl: 'Use "cache_ttl".',
      cache: 'Use "cache_ttl".',
      params: 'Put it under "source".',
      parameters: 'Put "params" under "source".',
      action: 'Put it under "source".',
      refresh: 'For a feed that refreshes itself, use "type: periodic" with "interval".',
      every: 'Use "interval".',
      depends_on: 'Use "refs" to name other feeds.',
      size_limit: 'Use "max_tokens".',
    },
  },
  {
    id: name('The name of the feed; $id refers to it.'),
    type: z
      .enum(['on_demand', 'periodic'])
      .default('on_demand')
      .describe('Loaded for a turn, or every so often beside the turns.'),
    interval: positiveDuration('How often a periodic feed is loaded.').optional(),
    source: feedSource,
    cache_ttl: duration('How long a value counts as fresh.').optional(),
    cache_scope: z
      .enum(['session', 'agent'])
      .default('session')
      .describe('Who shares what is cached: the session, or all sessions of the agent in this store.'),
    max_tokens: count('The most tokens it may take; cut at a line.').optional(),
    enabled,
    transform: feedTransform.prefault([]),
    refs: z
      .array(name('Another feed.'))
      .prefault([])
      .describe('Feeds that are loaded first; those named as $id in params count by themselves.'),
    inject: z
      .enum(['start', 'each_turn', 'on_change', 'reference'])
      .default('on_change')
      .describe('When it is put in front of the model; reference: only where $id names it.'),
    on_error: z
      .enum(['omit', 'stale', 'show'])
      .default('stale')
      .describe('What stands there when loading fails.'),
  },
);

const builtin = closed(
  {
    title: 'a built-in feed',
    description: 'A part of the prompt that the runtime makes itself.',
    slips: { source: 'The runtime makes this feed itself; it can only be disabled or cut.' },
  },
  {
    id: z.enum(BUILTIN_FEEDS.map((feed) => `builtin:${feed}` as const)).describe('The part of the prompt.'),
    enabled,
    max_tokens: count('The most tokens it may take; cut at a line.').optional(),
  },
);

export const feed = choice([own, builtin], (value) => {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : undefined;
  return typeof id === 'string' && id.startsWith('builtin:') ? builtin : own;
});
