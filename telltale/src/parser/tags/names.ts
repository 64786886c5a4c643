/** Words as a trie in one flat table, so that a name can be told one character at a time. ASCII only. */
export interface NameTrie {
  readonly table: Uint8Array;
  /** For each node the index of the word that ends there, else undefined. */
  readonly ends: readonly (number | undefined)[];
}

export const ROOT = 1;
const WIDTH = 128;

function createNameTrie(words: readonly string[]): NameTrie {
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
function stepTrie(table: Uint8Array, node: number, c: number): number {
  return node !== 0 && c < WIDTH ? (table[node * WIDTH + c] ?? 0) : 0;
}

/** Elements that can be open. */
export type ElementName = 'thought' | 'response' | 'if' | 'foreach' | 'parallel';
export type BodyTag = 'action' | 'metadata';
export type TagName = ElementName | BodyTag | 'else' | 'result' | 'context_feed';

const SPELLINGS: Readonly<Record<string, TagName>> = {
  thought: 'thought',
  think: 'thought',
  thinking: 'thought',
  action: 'action',
  metadata: 'metadata',
  response: 'response',
  if: 'if',
  else: 'else',
  foreach: 'foreach',
  parallel: 'parallel',
  result: 'result',
  context_feed: 'context_feed',
};

const ORDER = [...new Set(Object.values(SPELLINGS))];

const spellings = Object.keys(SPELLINGS);
const { table, ends } = createNameTrie(spellings);
const names: readonly (TagName | undefined)[] = Array.from(
  ends,
  (end) => SPELLINGS[spellings[end ?? -1] ?? ''],
);

/** For each node the names that can still be reached from it, one bit each. */
const reach = new Uint16Array(table.length / WIDTH);
for (let node = reach.length - 1; node >= ROOT; node--) {
  const own = names[node];
  let bits = own === undefined ? 0 : bitOf(own);
  for (let c = 0; c < WIDTH; c++) bits |= reach[table[node * WIDTH + c] ?? 0] ?? 0;
  reach[node] = bits;
}

export const ALL_NAMES = -1;

export function canReach(node: number, bits: number): boolean {
  return ((reach[node] ?? 0) & bits) !== 0;
}

export function bitOf(name: TagName): number {
  return 1 << ORDER.indexOf(name);
}

export function nextNode(node: number, c: number): number {
  return stepTrie(table, node, c);
}

/** How many characters the name has that ends at this node. */
const lengths = new Uint8Array(table.length / WIDTH);
for (let node = ROOT; node < lengths.length; node++) {
  for (let c = 0; c < WIDTH; c++) {
    const next = table[node * WIDTH + c] ?? 0;
    if (next !== 0) lengths[next] = (lengths[node] ?? 0) + 1;
  }
}

export function spellingLength(node: number): number {
  return lengths[node] ?? 0;
}

/** The text is over before it is certain. */
const UNDECIDED = 255;

/** Whether the `<` at `at` may begin a tag, as far as the text goes. */
export function mayBeginTag(text: string, at: number): boolean {
  return tagNode(text, at) !== 0;
}

/**
 * The node of the name of the tag that the `<` at `at` begins; 0 where it begins none, and a node without a name where
 * the text is over before that is certain. A glance that spares most of the `<` in prose and code a scan.
 */
export function tagNode(text: string, at: number): number {
  let closing = false;
  let node = ROOT;
  for (let i = at + 1; i < text.length; i++) {
    const c = text.charCodeAt(i);
    const next = nextNode(node, c);
    if (next === 0) {
      if (c === SLASH && i === at + 1) {
        closing = true;
        continue;
      }
      const ends = c === GT || isSpace(c) || (c === SLASH && !closing);
      return ends && names[node] !== undefined ? node : 0;
    }
    node = next;
  }
  return UNDECIDED;
}

export function nameAt(node: number): TagName | undefined {
  return names[node];
}

/** Tags from the character after the name on: what they guard must not run because a quote is missing. */
export function isControl(name: TagName): boolean {
  return name === 'if' || name === 'else' || name === 'foreach' || name === 'parallel';
}

export function isElement(name: TagName): name is ElementName {
  return (
    name === 'thought' || name === 'response' || name === 'if' || name === 'foreach' || name === 'parallel'
  );
}

/** What a tag of the protocol may carry. The index is the attribute's code; 0 is any other name. */
export const ATTRIBUTE_NAMES = [
  '',
  'type',
  'mode',
  'id',
  'key',
  'test',
  'in',
  'as',
  'final',
  'name',
  'output_key',
  'depends_on',
  'timeout',
  'retry',
  'on_error',
  'literal',
] as const;

export const OTHER = 0;
export const TYPE = 1;
export const MODE = 2;
export const ID = 3;
export const KEY = 4;
export const TEST = 5;
export const IN = 6;
export const AS = 7;
export const FINAL = 8;
export const NAME = 9;
export const OUTPUT_KEY = 10;
export const DEPENDS_ON = 11;
export const TIMEOUT = 12;
export const RETRY = 13;
export const ON_ERROR = 14;
export const LITERAL = 15;

const { table: attributeTable, ends: attributeEnds } = createNameTrie(ATTRIBUTE_NAMES);

export function nextAttributeNode(node: number, c: number): number {
  return stepTrie(attributeTable, node, c);
}

export function attributeCode(node: number): number {
  return attributeEnds[node] ?? OTHER;
}

/**
 * Character codes the parser looks for. The loops that most characters go through have them as numbers beside the
 * mark: an imported constant is looked up in its module each time, 4 % of the time at 4 characters a chunk.
 */
export const LF = 10;
export const CR = 13;
export const QUOTE = 34;
export const APOSTROPHE = 39;
export const CLOSE_PAREN = 41;
export const STAR = 42;
export const PLUS = 43;
export const COMMA = 44;
export const MINUS = 45;
export const DOT = 46;
export const SLASH = 47;
export const ZERO = 48;
export const NINE = 57;
export const LT = 60;
export const EQUALS = 61;
export const GT = 62;
export const OPEN_BRACKET = 91;
export const BACKSLASH = 92;
export const CLOSE_BRACKET = 93;
export const UNDERSCORE = 95;
export const BACKTICK = 96;
export const OPEN_BRACE = 123;
export const CLOSE_BRACE = 125;
export const TILDE = 126;

/** White space of the protocol: space, tab, CR, LF, and nothing else. */
export function isSpace(c: number): boolean {
  return c === 32 || c === 10 || c === 9 || c === 13;
}
