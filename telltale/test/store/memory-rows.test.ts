import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addRow, createMemoryRows, readRows } from '../../src/store/memory/memory-tables.ts';

test('rows give the events that were put into them, from anywhere, as many as are asked for', () => {
  const line = fc.string({ maxLength: 3 }).filter((text) => !text.includes('\n'));
  fc.assert(
    fc.property(
      fc.array(fc.array(line, { maxLength: 4 }), { maxLength: 8 }),
      fc.nat(30),
      fc.oneof(fc.nat(30), fc.constant(Number.MAX_SAFE_INTEGER)),
      (appends, first, limit) => {
        const rows = createMemoryRows();
        for (const lines of appends) addRow(rows, lines.join('\n'), lines.length);
        const all = appends.flat();
        expect(rows.length).toBe(all.length);
        expect(readRows(rows, first, limit)).toEqual(all.slice(first, first + limit));
      },
    ),
  );
});
