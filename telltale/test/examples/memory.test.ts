import { appendFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ExampleRun, examples, expectSoundLog, runExample } from './example-run.ts';

const folder = mkdtempSync(join(tmpdir(), 'telltale-memory-example-'));
const store = `sqlite:${join(folder, 'store.db')}`;
const QUESTION = 'Where is tideAt defined, and who calls it?';
const FACT = 'A ship may enter when sill and tide together are more than its draught.';
let first: ExampleRun;
let second: ExampleRun;
let third: ExampleRun;

/** In a folder of its own: its last session comes after a file has changed. */
beforeAll(async () => {
  cpSync(`${examples}/memory`, folder, { recursive: true });
  first = await runExample({ folder, input: QUESTION, store });
  const input = `${QUESTION} And when may a ship enter?`;
  second = await runExample({ folder, input, store });
  appendFileSync(join(folder, 'src', 'harbour.ts'), '\nexport const PILOTS = 2;\n');
  third = await runExample({ folder, input, store });
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const remembered = ({ events }: ExampleRun): string =>
  events.flatMap((event) =>
    event.type === 'feed.updated' && event.id === 'builtin:memory' ? [String(event.value)] : [],
  )[0] ?? '';
const factLine = (run: ExampleRun) =>
  remembered(run)
    .split('\n')
    .filter((line) => line.includes(FACT));

describe('examples/memory', () => {
  it('answers from the graph, without opening a file, and its log is sound', () => {
    expect(first.result).toMatchObject({
      status: 'completed',
      result: 'tideAt is defined in src/tide.ts, line 4, and called by mayEnter in src/harbour.ts, line 11.',
    });
    expectSoundLog(first.events);
    const called = first.events.flatMap((event) =>
      event.type === 'action.declared' ? [event.action.name] : [],
    );
    expect(called).toEqual(['query_knowledge_graph', 'update_knowledge_graph']);
  });

  it('begins with at most 400 tokens of what has to do with the question', () => {
    const [shown] = first.events.filter(({ type }) => type === 'feed.updated');
    expect(shown).toMatchObject({ id: 'builtin:memory', told: true });
    expect((shown as { tokens: number }).tokens).toBeLessThanOrEqual(400);
    expect(remembered(first)).toContain('tideAt');
    expect(factLine(first)).toEqual([]);
  });

  it('shows the next session what this one learned, once, and says so when its file has changed since', () => {
    expect(factLine(second)).toHaveLength(1);
    expect(factLine(second)[0]).not.toContain('stale');
    expect(third.result.status).toBe('completed');
    expect(factLine(third)).toHaveLength(1);
    expect(factLine(third)[0]).toMatch(/stale: harbour\.ts/);
  });
});
