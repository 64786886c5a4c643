import type { Node } from 'web-tree-sitter';
import { MAX_DOC, MAX_RECEIVER, MAX_SHOWN_VALUE, MAX_SIGNATURE, type Reading } from './reading.ts';

/** How far back the start of a comment is looked for. */
const MAX_COMMENT = 4_000;

/** Comments to tools. */
const DIRECTIVE =
  /^(?:eslint|biome|prettier|tslint|jshint|istanbul|c8|v8|@ts-|#?region|#?endregion|noqa|type:\s*ignore|pylint|mypy|nolint|go:|\+build|@license|copyright|<reference|=+|-+|\*+)/i;

/** The first sentence of the comment that ends directly before this place: nothing between but blanks and one line's end. */
export function docBefore(text: string, at: number, lineMark: '//' | '#'): string | undefined {
  let end = at;
  let newlines = 0;
  for (; end > 0; end -= 1) {
    const code = text.charCodeAt(end - 1);
    if (code === 10) newlines += 1;
    else if (code !== 32 && code !== 9 && code !== 13) break;
    if (newlines > 1) return undefined;
  }
  if (lineMark === '//' && text.startsWith('*/', end - 2)) return blockComment(text, end);
  return newlines === 0 ? undefined : lineComments(text, end, lineMark);
}

function blockComment(text: string, end: number): string | undefined {
  const window = text.slice(Math.max(0, end - MAX_COMMENT), end);
  const start = window.lastIndexOf('/*', window.length - 3);
  if (start === -1 || window.startsWith('/*!', start)) return undefined;
  const before = window.slice(window.lastIndexOf('\n', start) + 1, start);
  if (before.trim() !== '') return undefined; // Behind code: it is a comment of that.
  const lines = window
    .slice(start + 2, -2)
    .split('\n')
    .map((line) => line.replace(/^\s*\*+ ?/, '').trim());
  return firstSentence(lines);
}

function lineComments(text: string, end: number, mark: string): string | undefined {
  const lines: string[] = [];
  const least = Math.max(0, end - MAX_COMMENT);
  for (let stop = end; stop > least; ) {
    const start = text.lastIndexOf('\n', stop - 1) + 1;
    const line = text.slice(Math.max(start, least), stop).trim();
    if (!line.startsWith(mark)) break;
    lines.unshift(
      line
        .slice(mark.length)
        .replace(/^[/!]+/, '')
        .trim(),
    );
    stop = start - 1;
  }
  return firstSentence(lines);
}

/** Of lines of prose without their comment marks; ends at a blank line, a tag or a full stop. */
export function firstSentence(lines: readonly string[]): string | undefined {
  const prose: string[] = [];
  for (const line of lines) {
    if (DIRECTIVE.test(line)) continue;
    const tagged = line.startsWith('@');
    if (tagged || line === '') {
      if (prose.length > 0 || tagged) break;
    } else prose.push(line);
  }
  const text = prose.join(' ').replace(/\s+/g, ' ');
  const stop = /[.!?。](?=\s|$)(?<!\b(?:e\.g|i\.e|etc|vs|cf)\.)/.exec(text);
  const sentence = stop === null ? text : text.slice(0, stop.index + 1);
  if (sentence === '') return undefined;
  return sentence.length > MAX_DOC ? `${sentence.slice(0, MAX_DOC - 1)}…` : sentence;
}

/** Bodies of classes and interfaces hold members where their head is known; those of classes without a name are blocks. */
export const visitBody: Visit = (node, reading) => {
  const isOwn = reading.frame.place === 'head' && reading.frame.body === node.startIndex;
  reading.enter(node, isOwn ? 'members' : 'block', { exported: isOwn && reading.frame.exported });
};

export const visitBlock: Visit = (node, reading) => {
  reading.enter(node, 'block');
};

/** Sees one node. It may enter it, which makes it the frame of what comes next within it. */
export type Visit = (node: Node, reading: Reading) => void;

/**
 * How a language is read: which nodes of its tree are looked at, and what is taken of each. They come in the order of
 * their first character, what contains before what is contained. The engine gathers them in one call: to step through
 * a tree from here costs more than to parse it.
 */
export interface Grammar {
  /** The file of the grammar in the package of grammars. */
  readonly wasm: string;
  readonly visits: Readonly<Record<string, Visit>>;
  /**
   * For a text in which the engine saw mistakes: the same, with what the grammar is known to misread in other words of
   * the same length. It is parsed once more, and that tree is taken if it has fewer mistakes.
   */
  readonly mend?: (text: string) => string;
}

const NAMES = /^[\w$#]+(?:(?:\.|::)[\w$#]+)*$/;

/** What a call is on, where that is written in names: `session`, `this.store`, `crate::kernel`. */
export function receiverOf(text: string, object: Node): string | undefined {
  if (object.endIndex - object.startIndex > MAX_RECEIVER) return undefined;
  const written = text.slice(object.startIndex, object.endIndex).replace(/[!?\s]/g, '');
  return NAMES.test(written) ? written : undefined;
}

/** Text of a declaration on one line, from one place to another, cut to its bounded size. */
export function oneLine(text: string, from: number, to: number): string {
  // Indentation may take as much as the words: more than is kept is looked at.
  const line = text
    .slice(from, Math.min(to, from + 4 * MAX_SIGNATURE))
    .replace(/\s+/g, ' ')
    .replace(/([([]) /g, '$1')
    .replace(/,? ([)\]])/g, '$1')
    .trim();
  return line.length > MAX_SIGNATURE ? `${line.slice(0, MAX_SIGNATURE - 1)}…` : line;
}

/** The same without what opens a body. */
export const headLine = (text: string, from: number, to: number): string =>
  oneLine(text, from, to).replace(/\s*[{;,]$/, '');

/** A declaration whose value stands at its end: the value is shown where it is short and on one line. */
export function withValue(text: string, from: number, value: number, to: number): string {
  const short = to - value <= MAX_SHOWN_VALUE && !text.slice(value, to).includes('\n');
  return short ? oneLine(text, from, to) : `${headLine(text, from, value)} …`;
}

/** The text of a node. It is cut from the source: to have it from the engine crosses its border for each piece. */
export const textOf = (text: string, node: Node): string => text.slice(node.startIndex, node.endIndex);
