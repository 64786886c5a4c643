import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RunRequest } from '../../src/tools/sandbox/messages.ts';
import { createKnownTexts, MAX_TEXTS } from '../../src/tools/sandbox/sandbox-thread.ts';
import { openSharedBuffer, SHARED_BUFFER_BYTES } from '../../src/tools/sandbox/shared-buffer.ts';
import { moreRuns } from '../more-runs.ts';

const anyRequest = fc.record<RunRequest>({
  id: fc.nat(),
  source: fc.string({ unit: 'binary' }),
  module: fc.option(fc.string({ unit: 'binary' }), { nil: undefined }),
  globals: fc.json(),
  frozen: fc.array(fc.string()).map((names) => JSON.stringify(names)),
  timeMs: fc.nat(),
  memoryBytes: fc.nat(),
  outputBytes: fc.nat(),
  now: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }), { nil: undefined }),
  seed: fc.maxSafeNat(),
  logs: fc.boolean(),
});
const openBoth = () => {
  const memory = new SharedArrayBuffer(SHARED_BUFFER_BYTES);
  return [openSharedBuffer(memory), openSharedBuffer(memory)] as const;
};

test('what is put into the box is what is taken out of it, one after the other', () => {
  const [ours, theirs] = openBoth();
  fc.assert(
    fc.property(anyRequest, fc.json(), fc.double({ noNaN: true }), (request, json, ms) => {
      const texts = [request.frozen, request.source, request.module ?? ''];
      const numbers = { frozen: 0, source: 1, module: request.module === undefined ? undefined : 2 };
      expect(ours.putRequest(request, numbers)).toBe(true);
      expect(theirs.takeRequest((number) => texts[number] as string)).toEqual(request);
      expect(theirs.putResult(json, ms)).toBe(true);
      expect(ours.takeResult()).toEqual({ json, ms });
    }),
  );
});

test('what has no room in the box, or has a text that the thread does not know, is not put there', () => {
  const [ours, theirs] = openBoth();
  const [request] = fc.sample(anyRequest, 1) as [RunRequest];
  const numbers = { source: 0, module: 1, frozen: 2 };
  const widest = '\uffff'.repeat(32 * 1024);
  expect(ours.putRequest({ ...request, globals: widest }, numbers)).toBe(true);
  expect(theirs.takeRequest(() => '').globals).toBe(widest);
  expect(ours.putRequest({ ...request, globals: `${widest}x` }, numbers)).toBe(false);
  expect(theirs.putResult(widest, 1)).toBe(true);
  expect(ours.takeResult().json).toBe(widest);
  expect(theirs.putResult(`${widest}x`, 1)).toBe(false);
  for (const unknown of ['source', 'module', 'frozen'])
    expect(ours.putRequest({ ...request, module: '1' }, { ...numbers, [unknown]: undefined })).toBe(false);
});

test('a text that is known has the number under which the thread keeps it, however many there are', () => {
  const text = fc.nat({ max: MAX_TEXTS * 2 }).map((n) => `text ${n}`);
  fc.assert(
    fc.property(fc.array(text, { minLength: MAX_TEXTS, maxLength: MAX_TEXTS * 4 }), (asked) => {
      const known = createKnownTexts();
      const kept: string[] = [];
      for (const each of asked) {
        const number = known.numberOf(each);
        if (number !== undefined) expect(kept[number]).toBe(each);
        else kept[known.learn(each) ?? -1] = each;
      }
      expect(kept.length).toBeLessThanOrEqual(MAX_TEXTS);
      expect(known.numberOf(asked.at(-1) ?? '')).toBeDefined();
    }),
    { numRuns: moreRuns(20) },
  );
});

test('a long text is not kept', () => {
  const known = createKnownTexts();
  const long = 'x'.repeat(64 * 1024 + 1);
  expect(known.learn(long)).toBeUndefined();
  expect(known.numberOf(long)).toBeUndefined();
  expect(known.learn(long.slice(1))).toBe(0);
});
