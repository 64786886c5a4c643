/** Words as a trie in one flat table, so that a name can be told one character at a time. ASCII only. */
export interface NameTrie {
  readonly table: Uint8Array;
  /** For each node the index of the word that ends there, else undefined. */
  readonly ends: readonly (number | undefined)[];
}

export const ROOT = 1;
export const WIDTH = 128;

export function createNameTrie(words: readonly string[]): NameTrie {
  const table = new Uint8Array((words.join('').length + ROOT + 1) * WIDTH);
  const ends: (number | undefined)[] = [];
  let used = ROOT;
  for (const [index, word] of words.entries()) {
    let node = ROOT;
    for (let i = 0; i < word.length; i++) {
      const slot = node * WIDTH + word.charCodeAt(i);
      if (table[slot] === 0) table[slot] = ++used;
      node = table[slot] ?? 0;
    }
    if (word !== '') ends[node] = index;
  }
  return { table, ends };
}

/** The node after `c`; 0, which leads nowhere, where no word goes on so. */
export function stepTrie(table: Uint8Array, node: number, c: number): number {
  return node !== 0 && c < WIDTH ? (table[node * WIDTH + c] ?? 0) : 0;
}
