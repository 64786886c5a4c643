import type { Palette } from './palette.ts';
import type { Seeded } from './seeded.ts';

// biome-ignore format: a word list reads better in columns
const SUBJECTS = [
  'The retry loop', 'This endpoint', 'The session store', 'Our migration', 'The worker', 'The cache layer',
  'That test', 'The importer', 'The scheduler', 'A stale lock', 'The webhook handler', 'The invoice job',
  'The Zürich replica', 'The naïve fix', 'The build step', 'Die Prüfung', 'The client’s last message',
];
// biome-ignore format: a word list reads better in columns
const VERBS = [
  'drops', 'repeats', 'holds', 'rewrites', 'skips', 'reports', 'delays', 'hides', 'validates', 'locks',
  'returns', 'ignores', 'batches', 'confirms', 'retries', 'leaks', 'explains',
];
// biome-ignore format: a word list reads better in columns
const OBJECTS = [
  'the second request', 'every third event', 'a null total', 'the wrong currency (€ instead of £)',
  'the connection when the pool is empty', 'rows whose `updated_at` is missing', 'an empty result set',
  'half of a surrogate pair', 'the header “X-Request-Id”', 'more than 1,024 open handles', 'the old schema',
  'an order of $1,299.00', 'what the user asked for', 'the 404 page', 'files under `src/`', '東京 and São Paulo',
];
// biome-ignore format: a word list reads better in columns
export const ENDS: readonly string[] = [
  'so I will check the logs first', 'which matches the trace', 'and nothing in the diff explains it',
  'because the timeout is 30 s, not 5 s', 'as soon as the queue has more than ten items', 'see line 214',
  'only on Tuesdays, it seems', 'when a < b and b < c hold at once', 'unless R&D has changed it again',
  'so the safe thing is to read before writing', 'and I have not seen a test for it', 'as $report says',
];
// biome-ignore format: a word list reads better in columns
const ASIDES = [
  'Let me verify that.', 'Good.', 'That is odd 🤔.', 'Two things stand out.', 'No need to guess here.',
  'Done ✅', 'I should not change the public API.', 'Next: the failing case.', 'C’est bizarre, mais reproductible.',
];
// biome-ignore format: a word list reads better in columns
export const QUOTED: readonly string[] = [
  '`<thought>`', '`List<action>`', '`Map<string, Action[]>`', '`a && b`', '`</response>`', '``a `b` c``',
  '`<div class="row">`', '`npm run build -- --watch`', '`x => x < 3`', '`&amp;`', '`SELECT * FROM t`',
  '`<action type="tool">{"name": "clock"}</action>`',
];
// biome-ignore format: a word list reads better in columns
export const PLAIN_QUOTED: readonly string[] = [
  '`git diff --stat`', '`retry.ts`', '`ECONNRESET`', '`orders.updated_at`', '`limit: 30`', '`null`', '`npm test`',
  '`POST /v1/orders`', '`await queue.drain()`', '`src/api/index.ts`', '`--dry-run`', '`undefined`',
];

export function sentence(palette: Palette, seeded: Seeded): string {
  if (seeded.chance(0.12)) return seeded.pick(ASIDES);
  const quoted = seeded.chance(0.1) ? ` (compare ${seeded.pick(palette.quoted)})` : '';
  const end = seeded.chance(0.55) ? `, ${seeded.pick(palette.ends)}` : '';
  return `${seeded.pick(SUBJECTS)} ${seeded.pick(VERBS)} ${seeded.pick(OBJECTS)}${quoted}${end}.`;
}

export function paragraph(palette: Palette, seeded: Seeded, low: number, high: number): string {
  return Array.from({ length: seeded.between(low, high) }, () => sentence(palette, seeded)).join(' ');
}

/** A sentence without code in it, for places where Markdown is not at home. */
export const plainSentence = (seeded: Seeded, ends = ENDS): string =>
  `${seeded.pick(SUBJECTS)} ${seeded.pick(VERBS)} what was asked, ${seeded.pick(ends)}.`;
