import { EQUALS, GT, isSpace, QUOTE, SLASH } from '../prose/chars.ts';
import { attributeCode, nextAttributeNode, OTHER } from './attribute-names.ts';
import { ROOT } from './name-trie.ts';
import { nameAt, spellingLength } from './tag-names.ts';
import { addSpan, endValue, startTag, startValue, type TagScan } from './tag-scan-state.ts';

/**
 * Reads at once a tag that lies whole in `text` and is written plainly: a closing tag, or an opening one whose
 * attributes are known ones in double quotes. Returns the index after its `>`, with the scan as `stepTag` would have
 * left it; 0, with the scan as new, for any other, which has to be read by the character. `node` is what `tagNode` gave
 * for the `<` at `at`.
 */
export function scanWholeTag(scan: TagScan, text: string, at: number, node: number): number {
  const name = nameAt(node);
  if (name === undefined) return 0;
  scan.closing = text.charCodeAt(at + 1) === SLASH;
  scan.name = name;
  const from = at + (scan.closing ? 2 : 1) + spellingLength(node);
  if (text.charCodeAt(from) === GT) return from + 1;
  const after = scan.closing ? 0 : scanPlainAttributes(scan, text, at, from);
  if (after === 0) startTag(scan);
  return after;
}

/** 0 past the end, where `charCodeAt` gives NaN: the engine would compare floating-point numbers from then on. */
function codeAt(text: string, at: number): number {
  return at < text.length ? text.charCodeAt(at) : 0;
}

function scanPlainAttributes(scan: TagScan, text: string, at: number, from: number): number {
  let i = from;
  for (;;) {
    while (isSpace(codeAt(text, i))) i++;
    const c = codeAt(text, i);
    if (c === GT) return i + 1;
    if (c === SLASH) {
      scan.selfClosing = true;
      return codeAt(text, i + 1) === GT ? i + 2 : 0;
    }
    if (!isSpace(text.charCodeAt(i - 1))) return 0;
    const nameFrom = i;
    let node = ROOT;
    for (let next = nextAttributeNode(node, c); next !== 0; next = nextAttributeNode(node, codeAt(text, i))) {
      node = next;
      i++;
    }
    const code = attributeCode(node);
    if (code === OTHER || codeAt(text, i) !== EQUALS || codeAt(text, i + 1) !== QUOTE) return 0;
    const to = text.indexOf('"', i + 2);
    if (to < 0) return 0;
    addSpan(scan, code, nameFrom - at, i - at);
    startValue(scan, i + 2 - at);
    endValue(scan, to - at);
    i = to + 1;
  }
}
