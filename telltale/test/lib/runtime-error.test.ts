import { describe, expect, it } from 'vitest';
import { RuntimeError, toRuntimeError } from '../../src/lib/errors.ts';

describe('the JSON form of an error', () => {
  it('has code, message, hint and whether it may be tried again', () => {
    const error = new RuntimeError('tool_unknown', 'No tool is named "x".', {
      hint: 'Known: y.',
      retryable: true,
    });
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      code: 'tool_unknown',
      message: 'No tool is named "x".',
      hint: 'Known: y.',
      retryable: true,
    });
  });

  it('leaves out what is not there', () => {
    expect(Object.keys(new RuntimeError('a', 'b').toJSON())).toEqual(['code', 'message', 'retryable']);
  });

  it('holds the chain of causes, foreign errors and thrown values among them', () => {
    const error = new RuntimeError('a', 'first', {
      cause: new TypeError('second', { cause: { status: 500 } }),
    });
    expect(error.toJSON().cause).toEqual({
      code: 'internal',
      message: 'second',
      retryable: false,
      cause: {
        code: 'internal',
        message: 'Something that is no Error was thrown: {"status":500}.',
        retryable: false,
      },
    });
  });

  it('ends where causes run in a circle', () => {
    const a = new RuntimeError('a', 'a');
    const b = new Error('b', { cause: a });
    a.cause = b;
    expect(a.toJSON()).toEqual({
      code: 'a',
      message: 'a',
      retryable: false,
      cause: { code: 'internal', message: 'b', retryable: false },
    });
    const own = new RuntimeError('own', 'own');
    own.cause = own;
    expect(own.toJSON().cause).toBeUndefined();
  });

  it('has at most eight causes', () => {
    let error = new RuntimeError('e', '0');
    for (let i = 1; i < 50; i++) error = new RuntimeError('e', String(i), { cause: error });
    let causes = 0;
    for (let at = error.toJSON().cause; at !== undefined; at = at.cause) causes++;
    expect(causes).toBe(8);
  });
});

describe('whatever was thrown becomes a RuntimeError', () => {
  it('which is itself if it was one', () => {
    const error = new RuntimeError('a', 'b');
    expect(toRuntimeError(error)).toBe(error);
  });

  it('and keeps the message, cause and stack of an Error', () => {
    const thrown = new RangeError('too far', { cause: 'x' });
    expect(toRuntimeError(thrown)).toMatchObject({
      code: 'internal',
      message: 'too far',
      cause: 'x',
      stack: thrown.stack,
    });
    expect(toRuntimeError(new RangeError()).message).toBe('RangeError');
  });

  it('which says what those of several errors say, each once, where they have no message of their own', () => {
    const refused = (address: string) => new Error(`connect ECONNREFUSED ${address}`);
    const both = [refused('::1:80'), refused('127.0.0.1:80'), refused('::1:80'), new Error(), 'no error'];
    expect(toRuntimeError(new AggregateError(both)).message).toBe(
      'connect ECONNREFUSED ::1:80; connect ECONNREFUSED 127.0.0.1:80',
    );
    expect(toRuntimeError(new AggregateError(both, 'none answered')).message).toBe('none answered');
    expect(toRuntimeError(new AggregateError([])).message).toBe('AggregateError');
    const many = Array.from({ length: 1_000 }, (_, i) => new Error(String(i)));
    expect(toRuntimeError(new AggregateError(many)).message).toBe('0; 1; 2; 3; 4; 5; 6; 7');
  });

  it('and what throws when it is looked at is called that, also as a cause', () => {
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();
    const message = 'Something that cannot be read was thrown.';
    const unreadable = Object.defineProperty(new Error('a'), 'message', {
      get() {
        throw new Error('no');
      },
    });
    for (const thrown of [revoked.proxy, unreadable, Object.assign(new Error(), { message: Symbol('s') })]) {
      expect(toRuntimeError(thrown)).toMatchObject({ code: 'internal', message });
      expect(new RuntimeError('a', 'b', { cause: thrown }).toJSON().cause?.message).toBe(message);
    }
  });

  it.each<[unknown, string]>([
    ['text', '"text"'],
    [undefined, 'undefined'],
    [null, 'null'],
    [42, '42'],
    [10n, '10'],
    [Symbol('s'), 'Symbol(s)'],
    [{ a: 1 }, '{"a":1}'],
    [Object.create(null), '{}'],
    [circular(), 'a value of type object'],
    ['x'.repeat(1_000), `"${'x'.repeat(199)}…`],
  ])('and describes %o', (thrown, described) => {
    expect(toRuntimeError(thrown).message).toBe(`Something that is no Error was thrown: ${described}.`);
  });
});

function circular(): object {
  const value: { self?: object } = {};
  value.self = value;
  return value;
}
