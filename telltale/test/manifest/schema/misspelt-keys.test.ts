import fc from 'fast-check';
import { expect, it } from 'vitest';
import { nearest } from '../../../src/lib/nearest.ts';
import { checkManifest } from '../../../src/manifest/check-manifest.ts';
import { moreRuns } from '../../more-runs.ts';
import { holder, misspelling, type Path } from './mutations.ts';

/** Hundreds of whole documents: on a busy machine that takes longer than the usual five seconds. */
/** Maps whose keys are the user's own, so that a misspelt one is simply another name. */
const OWN_NAMES = [
  'models',
  'prompts',
  'fields',
  'parameters',
  'properties',
  'params',
  'values',
  'env',
  'headers',
  'channels',
  'conditions',
  'match',
  'data',
  'action_templates',
  'states',
  'methods',
  'requires',
  'transition_map',
  'schema',
  'input',
  'connection',
  'body',
  'fallback',
  'context',
  'priority',
  'type',
  'count',
  'branch',
  'verdict',
  'phase',
  'answer',
  'q',
];

const inOwnNames = (path: Path) =>
  path
    .slice(0, -1)
    .some(
      (key, index) =>
        typeof key === 'string' &&
        OWN_NAMES.includes(key) &&
        (index === path.length - 2 ||
          [
            'schema',
            'input',
            'parameters',
            'requires',
            'conditions',
            'match',
            'params',
            'values',
            'data',
            'connection',
          ].includes(key)) &&
        !(key === 'body' && typeof path[index + 1] === 'number'),
    );

it('a misspelt key is named where it stands, with the key that was meant', () => {
  fc.assert(
    fc.property(misspelling, ({ document, path, original, written }) => {
      fc.pre(original !== undefined && written !== undefined && !inOwnNames(path));
      fc.pre(original !== 'kind');
      // A letter less, it is a key of its own.
      fc.pre(written !== 'trigger');
      const here = [...path.slice(0, -1), written];
      const { issues } = checkManifest(document);
      const issue = issues.find(
        (each) => each.code === 'unknown_key' && JSON.stringify(each.path) === JSON.stringify(here),
      );
      expect(issue, `${path.join('.')} as ${written}: ${JSON.stringify(issues.slice(0, 3))}`).toBeDefined();
      const suggested = /^Did you mean "([^"]+)"/.exec(issue?.hint ?? '')?.[1];
      const others = Object.keys(holder(document, path));
      // Of two letters one slip leaves one: other keys may be as near.
      const isTelling = (original ?? '').length > 2;
      // "triggerx" is one slip from "trigger" as well as from "triggers".
      const isTwin = suggested !== undefined && (original ?? '').startsWith(suggested);
      if (
        isTelling &&
        !isTwin &&
        nearest(written ?? '', [original ?? '']) !== undefined &&
        !others.includes(original ?? '')
      )
        expect(suggested ?? issue?.hint, `${path.join('.')} as ${written}`).toContain(original);
    }),
    { numRuns: moreRuns(200) },
  );
});
