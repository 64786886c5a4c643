import { EQUALS, GT, isSpace, QUOTE, SLASH } from '../prose/chars.ts';
import { attributeCode, nextAttributeNode, OTHER } from './attribute-names.ts';
import { NO_ATTRIBUTES, readAttributes } from './attributes.ts';
import { closeTag } from './close-tag.ts';
import { findElement } from './elements.ts';
import { ROOT } from './name-trie.ts';
import { openThought } from './open-tag.ts';
import { placement } from './placement.ts';
import { endOpeningTag, faultOf } from './read-tag.ts';
import { counted, type Reader, release } from './reader-state.ts';
import { isElement, nameAt, spellingLength, type TagName } from './tag-names.ts';
import { addSpan, commonScan, endValue, startTag, startValue, type TagScan } from './tag-scan-state.ts';
import { COUNTED } from './turn.ts';

/**
 * Reads at once a tag in prose that lies whole in the chunk and is written plainly: a closing tag, or an opening one whose
 * attributes are known ones in double quotes. Returns the index after its `>`; 0, and nothing done, for any other, which
 * has to be read by the character. `node` is what `tagNode` gave for the `<` at `at`.
 */
export function readWholeTag(r: Reader, chunk: string, at: number, node: number): number {
  const name = nameAt(node);
  if (name === undefined) return 0;
  if (chunk.charCodeAt(at + 1) === SLASH) {
    const end = at + 2 + spellingLength(node);
    return chunk.charCodeAt(end) === GT ? readWholeClose(r, chunk, at, end + 1, name) : 0;
  }
  // One that may not stand here is text from where that is certain, which only the steps tell.
  const { elements, actionsIn } = r.turn;
  if (placement(elements, actionsIn, name, r.lineWasBlank) !== undefined) return 0;
  return readWholeOpen(r, chunk, at, at + 1 + spellingLength(node), name);
}

function readWholeClose(r: Reader, chunk: string, at: number, next: number, name: TagName): number {
  const { turn } = r;
  // In a response one that closes nothing is text as soon as that is certain.
  if (turn.elements.place === 'response' && !(isElement(name) && findElement(turn.elements, name) >= 0))
    return 0;
  const meaning = closeTag(turn, name, r.offset + next);
  if (meaning !== COUNTED) return release(r, chunk.slice(at, next), r.offset + next, next, faultOf(meaning));
  counted(r);
  return next;
}

function readWholeOpen(r: Reader, chunk: string, at: number, from: number, name: TagName): number {
  const { turn } = r;
  const isBare = chunk.charCodeAt(from) === GT;
  const scan = commonScan();
  startTag(scan);
  const next = isBare ? from + 1 : scanPlainAttributes(scan, chunk, at, from);
  if (next === 0) return 0;
  if (name === 'thought') {
    openThought(turn, scan.selfClosing, r.offset + next);
    counted(r);
    return next;
  }
  const text = chunk.slice(at, next);
  const attributes = isBare ? NO_ATTRIBUTES : readAttributes(scan, text);
  return endOpeningTag(
    r,
    { name, attributes, readable: true },
    scan.selfClosing,
    text,
    r.offset + next,
    next,
  );
}

// What the next character of the attributes belongs to.
const BETWEEN = 0;
const NAME = 1;
const BEFORE_VALUE = 2;
const AFTER_SLASH = 3;

/** One look at a character in one loop: each place that has one is some 500 bytes of machine code. */
function scanPlainAttributes(scan: TagScan, text: string, at: number, from: number): number {
  let phase = BETWEEN;
  let spaced = false;
  let nameFrom = 0;
  let node = ROOT;
  for (let i = from; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (phase === NAME) {
      const next = nextAttributeNode(node, c);
      if (next !== 0) node = next;
      else if (c !== EQUALS || attributeCode(node) === OTHER) return 0;
      else phase = BEFORE_VALUE;
    } else if (phase === BEFORE_VALUE) {
      const to = c === QUOTE ? text.indexOf('"', i + 1) : -1;
      if (to < 0) return 0;
      addSpan(scan, attributeCode(node), nameFrom - at, i - 1 - at);
      startValue(scan, i + 1 - at);
      endValue(scan, to - at);
      i = to;
      phase = BETWEEN;
      spaced = false;
    } else if (phase === AFTER_SLASH) {
      scan.selfClosing = true;
      return c === GT ? i + 1 : 0;
    } else if (isSpace(c)) spaced = true;
    else if (c === GT) return i + 1;
    else if (c === SLASH) phase = AFTER_SLASH;
    else {
      node = nextAttributeNode(ROOT, c);
      if (!spaced || node === 0) return 0;
      nameFrom = i;
      phase = NAME;
    }
  }
  return 0;
}
