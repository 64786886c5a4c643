/** What a tag of the protocol may carry. The index is the attribute's code; 0 is any other name. */
export const ATTRIBUTE_NAMES = ['', 'type', 'mode', 'id', 'key', 'test', 'in', 'as', 'final'] as const;

export const OTHER = 0;
export const TYPE = 1;
export const MODE = 2;
export const ID = 3;
export const KEY = 4;
export const TEST = 5;
export const IN = 6;
export const AS = 7;
export const FINAL = 8;

/** The names as a trie in one flat table, as in `tag-names.ts`; node 0 is where no known name goes on so. */
export const ATTRIBUTE_ROOT = 1;
const WIDTH = 128;
const table = new Uint8Array((ATTRIBUTE_NAMES.join('').length + 2) * WIDTH);
const codes: number[] = [];

let used = ATTRIBUTE_ROOT;
for (const [code, name] of ATTRIBUTE_NAMES.entries()) {
  let node = ATTRIBUTE_ROOT;
  for (let i = 0; i < name.length; i++) {
    const slot = node * WIDTH + name.charCodeAt(i);
    if (table[slot] === 0) table[slot] = ++used;
    node = table[slot] ?? 0;
  }
  if (code !== OTHER) codes[node] = code;
}

export function nextAttributeNode(node: number, c: number): number {
  return node !== 0 && c < WIDTH ? (table[node * WIDTH + c] ?? 0) : 0;
}

export function attributeCode(node: number): number {
  return codes[node] ?? OTHER;
}
