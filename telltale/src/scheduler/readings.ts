import { readPath } from '../conditions/own-property.ts';
import { type Reference, readWholeReference } from '../conditions/references/reference.ts';
import { find, type NameSpace, type Standing } from './names.ts';

/** One way to read a reference of a response: ids may have hyphens, and prose puts hyphens behind names. The longest comes first. */
interface Reading extends Reference {
  /** What of the source is text in this reading. */
  readonly rest: string;
}

function* readings(reference: Reference): Iterable<Reading> {
  const { source } = reference;
  yield { ...reference, rest: '' };
  for (let end = source.lastIndexOf('-'); end > 0; end = source.lastIndexOf('-', end - 1)) {
    const shorter = readWholeReference(source.slice(0, end));
    if (shorter !== undefined) yield { ...shorter, rest: source.slice(end) };
  }
}

/** The first reading of `reference` that stands for something, and what that is. */
export function findReference(
  names: NameSpace,
  reference: Reference,
): { readonly reading: Reading; readonly standing: Standing } | undefined {
  for (const reading of readings(reference)) {
    const standing = find(names, reading.name);
    if (standing === undefined) continue;
    if (standing.state === 'value' && readPath(standing.value, reading.path) === undefined) continue;
    return { reading, standing };
  }
  return undefined;
}
