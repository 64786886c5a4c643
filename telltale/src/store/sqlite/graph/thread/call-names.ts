import type { SymbolRow } from './symbol-rows.ts';

/** Names by which code calls what it stands in. */
export const SELVES: ReadonlySet<string> = new Set(['this', 'self', 'Self', 'cls', 'super']);

/** Methods of every language's own things: that a file knows a class with such a method says nothing of a call. */
export const EVERYBODYS: ReadonlySet<string> = new Set(
  (
    'add all any append apply bind call catch clear clone close concat delete emit entries every extend filter find ' +
    'finally flat forEach format get has includes indexOf insert items iter join keys len length map match next on once ' +
    'open pop push read reduce remove replace reverse set shift size slice some sort splice split startsWith test then ' +
    'toString trim unwrap update values write'
  ).split(' '),
);

/** To be called by its name alone. */
export const isPlain = ({ symbol }: SymbolRow): boolean =>
  symbol.kind !== 'method' && symbol.kind !== 'field' && symbol.kind !== 'heading';

export const isTop = (row: SymbolRow): boolean => isPlain(row) && row.container === null;

/** The one whose scope is the closest around; of those beside each other the last, which hides the others. */
export function nearest(rows: readonly SymbolRow[], chain: readonly number[]): SymbolRow | undefined {
  let best: SymbolRow | undefined;
  let depth = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    const at = row.container === null ? chain.length : chain.indexOf(row.container);
    if (at >= 0 && at < depth) [best, depth] = [row, at];
  }
  return best;
}

/** `session` and `Session`, `_store` and `Store`. */
export const isLike = (receiver: string, type: string | undefined): boolean =>
  type !== undefined && receiver.replace(/^[_$#]+/, '').toLowerCase() === type.toLowerCase();

/** `path` of `node:path`, `kernel` of `crate::kernel`, `words` of `./words.ts`. */
export const isCalled = (receiver: string, specifier: string): boolean => {
  const last = specifier.split(/[/:]+/).at(-1) ?? '';
  return (
    last === receiver || last.replace(/\.[a-z]+$/, '') === receiver || last.split('.').at(-1) === receiver
  );
};
