import type { GraphCall } from '../../../graph.ts';

const NAME_CHARS = 256;
const FIELDS = 4;

/** A call of a file; `from` is the index of the symbol that it stands in. */
export interface EncodedCallsEncodedCall {
  readonly name: string;
  readonly receiver: string | null;
  readonly line: number;
  readonly from: number | null;
}

/** A file's calls as one text: a flat list, since a hundred small ones take four times as long to read. */
export function encodeCalls(calls: readonly GraphCall[], symbols: number): string {
  const flat: (string | number | null)[] = [];
  for (const { name, receiver, line, from } of calls) {
    const origin = from !== undefined && from >= 0 && from < symbols ? from : null;
    flat.push(name.slice(0, NAME_CHARS), receiver?.slice(0, NAME_CHARS) ?? null, line, origin);
  }
  return JSON.stringify(flat);
}

/** The calls that `fits` takes, in order. */
export function decodeCalls(
  encoded: string,
  fits: (name: string, from: number | null) => boolean,
): EncodedCallsEncodedCall[] {
  const flat = JSON.parse(encoded) as (string | number | null)[];
  const calls: EncodedCallsEncodedCall[] = [];
  for (let at = 0; at < flat.length; at += FIELDS) {
    const [name, from] = [flat[at] as string, flat[at + 3] as number | null];
    if (!fits(name, from)) continue;
    calls.push({ name, receiver: flat[at + 1] as string | null, line: flat[at + 2] as number, from });
  }
  return calls;
}
