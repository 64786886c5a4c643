import { GT, isSpace, SLASH } from '../prose/chars.ts';
import { createNameTrie, ROOT, stepTrie, WIDTH } from './name-trie.ts';

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
