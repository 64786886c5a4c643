import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { auditPath, auditWords } from '../../../console/src/pages/activity/audit-words.ts';
import { authorWords } from '../../../console/src/pages/artifacts/author-words.ts';
import { diffRows } from '../../../console/src/pages/artifacts/diff-rows.ts';
import { DEFAULT_CONTEXT, readTest } from '../../../console/src/pages/artifacts/test-input.ts';
import { readMemoryAnswer } from '../../../console/src/pages/memory/memory-answer.ts';
import { streamPath } from '../../../console/src/pages/workflows/paths.ts';
import { TEST_CONTEXT } from '../../src/tools/artifacts/test-artifact.ts';

describe('a comparison of two versions', () => {
  const long = Array.from({ length: 30 }, (_, at) => `line ${at + 1}`);

  test('what is the same far from every change is left out, and it is said how much', () => {
    const { rows, added, removed } = diffRows(
      `${long.join('\n')}\n`,
      `${[...long.slice(0, 14), 'another', ...long.slice(15)].join('\n')}\n`,
    );
    expect({ added, removed }).toEqual({ added: 1, removed: 1 });
    expect(rows[0]).toEqual({ kind: 'gap', lines: 11 });
    expect(rows.at(-1)).toEqual({ kind: 'gap', lines: 12 });
    expect(rows.filter(({ kind }) => kind === 'old' || kind === 'new')).toEqual([
      { kind: 'old', text: 'line 15', old: 15 },
      { kind: 'new', text: 'another', fresh: 15 },
    ]);
  });

  test('each line has its number in its text, whatever the texts are', () => {
    const text = fc
      .array(fc.constantFrom('a', 'b', 'c', '', 'd'), { maxLength: 20 })
      .map((all) => all.join('\n'));
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = (whole: string) => whole.replace(/\n$/, '').split('\n');
        const { rows } = diffRows(before, after);
        let [old, fresh] = [0, 0];
        for (const row of rows) {
          if (row.kind === 'gap') {
            expect(row.lines).toBeGreaterThan(0);
            old += row.lines;
            fresh += row.lines;
            continue;
          }
          if (row.kind !== 'new') expect([row.old, lines(before)[old]]).toEqual([++old, row.text]);
          if (row.kind !== 'old') expect([row.fresh, lines(after)[fresh]]).toEqual([++fresh, row.text]);
        }
        if (rows.length > 0) expect([old, fresh]).toEqual([lines(before).length, lines(after).length]);
      }),
    );
  });

  test('authors are told in words', () => {
    expect(['manifest', 'agent:reformer', 'user:ann', 'genesis', 'user'].map(authorWords)).toEqual([
      'a manifest',
      'the agent reformer',
      'ann',
      'built in',
      'user',
    ]);
  });
});

describe('the trial of an artifact', () => {
  const typed = { method: 'decide', args: '[]', context: '{}', seed: '' };

  test('the context that a page begins with is the one that the server would take', () => {
    expect(DEFAULT_CONTEXT).toEqual(TEST_CONTEXT);
  });

  test('a single value is a list of one, and what is no JSON is said of its field', () => {
    expect(readTest({ ...typed, args: '0.5', seed: ' s ' })).toEqual({
      ok: true,
      test: { method: 'decide', args: [0.5], context: {}, seed: 's' },
    });
    expect(readTest({ ...typed, args: '', context: '' })).toMatchObject({ ok: true, test: { args: [] } });
    const wrong = readTest({ ...typed, args: '[', context: '[]' });
    expect(wrong).toMatchObject({ ok: false, problems: { args: expect.stringContaining('not JSON') } });
    expect(wrong).toMatchObject({ problems: { context: expect.stringContaining('a JSON object') } });
  });
});

describe('an answer of the knowledge graph', () => {
  const answer = {
    nodes: [
      {
        kind: 'symbol',
        what: 'function',
        name: 'tide',
        at: 'tide.ts:4',
        signature: 'function tide()',
        distance: 0,
      },
      { kind: 'symbol', what: 'function', name: 'enter', at: 'harbour.ts:11', signature: '', distance: 1 },
      {
        kind: 'fact',
        id: 'f1',
        text: 'Tides rise.',
        stale: ['tide.ts'],
        session: 'ses_1',
        atMs: 5,
        distance: 1,
      },
      { kind: 'comet', distance: 0 },
      'nonsense',
    ],
    edges: [
      { kind: 'calls', from: 'harbour.ts:11', to: 'tide.ts:4', at: 'harbour.ts:11' },
      { kind: 'calls', from: 'harbour.ts:11', to: 'tide.ts:4', at: 'harbour.ts:12' },
      { kind: 'mentions', from: 'f1', to: 'tide.ts:4' },
      { kind: 'imports', from: 'tide.ts:4', to: 'node:fs' },
      { kind: 'calls', from: 3 },
    ],
    note: 'Cut.',
  };

  test('what was asked for comes first, with who calls it and what is known of it, each once', () => {
    const { found, around, note } = readMemoryAnswer(answer);
    expect(note).toBe('Cut.');
    expect(found.map(({ title }) => title)).toEqual(['tide']);
    expect(found[0]?.relations).toEqual([
      { label: 'called by', to: [{ key: 'harbour.ts:11', title: 'enter', symbol: 'enter' }] },
      { label: 'spoken of in', to: [{ key: 'f1', title: 'Tides rise.' }] },
      { label: 'imports', to: [{ key: 'node:fs', title: 'node:fs' }] },
    ]);
    expect(around.map(({ kind }) => kind)).toEqual(['symbol', 'fact']);
    expect(around[1]).toMatchObject({ stale: ['tide.ts'], session: 'ses_1', atMs: 5 });
  });

  test('an answer of any other shape is an empty one', () => {
    expect(readMemoryAnswer({ nodes: 'x', edges: { a: 1 } })).toEqual({ found: [], around: [] });
  });
});

describe('who did what', () => {
  test('requests are told in words and lead to what they were about', () => {
    expect(auditWords('POST /runs/run_1/cancel')).toBe('cancelled a run');
    expect(auditWords('PATCH /unheard/of')).toBe('PATCH /unheard/of');
    expect(auditPath({ what: 'POST /sessions', about: 'ses_1' })).toBe('/sessions/ses_1');
    expect(auditPath({ what: 'PUT /artifacts/a b', about: 'a b' })).toBe('/artifacts/a%20b');
    expect(auditPath({ what: 'POST /tokens', about: 'ci' })).toBeUndefined();
    expect(auditPath({ what: 'POST /sessions' })).toBeUndefined();
  });

  test('a run that a session leads or calls is a run', () => {
    expect(['ses_1', 'run_1', 'ses_1~lead', 'ses_1.post'].map(streamPath)).toEqual([
      '/sessions/ses_1',
      '/runs/run_1',
      '/runs/ses_1~lead',
      '/runs/ses_1.post',
    ]);
  });
});
