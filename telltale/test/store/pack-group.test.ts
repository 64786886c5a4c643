import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { AppendOp, WriteRequest } from '../../src/store/grouped/messages.ts';
import { packGroup, unpackGroup } from '../../src/store/sqlite/open-sqlite-store.ts';

const whole = fc.integer({ min: -200, max: Number.MAX_SAFE_INTEGER });
const append = fc.tuple(
  whole,
  whole,
  whole,
  whole,
  fc.string({ unit: 'binary' }),
  fc.option(fc.constantFrom('running', ''), { freq: 2 }),
  fc.option(fc.array(fc.nat()), { freq: 2 }),
  fc.option(fc.constant([['table', 'key', null] as const]), { freq: 2 }),
  fc.option(fc.nat(), { freq: 2 }),
) as fc.Arbitrary<AppendOp>;
const request: fc.Arbitrary<WriteRequest> = fc.record({
  op: fc.constant('release'),
  stream: fc.nat(),
  epoch: fc.nat(),
});

it('a group comes out as it went in, its writes in their places', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(append, request)), fc.nat(), (writes, now) => {
      const group = { kind: 'group', now, writes, reads: [{ op: 'inbox', stream: 's' }] } as const;
      expect(unpackGroup(structuredClone(packGroup(group)))).toEqual(group);
    }),
  );
});

it('of plain appends nothing is copied by the object', () => {
  const writes: AppendOp[] = [
    [7, 1, 40, 2, '{}\n{}', null, null, null, null],
    [8, 1, 0, 1, '{}', null, null, null, null],
  ];
  const { numbers, bodies, others } = packGroup({ kind: 'group', now: 0, writes, reads: [] });
  expect([...numbers]).toEqual([0, 7, 1, 40, 2, 1, 8, 1, 0, 1]);
  expect([bodies, others]).toEqual([['{}\n{}', '{}'], []]);
});
