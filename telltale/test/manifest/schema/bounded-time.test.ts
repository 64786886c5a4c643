import { describe, expect, it } from 'vitest';
import { checkManifest } from '../../../src/manifest/check-manifest.ts';
import { busyMs } from './busy-ms.ts';
import { agent, step, steps } from './said.ts';

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Generous: what is guarded against takes minutes. */
const MAX_MS = 10_000;

const HOSTILE: readonly (readonly [string, unknown])[] = [
  ['unknown keys', { ...agent({}), ...Object.fromEntries(many(9_000, (index) => [`key_${index}`, 1])) }],
  [
    'steps that need what is not there',
    steps(
      ...many(900, (index) => step(`step_${index}`, { needs: many(15, (need) => `stop_${index}_${need}`) })),
    ),
  ],
  [
    'references to steps that are not there',
    steps(
      ...many(900, (index) =>
        step(`step_${index}`, {
          parameters: { a: many(12, (at) => `\${steps.stop_${index}_${at}.output}`) },
        }),
      ),
    ),
  ],
  [
    'variables derived in a chain',
    agent({
      context_variables: {
        derived: many(499, (index) => ({ name: `v${index}`, expression: `v${index + 1}` })),
      },
      permissions: { paths: ['$v0'] },
    }),
  ],
  [
    'a field with a schema and a long default',
    agent({
      metadata: {
        fields: {
          f: {
            type: 'array',
            items: { type: 'object', schema: { properties: { a: { pattern: '^a+$' } } } },
            default: many(5_000, () => ({ a: 'aaa' })),
          },
        },
      },
    }),
  ],
  [
    'many schemas',
    agent({
      metadata: {
        limits: { fields: 9_000 },
        fields: Object.fromEntries(
          many(600, (index) => [`f${index}`, { type: 'object', schema: { type: 'object' } }]),
        ),
      },
    }),
  ],
  [
    'events with names that are not there',
    {
      ...steps(step('a')),
      triggers: many(4_000, (index) => ({ type: 'event', event: `action.faild${index % 7}` })),
    },
  ],
  [
    'a dense graph of feeds',
    agent({
      context_feeds: many(120, (index) => ({
        id: `f${index}`,
        refs: many(120, (ref) => `f${ref}`),
        source: { type: 'repo' },
      })),
    }),
  ],
  [
    'a long condition',
    {
      ...steps(step('a')),
      trigger: {
        type: 'metadata_match',
        conditions: Object.fromEntries(many(5_000, (index) => [`f${index}`, { gt: 1 }])),
      },
    },
  ],
];

describe('a document that is wrong in thousands of ways is answered in time', () => {
  it.each(HOSTILE)(
    '%s',
    (_, document) => {
      const started = busyMs();
      const { issues } = checkManifest(document);
      expect(busyMs() - started).toBeLessThan(MAX_MS);
      expect(issues.length).toBeLessThanOrEqual(201);
    },
    30_000,
  );
});
