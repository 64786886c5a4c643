import { PassThrough, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { wantsColor } from '../../src/cli/io.ts';
import { readLine, streamOutput } from '../../src/cli/process-io.ts';

const failing = (code: string) =>
  new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })) });

describe('an output of the process', () => {
  it('resolves a write only when the reader has taken it', async () => {
    let take = () => {};
    const slow = new Writable({
      highWaterMark: 1,
      write: (_chunk, _encoding, done) => {
        take = done;
      },
    });
    const output = streamOutput(slow, {});
    let taken = false;
    const written = output.write('a long text').then(() => {
      taken = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(taken).toBe(false);
    take();
    await written;
    expect(taken).toBe(true);
  });

  it('goes quiet when the reader has gone away', async () => {
    const output = streamOutput(failing('EPIPE'), {});
    await output.write('one');
    expect(output.closed).toBe(true);
    await output.write('two');
  });

  it('does not know the width of a terminal that says 0', () => {
    const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 0 });
    expect(streamOutput(stream, {}).columns).toBeUndefined();
  });

  it('lets the writer know of any other failure', async () => {
    await expect(streamOutput(failing('ENOSPC'), {}).write('x')).rejects.toMatchObject({
      code: 'cannot_write',
      message: 'The output cannot be written (ENOSPC).',
    });
  });

  it('is no terminal when it is a pipe', () => {
    expect(streamOutput(new PassThrough(), {})).toMatchObject({
      isTerminal: false,
      color: false,
      closed: false,
    });
  });
});

describe('color', () => {
  it.each([
    [{}, true, true],
    [{}, false, false],
    [{ NO_COLOR: '1' }, true, false],
    [{ NO_COLOR: '' }, true, true],
    [{ TERM: 'dumb' }, true, false],
    [{ FORCE_COLOR: '1' }, false, true],
    [{ FORCE_COLOR: '0' }, true, false],
    [{ FORCE_COLOR: '', NO_COLOR: '1' }, false, true],
  ])('with %j on a terminal (%s) is %s', (env, isTerminal, expected) => {
    expect(wantsColor(env, isTerminal)).toBe(expected);
  });
});

describe('a line that a person types', () => {
  const never = new AbortController().signal;

  it('comes without its end, one for each time it is asked for', async () => {
    const input = new PassThrough();
    const first = readLine(input, never, 0);
    input.write('yes\r\n');
    expect(await first).toBe('yes');
    const second = readLine(input, never, 0);
    input.write('no\n');
    expect(await second).toBe('no');
  });

  it('does not count where it was typed before it was asked for', async () => {
    const input = new PassThrough();
    input.write('y\n');
    const answer = readLine(input, never, 10_000);
    input.end();
    expect(await answer).toBeUndefined();
  });

  it('is none at the end of the input, and after an abort', async () => {
    const ended = new PassThrough();
    ended.end();
    expect(await readLine(ended, never, 0)).toBeUndefined();
    const controller = new AbortController();
    const waiting = readLine(new PassThrough(), controller.signal, 0);
    controller.abort();
    expect(await waiting).toBeUndefined();
    expect(await readLine(new PassThrough(), controller.signal, 0)).toBeUndefined();
  });
});
