import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkManifest } from '../../../src/manifest/check-manifest.ts';
import { MANIFEST_KINDS } from '../../../src/manifest/schema/kinds.ts';
import { MAX_ISSUES } from '../../../src/manifest/schema/run-schema.ts';
import { moreRuns } from '../../more-runs.ts';
import { deletion, misspelling, retyping } from './mutations.ts';

const RUNS = moreRuns(150);

const answers = (document: unknown) => {
  const { manifest, issues } = checkManifest(document);
  const errors = issues.filter(({ severity }) => severity === 'error');
  expect(manifest === undefined).toBe(errors.length > 0);
  expect(issues.length).toBeLessThanOrEqual(MAX_ISSUES + 1);
  for (const issue of issues)
    expect(pathExists(document, issue.path), `${issue.code} at ${issue.path.join('.')}`).toBe(true);
};

function pathExists(document: unknown, path: readonly (string | number)[]): boolean {
  let at = document;
  for (const key of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return false;
    at = (at as Record<string | number, unknown>)[key];
  }
  return true;
}

describe('whatever the value, a manifest or errors come back, and every issue points into the document', () => {
  it('for any value at all', () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withMap: true,
          withSet: true,
          withDate: true,
          withNullPrototype: true,
        }),
        answers,
      ),
      { numRuns: RUNS },
    );
  });

  it('for any value under a known kind and any of its keys', () => {
    const keys = [
      'name',
      'steps',
      'states',
      'triggers',
      'metadata',
      'context_feeds',
      'implementation',
      'parameters',
      'initial',
      'components',
      'import',
      'hooks',
      'action_templates',
      'context_variables',
      'methods',
      'driver',
      'input',
    ];
    const document = fc.record({
      kind: fc.constantFrom(...MANIFEST_KINDS),
      rest: fc.dictionary(fc.constantFrom(...keys), fc.jsonValue({ maxDepth: 4 })),
    });
    fc.assert(
      fc.property(document, ({ kind, rest }) => answers({ kind, ...rest })),
      { numRuns: RUNS },
    );
  });

  it('for a valid document that lost a key', () => {
    fc.assert(
      fc.property(deletion, ({ document }) => answers(document)),
      { numRuns: RUNS },
    );
  });

  it('for a valid document with a value of another type', () => {
    fc.assert(
      fc.property(retyping, ({ document }) => answers(document)),
      { numRuns: RUNS },
    );
  });

  it('for a valid document with a misspelt key', () => {
    fc.assert(
      fc.property(misspelling, ({ document }) => answers(document)),
      { numRuns: RUNS },
    );
  });
});

describe('what cannot be a document', () => {
  it('is refused when it holds itself', () => {
    const loop: Record<string, unknown> = { kind: 'Agent', name: 'a' };
    loop.metadata = loop;
    expect(checkManifest(loop).issues[0]?.code).toBe('too_deep');
  });

  it('is refused when it is larger than anyone writes', () => {
    const started = performance.now();
    const { issues } = checkManifest({
      kind: 'Agent',
      name: 'a',
      context_feeds: Array.from({ length: 300_000 }, () => ({})),
    });
    expect(issues.map(({ code }) => code)).toEqual(['too_large']);
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it('is refused when a property cannot be read', () => {
    const trap = {
      kind: 'Agent',
      get name(): string {
        throw new Error('no');
      },
    };
    expect(checkManifest(trap).issues.map(({ code }) => code)).toEqual(['not_json']);
  });

  it('is refused with an own key __proto__', () => {
    const { issues } = checkManifest(
      JSON.parse('{"kind":"Agent","name":"a","prompts":{"__proto__":{"template":"x"}}}'),
    );
    expect(issues).toMatchObject([{ code: 'not_allowed', at: 'key', path: ['prompts', '__proto__'] }]);
  });
});
