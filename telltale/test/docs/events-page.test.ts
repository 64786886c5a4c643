import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { eventKeys } from './event-keys.ts';

const page = readFileSync(new URL('../../../docs/events.md', import.meta.url), 'utf8');

/** The rows of the table below a heading: type, keys. */
function rowsBelow(heading: string): readonly (readonly [string, readonly string[]])[] {
  const [, part = ''] = page.split(`\n## ${heading}\n`);
  const [table = ''] = part.split('\n## ');
  return [...table.matchAll(/^\| `([\w.]+)` \| (.*?) \| .+ \|$/gm)].map(([, type = '', keys = '']) => [
    type,
    [...keys.matchAll(/`([\w?]+)`/g)].map(([, key = '']) => key),
  ]);
}

test.each([
  ['Of a session', 'event', 'EventBody', []],
  ['Live', 'event', 'LiveEvent', ['session', 'turn']],
  ['Of a workflow run', 'run-event', 'RunEventBody', []],
] as const)(
  'docs/events.md has every type of event with its keys: %s',
  (heading, file, union, everywhere) => {
    const declared = [...eventKeys(file, union)].map(([type, keys]) => [
      type,
      keys.filter((key) => !everywhere.some((each) => each === key)),
    ]);
    expect(declared.length).toBeGreaterThan(2);
    // The page is in an order for readers.
    expect(rowsBelow(heading).toSorted()).toEqual(declared.toSorted());
  },
);
