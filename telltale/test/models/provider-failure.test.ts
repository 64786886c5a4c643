import { describe, expect, it } from 'vitest';
import { providerFailure } from '../../src/models/providers/provider-failure.ts';
import { retryAfterMs } from '../../src/models/retry.ts';

const failure = (thrown: unknown, more = {}) => providerFailure(thrown, { id: 'm', nowMs: 0, ...more });

describe('an error in mid-stream, which has no status,', () => {
  it.each([
    ['overloaded_error', 'model_overloaded', true],
    ['UNAVAILABLE', 'model_overloaded', true],
    ['rate_limit_error', 'model_rate_limited', true],
    ['RESOURCE_EXHAUSTED', 'model_rate_limited', true],
    ['insufficient_quota', 'model_rate_limited', false],
    ['authentication_error', 'model_refused_key', false],
    ['PERMISSION_DENIED', 'model_refused_key', false],
    ['invalid_api_key', 'model_refused_key', false],
    ['not_found_error', 'model_bad_request', false],
    ['invalid_request_error', 'model_bad_request', false],
    ['context_length_exceeded', 'model_context_exceeded', false],
    ['timeout_error', 'model_timeout', true],
    ['DEADLINE_EXCEEDED', 'model_timeout', true],
    ['api_error', 'model_overloaded', true],
    ['INTERNAL', 'model_overloaded', true],
    ['something_else', 'model_broke_off', true],
  ])('is read by its type: %s', (type, code, retryable) => {
    const read = { code, retryable };
    expect(failure({ type: 'error', error: { type, message: 'no' } })).toMatchObject(read);
    expect(failure({ error: { status: type, message: 'no' } })).toMatchObject(read);
  });

  it('is read by its code where that is a status, as a number or in digits', () => {
    for (const code of [503, '503'])
      expect(failure({ error: { code, message: 'no' } })).toMatchObject({ code: 'model_overloaded' });
    for (const code of [99, 600, '0503', 'x503'])
      expect(failure({ error: { code, message: 'no' } })).toMatchObject({ code: 'model_broke_off' });
  });

  it('that is an error of a class has no words that are read', () => {
    const thrown = Object.assign(new Error('no'), { type: 'authentication_error' });
    expect(failure(thrown)).toMatchObject({ code: 'model_broke_off', retryable: true });
  });
});

describe('a failure of the network', () => {
  const below = (code: string, depth: number): Error =>
    depth === 0
      ? Object.assign(new Error('x'), { code })
      : Object.assign(new Error('fetch failed'), {
          cause: below(code, depth - 1),
          url: 'https://h.test/v1/x',
        });

  it.each([
    ['ECONNREFUSED', 'model_unreachable', true],
    ['UND_ERR_HEADERS_TIMEOUT', 'model_timeout', true],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'model_unreachable', false],
    ['ECONNRESET', 'model_broke_off', true],
  ])('is read by the code at its bottom: %s', (code, told, retryable) => {
    const error = failure(below(code, 3));
    expect(error).toMatchObject({ code: told, retryable });
    expect(error.message).toMatch(new RegExp(`https://h.test .*${code}`));
    expect(failure(below(code, 7))).toMatchObject({ code: told });
    expect(failure(below(code, 8))).toMatchObject({ code: 'model_broke_off' });
  });
});

describe('what a provider says', () => {
  it('is told on one line, without secrets, and no longer than 600 characters', () => {
    const words = (message: string) =>
      failure({ statusCode: 400, message }, { secrets: ['', 'sk-1'] }).message;
    expect(words('a\n  sk-1\tb')).toBe('m: the provider responded with status 400: a … b');
    expect(words('y'.repeat(600))).toMatch(/y{600}$/);
    expect(words('y'.repeat(601))).toMatch(/y{600}…$/);
  });

  it('has its words from a page, and not from JSON, which the message was taken from', () => {
    const said = (responseBody: string) => failure({ statusCode: 502, message: 'Bad', responseBody }).message;
    expect(said('<h1>nginx</h1>')).toContain('Bad <h1>nginx</h1>');
    expect(said(' {"a":1}')).toMatch(/: Bad$/);
  });

  it('says how long to wait in a header, or in the body as Google does, and only where trying again is of use', () => {
    const waits = (thrown: object) => retryAfterMs(failure({ message: 'x', ...thrown }));
    const responseBody = '{"details": [{"retryDelay": "1.5s"}]}';
    expect(waits({ statusCode: 429, responseBody })).toBe(1500);
    expect(waits({ statusCode: 429, responseBody, responseHeaders: { 'retry-after': '4' } })).toBe(4000);
    expect(waits({ statusCode: 400, responseBody })).toBeUndefined();
  });
});
