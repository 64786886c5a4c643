import { z } from 'zod';
import { choiceByValue } from './choice.ts';
import { closed, type Slips } from './closed.ts';
import { jsonObject } from './json-value.ts';
import { name, nonEmptyText, targetName } from './names.ts';

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

export const feedSource = choiceByValue('A source', 'type', FEED_SOURCES).describe(
  'Where the value comes from.',
);
