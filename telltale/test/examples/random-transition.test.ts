import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { validateManifests } from '../../src/manifest/validate-manifests.ts';
import { examples } from './example-run.ts';
import { finish, normalizeRun, ofType, openExample, path, type WorkflowExample } from './workflow-example.ts';

let example: WorkflowExample;
beforeAll(async () => {
  example = await openExample('random-transition');
});
afterAll(() => example.close());

const walk = (id: string) => finish(example, { id });
/** The same walk where nothing is known of the first one. */
async function walkElsewhere(id: string) {
  const elsewhere = await openExample('random-transition');
  try {
    return await finish(elsewhere, { id });
  } finally {
    await elsewhere.close();
  }
}

describe('examples/random-transition', () => {
  it('takes the path of expected.events.jsonl whenever the run is named "april"', async () => {
    const { result, events } = await walk('april');
    expect(result.status).toBe('completed');
    await expect(normalizeRun(events)).toMatchFileSnapshot(
      `${examples}/random-transition/expected.events.jsonl`,
    );
    expect(normalizeRun((await walkElsewhere('april')).events)).toBe(normalizeRun(events));
  });

  it('takes another path under another name, and every state is on one of them', async () => {
    const walks = await Promise.all(
      ['dawn', 'noon', 'dusk', 'night', 'fog', 'snow', 'thaw', 'frost'].map(walk),
    );
    const paths = walks.map(({ events }) => path(events));
    expect(new Set(paths.map((each) => each.join(' '))).size).toBeGreaterThan(4);
    expect([...new Set(paths.flat())].toSorted()).toEqual(['brook', 'fork', 'home', 'path', 'rest', 'ridge']);
  });

  it('follows the weights: of all walks together, some 25 % rest and half of the forks lead to the brook', async () => {
    const walks = await Promise.all(Array.from({ length: 60 }, (_, index) => walk(`crowd-${index}`)));
    const asked = walks.flatMap(({ events }) => ofType(events, 'invoke'));
    const rests = asked.filter(({ method }) => method === 'decide').map(({ result }) => result);
    const forks = asked.filter(({ method }) => method === 'decide_option').map(({ result }) => result);
    const share = (all: readonly unknown[], value: unknown) =>
      all.filter((each) => each === value).length / all.length;
    // Names of runs are fixed, and so is every answer: these are no bets.
    const off = (given: number, wanted: number) => Math.abs(given - wanted);
    expect(off(share(rests, true), 0.25)).toBeLessThan(0.08);
    expect(off(share(forks, 'brook'), 0.5)).toBeLessThan(0.08);
    expect(off(share(forks, 'ridge'), 0.25)).toBeLessThan(0.08);
  });

  it('asks chance afresh each time, and for nothing', async () => {
    const { events } = await walk('afresh');
    const asked = ofType(events, 'invoke').filter(({ artifact }) => artifact === 'genesis_random_decider');
    expect(asked.length).toBeGreaterThan(1);
    for (const each of asked) expect(each).toMatchObject({ cached: false, cost: 0, version: 1 });
  });

  it('says on the log that the fallback counted, and why, where the artifact is missing', async () => {
    const { events } = await walkElsewhere('april');
    const [missing] = ofType(events, 'invoke').filter(({ artifact }) => artifact === 'weather');
    expect(missing).toMatchObject({
      where: 'state rest@1: transition 0',
      result: false,
      fallback: { reason: 'missing', message: 'No artifact is named "weather".' },
    });
    expect(missing).not.toHaveProperty('version');
  });

  it('takes the fallback of a transition_source, too, where what it asks for is not there', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'random-transition-'));
    await cp(`${examples}/random-transition`, folder, { recursive: true });
    const text = await readFile(join(folder, 'walk.yml'), 'utf8');
    await writeFile(join(folder, 'walk.yml'), text.replaceAll('genesis_random_decider', 'nobody'));
    const lost = await openExample(folder);
    try {
      const { events, result } = await finish(lost);
      // Every decide is false, every decide_option "path".
      expect(result).toMatchObject({ status: 'completed', output: 'Home after 10 km.' });
      expect([...new Set(path(events))]).toEqual(['path', 'fork', 'home']);
      const asked = ofType(events, 'invoke');
      expect(asked.map(({ fallback }) => fallback?.reason)).toEqual(asked.map(() => 'missing'));
      expect(asked).toContainEqual(
        expect.objectContaining({ where: 'step fork@1/which_way: transition_source', result: 'path' }),
      );
    } finally {
      await lost.close();
    }
  });

  it('is a warning, and no error, for telltale validate', async () => {
    const { ok, diagnostics } = await validateManifests(['random-transition'], { cwd: examples, env: {} });
    expect(ok).toBe(true);
    expect(diagnostics).toMatchObject([{ severity: 'warning', code: 'unknown_artifact' }]);
  });
});
