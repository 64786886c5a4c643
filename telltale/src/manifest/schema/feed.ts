import { z } from 'zod';
import { parseJsonPath } from '../json-path.ts';
import { checkCel } from './checks/document-node.ts';
import { choice, choiceByKey, choiceByValue } from './choice.ts';
import { closed, type Slips } from './closed.ts';
import { cel, celOrBoolean } from './decision.ts';
import {
  count,
  duration,
  finding,
  jsonObject,
  name,
  nonEmptyText,
  pattern,
  positiveDuration,
  targetName,
} from './values.ts';

const INTERNAL_SOURCES = [
  ...([
    'system_clock',
    'random',
    'env',
    'metadata',
    'history',
    'metrics',
    'session_stats',
    'debug_context',
  ] as const),
] as const;

const params = jsonObject('Parameters; $feed refers to another feed.').prefault({});

const SLIPS: Slips = {
  parameters: 'In a feed, use "params".',
  args: 'In a feed, use "params".',
  cache_ttl: 'Put it next to "source", not inside it.',
  max_tokens: 'Put it next to "source", not inside it.',
  interval: 'Put it next to "source", not inside it.',
};

const source = <Shape extends z.core.$ZodLooseShape>(type: string, shape: Shape, slips: Slips = {}) =>
  closed({ title: `a source of type ${type}`, slips: { ...SLIPS, ...slips } }, { ...shape, params });

const named = <Type extends string>(type: Type, what: string) =>
  source(
    type,
    {
      type: z.literal(type),
      name: targetName(`The ${what}.`),
      action: nonEmptyText('What it is asked to do, where it can do several things.').optional(),
    },
    { target: 'In a feed, use "name".', [type]: 'In a feed, use "name".' },
  ).describe(`What the ${what} answers.`);

const FEED_SOURCES = {
  internal: source(
    'internal',
    {
      type: z.literal('internal'),
      action: z.enum(INTERNAL_SOURCES).describe('The built-in source.'),
    },
    { name: 'An internal source is named by "action".' },
  ).describe('Something the runtime knows itself.'),
  tool: named('tool', 'tool'),
  relic: named('relic', 'relic'),
  workflow: named('workflow', 'workflow'),
  llm: named('llm', 'prompt'),
  mcp: named('mcp', 'MCP server (its resource is "action")'),
  agent: named('agent', 'agent (its metadata)'),
  metadata: source('metadata', {
    type: z.literal('metadata'),
    name: name('A field; all if absent.').optional(),
  }).describe('The metadata.'),
  file: source(
    'file',
    { type: z.literal('file'), name: nonEmptyText('The file.') },
    { path: 'The file is "name".' },
  ).describe('A file.'),
  repo: source(
    'repo',
    { type: z.literal('repo'), name: nonEmptyText('The folder.').default('.') },
    { path: 'The folder is "name".' },
  ).describe('A tree with sizes, without what git ignores; whole files as far as max_tokens allows.'),
  http: source(
    'http',
    { type: z.literal('http'), name: nonEmptyText('The address.') },
    { url: 'The address is "name".' },
  ).describe('A page.'),
};

const feedSource = choiceByValue('A source', 'type', FEED_SOURCES).describe('Where the value comes from.');

const link = <Key extends string, Value extends z.core.$ZodType>(key: Key, value: Value) =>
  closed({ title: `a "${key}" transformation` }, { [key]: value } as Record<Key, Value>);

/** One step of the chain that transforms a feed's value. */
const transformation = choiceByKey('A transformation', {
  cel: link('cel', cel('CEL over "value".')),
  jsonpath: link(
    'jsonpath',
    z
      .string()
      .check((ctx) => {
        const parsed = parseJsonPath(ctx.value);
        if (!parsed.ok) ctx.issues.push(finding(ctx.value, { code: 'bad_path', ...parsed.error }));
      })
      .meta({
        description: 'A JSONPath into the value ($.items[*].name).',
        pattern: '^\\$',
        expects: 'a JSONPath, which begins with "$", like "$.items[*].name"',
      }),
  ),
  head: link('head', count('The first lines or items.')),
  tail: link('tail', count('The last lines or items.')),
  lines: link('lines', pattern('A regular expression (RE2): only lines it is found in.')),
  template: link('template', nonEmptyText('Text with {value} in it.')),
});

const feedTransform = z
  .array(transformation)
  .describe('A chain of cel, jsonpath, head, tail, lines, template.');

/** The values of an environment variable that mean `false`. An unset variable gives the first one. */
const FALSE = new Set(['', '0', 'false', 'no']);
const TRUE = new Set(['1', 'true', 'yes']);

/** `enabled` as text: the value of an environment variable, or CEL. */
const enabledText = z
  .union([z.string(), z.number(), z.null()])
  .transform((value, ctx): string => {
    const text = value === null ? '' : String(value).trim();
    if (FALSE.has(text.toLowerCase())) return 'false';
    if (TRUE.has(text.toLowerCase())) return 'true';
    for (const found of checkCel(text))
      ctx.issues.push(finding(value, found) as z.core.$ZodRawIssue<z.core.$ZodIssueCustom>);
    return text;
  })
  .meta({ expects: 'true, false, an environment variable or a CEL expression' });

/** The parts of the prompt that the runtime makes itself. A feed with such an id switches that part off. */
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
