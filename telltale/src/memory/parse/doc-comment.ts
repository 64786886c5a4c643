import { MAX_DOC } from './limits.ts';

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
