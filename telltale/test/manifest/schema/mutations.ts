import fc from 'fast-check';
import { EXAMPLES } from './examples.ts';

export type Path = readonly (string | number)[];

export interface Mutation {
  readonly document: unknown;
  /** Where the change was made. */
  readonly path: Path;
  /** The key as it was, where it was misspelt. */
  readonly original?: string;
  readonly written?: string;
}

/** Every place in a document: the root's own keys first. */
function places(value: unknown, path: Path = []): readonly Path[] {
  if (Array.isArray(value))
    return value.flatMap((item, index) => [[...path, index], ...places(item, [...path, index])]);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [[...path, key], ...places(item, [...path, key])]);
}

const keyPlaces = EXAMPLES.map((document) =>
  places(document).filter((path) => typeof path.at(-1) === 'string'),
);

const anyPlace = fc
  .nat({ max: EXAMPLES.length - 1 })
  .chain((index) =>
    fc
      .constantFrom(...(keyPlaces[index] ?? []))
      .map((path) => ({ document: structuredClone(EXAMPLES[index]), path })),
  );

export function holder(document: unknown, path: Path): Record<string, unknown> {
  return path
    .slice(0, -1)
    .reduce<unknown>((at, key) => (at as Record<string | number, unknown>)[key], document) as Record<
    string,
    unknown
  >;
}

/** The same document without one key. */
export const deletion: fc.Arbitrary<Mutation> = anyPlace.map(({ document, path }) => {
  delete holder(document, path)[String(path.at(-1))];
  return { document, path };
});

/** The same document with one value of another type. */
export const retyping: fc.Arbitrary<Mutation> = fc
  .tuple(anyPlace, fc.constantFrom<unknown>(null, true, 42, -1, 1.5, '', 'text', [], [1], {}, { a: 1 }))
  .map(([{ document, path }, value]) => {
    holder(document, path)[String(path.at(-1))] = value;
    return { document, path };
  });

/** The same document with one slip of the pen in one key: a letter doubled, left out, swapped or replaced. */
export const misspelling: fc.Arbitrary<Mutation> = fc
  .tuple(anyPlace, fc.nat(), fc.constantFrom('double', 'drop', 'swap', 'replace'))
  .map(([{ document, path }, at, how]) => {
    const original = String(path.at(-1));
    const index = at % original.length;
    const written = slip(original, index, how);
    const map = holder(document, path);
    if (written === original || Object.hasOwn(map, written)) return { document, path };
    const value = map[original];
    delete map[original];
    map[written] = value;
    return { document, path, original, written };
  });

function slip(key: string, index: number, how: string): string {
  const before = key.slice(0, index);
  const here = key[index] ?? '';
  const after = key.slice(index + 1);
  switch (how) {
    case 'double':
      return `${before}${here}${here}${after}`;
    case 'drop':
      return key.length > 2 ? `${before}${after}` : key;
    case 'swap':
      return `${before}${after.charAt(0)}${here}${after.slice(1)}`;
    default:
      return `${before}${here === 'x' ? 'y' : 'x'}${after}`;
  }
}
