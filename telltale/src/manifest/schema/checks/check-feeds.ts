import type { KnownNames } from '../../../expressions/cel/check-expression.ts';
import { referencesInParameters } from '../../../expressions/references/resolve-references.ts';
import { suggest } from '../../../lib/nearest.ts';
import type { Issue } from '../../diagnostic.ts';
import { checkRequestAddress } from './check-tool.ts';
import { checkNames, checkUnique } from './check-variables.ts';
import { type DocumentNode, errorAt, findCycles, showCycle, textsUnder } from './document-node.ts';

/** Repeated ids, references that don't resolve or form a cycle, and an interval without a period. */
export function checkFeeds(feeds: readonly DocumentNode[]): readonly Issue[] {
  const byId = new Map(
    feeds.flatMap((feed) => (feed.at('id').text() === undefined ? [] : [[feed.at('id').text() ?? '', feed]])),
  );
  const ids = [...byId.keys()];
  const graph = new Map([...byId].map(([id, feed]) => [id, refsOf(feed).filter((ref) => byId.has(ref))]));
  return [
    ...checkUnique(
      feeds.map((feed) => feed.at('id')),
      'feeds',
    ),
    ...feeds.flatMap(checkInterval),
    ...feeds
      .map((feed) => feed.at('source'))
      .filter((source) => source.at('type').value === 'http')
      .flatMap((source) => checkRequestAddress(source.at('name'))),
    ...feeds.flatMap((feed) => checkRefs(feed, ids)),
    ...findCycles(graph).map((cycle) => {
      const message = `These feeds refer to each other in a cycle: ${showCycle(cycle.map((id) => `$${id}`))}.`;
      return errorAt(byId.get(cycle[0] ?? '')?.at('id') ?? feeds[0]!, 'cycle', message, {
        hint: 'Break the cycle. A feed is loaded after the feeds that it refers to.',
      });
    }),
  ];
}

/** Feeds that hide a variable or a metadata field, because `$name` would mean the feed. */
export function checkFeedIds(
  feeds: readonly DocumentNode[],
  taken: { readonly variables: readonly string[]; readonly fields: readonly string[] },
): readonly Issue[] {
  return feeds.flatMap((feed) => {
    const id = feed.at('id').text() ?? '';
    const what = taken.variables.includes(id)
      ? 'a context variable'
      : taken.fields.includes(id)
        ? 'a metadata field'
        : undefined;
    if (what === undefined) return [];
    const message = `The feed "${id}" has the same name as ${what}, so $${id} is ambiguous.`;
    return [errorAt(feed.at('id'), 'duplicate', message, { hint: 'Rename one of them.' })];
  });
}

/** What must be loaded first: `refs`, and every `$id` and `{{id}}` in the parameters. */
const refsOf = (feed: DocumentNode): readonly string[] => [
  ...feed
    .at('refs')
    .items()
    .flatMap((ref) => ref.text() ?? []),
  ...Array.from(textsUnder(feed.at('source').at('params')), ([text]) =>
    referencesInParameters(text).map(({ name }) => name),
  ).flat(),
];

function checkInterval(feed: DocumentNode): readonly Issue[] {
  const periodic = feed.at('type').value === 'periodic';
  const interval = feed.at('interval');
  if (periodic && interval.value === undefined)
    return [
      errorAt(feed, 'missing', 'A periodic feed needs "interval".', {
        hint: 'Set how often the feed is loaded, such as 30s.',
      }),
    ];
  if (periodic || interval.value === undefined || feed.at('source').value === undefined) return [];
  return [
    errorAt(interval, 'not_allowed', 'Only a periodic feed has "interval".', {
      hint: 'Write "type: periodic". For an on_demand feed, "cache_ttl" sets how long a value stays fresh.',
      at: 'key',
    }),
  ];
}

function checkRefs(feed: DocumentNode, ids: readonly string[]): readonly Issue[] {
  return feed
    .at('refs')
    .items()
    .flatMap((ref) => {
      const id = ref.text();
      if (id === undefined || ids.includes(id)) return [];
      return [
        errorAt(ref, 'unknown_feed', `There is no feed "${id}".`, { hint: () => suggest(id, ids, 'Feeds') }),
      ];
    });
}

/** Words of `enabled` that are not CEL: what an environment variable gives for yes and no. */
const WORDS = ['', '0', 'false', 'no', '1', 'true', 'yes'];

/** The names that feeds use in CEL, and the metadata fields that they show. */
export function checkFeedNames(feeds: readonly DocumentNode[], known: KnownNames): readonly Issue[] {
  const inTransform = { ...known, roots: [...known.roots, 'value'] };
  const fields = known.members?.get('metadata') ?? [];
  return feeds.flatMap((feed) => {
    const enabled = feed.at('enabled');
    const shown = feed.at('source').at('name');
    const field = feed.at('source').at('type').value === 'metadata' ? shown.text() : undefined;
    return [
      ...(WORDS.includes(enabled.text()?.trim().toLowerCase() ?? '') ? [] : checkNames(enabled, known)),
      ...feed
        .at('transform')
        .items()
        .flatMap((link) => checkNames(link.at('cel'), inTransform)),
      ...(field === undefined || fields.includes(field)
        ? []
        : [
            errorAt(shown, 'unknown_field', `There is no metadata field "${field}".`, {
              hint: () => suggest(field, fields, 'Declared'),
            }),
          ]),
    ];
  });
}
