import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RuntimeError } from '../../../src/lib/errors.ts';
import { errorAnswer, statusOf } from '../../../src/server/http/error-answer.ts';

const SOURCES = join(import.meta.dirname, '../../../src');

/** What met another request, or a client's own slowness; a feed's agent may come. The server is in no trouble. */
const MET_ANOTHER: Readonly<Record<string, number>> = {
  agent_unknown: 404,
  client_gone: 499,
  conflict: 409,
  hook_replayed: 409,
  idempotency_running: 409,
  keys_busy: 409,
  request_timeout: 408,
  stream_owned: 409,
  thread_busy: 409,
};

const answerTo = (code: string, retryable: boolean) =>
  errorAnswer(new RuntimeError(code, 'It failed.', { retryable }), {
    newId: () => 'req_1',
    onError: () => undefined,
  });

describe('the status of an error', () => {
  it('is 429 or above 499, with Retry-After, for every code that the sources make retryable', () => {
    const codes = retryableCodes();
    expect(codes.length).toBeGreaterThan(40);
    expect(codes).toEqual(expect.arrayContaining(['store_unreachable', 'trigger_contended', 'slots_full']));
    expect(Object.keys(MET_ANOTHER).filter((code) => !codes.includes(code))).toEqual([]);
    for (const code of codes) {
      const { status, headers } = answerTo(code, true);
      if (MET_ANOTHER[code] !== undefined) expect([code, status]).toEqual([code, MET_ANOTHER[code]]);
      else {
        expect([code, status === 429 || status >= 500]).toEqual([code, true]);
        if (status !== 504) expect([code, headers]).toEqual([code, { 'retry-after': expect.any(String) }]);
      }
    }
  });

  it.each(['store_denied', 'store_unsupported', 'store_other_fleet', 'store_unknown'])(
    'is 503 for %s: no request brought it about',
    (code) => expect(answerTo(code, false)).toMatchObject({ status: 503 }),
  );

  it('is 422 for what a request brought about', () => {
    expect(statusOf(new RuntimeError('input_invalid', 'It is no date.'))).toBe(422);
  });
});

/** Of each `new RuntimeError('CODE', …)` that says `retryable: true` before its parenthesis closes. */
function retryableCodes(): readonly string[] {
  const codes = new Set<string>();
  for (const path of globSync('**/*.ts', { cwd: SOURCES })) {
    const text = readFileSync(join(SOURCES, path), 'utf8');
    for (const { index, 0: opening, 1: code = '' } of text.matchAll(/new RuntimeError\(\s*'([a-z_]+)'/g))
      if (/\bretryable: true\b/.test(callAt(text, index + opening.indexOf('(')))) codes.add(code);
  }
  return [...codes];
}

/** From an opening parenthesis to the one that closes it. Those in a message come in pairs. */
function callAt(text: string, from: number): string {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text[at] === '(') depth++;
    if (text[at] === ')' && --depth === 0) return text.slice(from, at);
  }
  throw new Error(`Nothing closes the call at ${text.slice(from, from + 80)}`);
}
