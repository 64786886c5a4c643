import { describe, expect, it } from 'vitest';
import { cutText } from '../../src/feeds/values/cut-text.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { sources } from './sources-given.ts';

describe('a feed that a model adds', () => {
  const given = {
    agent:
      'permissions: { paths: { allow: [docs], ask: [private] }, network: { allow: [open.test], ask: [asked.test] } }',
    files: { 'docs/a.md': 'x', 'private/b.md': 'y' },
  };
  const denied = async (source: JsonObject, more: JsonObject = {}) => {
    const { mayAdd } = await sources(given);
    return (await mayAdd({ source, ...more }))?.toJSON();
  };

  it('may ask no person, for a host or for a path', async () => {
    expect(await denied({ type: 'http', name: 'https://open.test/x' })).toBeUndefined();
    expect(await denied({ type: 'http', name: 'https://asked.test/x' })).toMatchObject({
      code: 'feed_needs_approval',
      message: expect.stringContaining('https://asked.test/x'),
    });
    expect(await denied({ type: 'file', name: 'docs/a.md' })).toBeUndefined();
    expect((await denied({ type: 'file', name: 'private/b.md' }))?.code).toBe('feed_needs_approval');
  });

  it('is no workflow, though the agent may call it, and an agent only where it may', async () => {
    const { mayAdd, deps } = await sources(given);
    const find = deps.targets.find;
    Object.assign(deps.targets, {
      find: (kind: string, name: string) =>
        name === 'known' ? ({ kind, name } as never) : find(kind as never, name),
    });
    const code = async (type: string, name: string) => (await mayAdd({ source: { type, name } }))?.code;
    expect(await code('workflow', 'known')).toBe('not_permitted');
    expect(await code('agent', 'known')).toBeUndefined();
    expect(await code('agent', 'other')).toBe('target_unknown');
  });

  it('has params that fit its source', async () => {
    expect((await denied({ type: 'file', name: 'docs/a.md', params: { odd: 1 } }))?.code).toBe(
      'bad_parameters',
    );
    expect((await denied({ type: 'repo', name: 'docs', params: { odd: 1 } }))?.code).toBe('bad_parameters');
    const http = { type: 'http', name: 'https://open.test/x' };
    expect((await denied({ ...http, params: { odd: 1 } }))?.code).toBe('bad_parameters');
    expect(await denied({ ...http, params: { method: 'GET' } })).toBeUndefined();
  });

  it('has sixteen transformations, and not one more', async () => {
    const links = (length: number) => ({ transform: Array.from({ length }, () => ({ head: 1 })) });
    expect(await denied({ type: 'metadata' }, links(16))).toBeUndefined();
    expect(await denied({ type: 'metadata' }, links(17))).toMatchObject({ hint: '16 at the most.' });
    const often = await denied({ type: 'metadata' }, { type: 'periodic', interval: '4999ms' });
    expect(often).toMatchObject({ hint: 'Give it 5 s or more.' });
  });
});

describe('a text that is cut', () => {
  /** A token for each character: what is kept can be said to the letter. */
  const letters = { count: (text: string) => text.length };
  const cut = (text: string, maxTokens: number) => cutText(text, maxTokens, letters);

  it('is left alone where it fits, to the last token, however long it is', async () => {
    expect(await cut('12345', 5)).toEqual({ text: '12345', tokens: 5 });
    const long = 'line\n'.repeat(20_000);
    expect(await cut(long, 100_000)).toEqual({ text: long, tokens: 100_000 });
    expect(await cut(`${long}more`, 100_001)).toMatchObject({ tokens: 99_999, truncated: 5 });
  });

  it('ends behind a line, and says how much is missing', async () => {
    expect(await cut('aaaa\nbbbb\ncccc', 12)).toEqual({ text: 'aaaa\nbbbb', tokens: 9, truncated: 5 });
    expect(await cut('aaaa\nbbbb\ncccc', 9)).toEqual({ text: 'aaaa\nbbbb', tokens: 9, truncated: 5 });
  });

  it('ends inside of a line where that one alone takes more than half', async () => {
    expect(await cut(`aa\n${'b'.repeat(50)}`, 20)).toEqual({
      text: `aa\n${'b'.repeat(17)}`,
      tokens: 20,
      truncated: 33,
    });
    expect(await cut('b'.repeat(50), 20)).toMatchObject({ text: 'b'.repeat(20), truncated: 30 });
  });

  it('is not cut between the two halves of a character', async () => {
    expect(await cut('😀'.repeat(10), 5)).toEqual({ text: '😀😀', tokens: 4, truncated: 16 });
    const long = '😀'.repeat(50_000);
    const { text } = await cut(long, 40_001);
    expect([text.length % 2, text === '😀'.repeat(text.length / 2)]).toEqual([0, true]);
  });

  it('has nothing left where nothing fits', async () => {
    expect(await cut('abc', 0)).toEqual({ text: '', tokens: 0, truncated: 3 });
  });
});
