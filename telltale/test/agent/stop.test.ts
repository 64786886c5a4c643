import { describe, expect, it } from 'vitest';
import { createStop } from '../../src/agent/stop.ts';

describe('a wait that a stop may end', () => {
  it.each([
    ['it is done', (done: () => void) => done()],
    ['the session stops', (_: () => void, stop: () => void) => stop()],
    [
      'both happen',
      (done: () => void, stop: () => void) => {
        done();
        stop();
        done();
      },
    ],
  ])('takes back what it began with once, when %s', async (_what, end) => {
    const stop = createStop();
    const taken: string[] = [];
    let call = () => {};
    const waits = stop.until((done) => {
      call = done;
      return () => void taken.push('back');
    });
    expect(taken).toEqual([]);
    end(call, () => stop.now({ kind: 'interrupt' }));
    await waits;
    expect(taken).toEqual(['back']);
  });

  it('takes it back also where it was over before it could begin', () => {
    const taken: string[] = [];
    const waits = createStop().until((done) => {
      done();
      return () => void taken.push('back');
    });
    expect(waits).toBeUndefined();
    expect(taken).toEqual(['back']);
  });
});
