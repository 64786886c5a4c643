/** A part of a document with text in it: code, comments and front matter are none. Lines count from 1. */
export type Block =
  | { readonly is: 'heading'; readonly rank: number; readonly text: string; readonly line: number }
  | { readonly is: 'paragraph' | 'other'; readonly lines: readonly string[]; readonly line: number };

const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
const FENCE = /^ {0,3}(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})(.*)$/;
const COMMENT = /^ {0,3}<!--/;
const RAW = /^ {0,3}<(pre|script|style|textarea)\b/i;
const DEFINITION = /^ {0,3}\[[^\]]+\]:/;
/** What a paragraph does not begin with: a list, a quotation, a table, a rule, a tag, code. */
const OTHER = /^(?: {4}|\t| {0,3}(?:[-*+][ \t]|\d{1,9}[.)][ \t]|>|\||<|(?:\*[ \t]*){3,}$|(?:_[ \t]*){3,}$))/;

/** Characters of a heading that are looked at. */
const MAX_HEADING = 1_000;

export function* blocksOf(lines: readonly string[]): Generator<Block> {
  let paragraph: { is: 'paragraph' | 'other'; lines: string[]; line: number } | undefined;
  for (let index = bodyStart(lines); index < lines.length; index += 1) {
    const line = lines[index]!;
    const skipTo = endOfOpaque(lines, index);
    const heading = HEADING.exec(line);
    const underline = paragraph?.is === 'paragraph' ? UNDERLINE.exec(line) : null;
    if (underline && paragraph) {
      const rank = underline[1]![0] === '=' ? 1 : 2;
      yield {
        is: 'heading',
        rank,
        text: paragraph.lines.join(' ').slice(0, MAX_HEADING).trim(),
        line: paragraph.line,
      };
      paragraph = undefined;
    } else if (skipTo !== undefined || heading !== null || line.trim() === '') {
      if (paragraph) yield paragraph;
      paragraph = undefined;
      index = skipTo ?? index;
      if (heading && skipTo === undefined)
        yield {
          is: 'heading',
          rank: heading[1]!.length,
          text: withoutClosing(heading[2] ?? ''),
          line: index + 1,
        };
    } else if (DEFINITION.test(line)) {
      if (paragraph) yield paragraph;
      paragraph = undefined;
      yield { is: 'other', lines: [line], line: index + 1 };
    } else if (paragraph) paragraph.lines.push(line);
    else paragraph = { is: OTHER.test(line) ? 'other' : 'paragraph', lines: [line], line: index + 1 };
  }
  if (paragraph) yield paragraph;
}

const withoutClosing = (written: string) =>
  written
    .slice(0, MAX_HEADING)
    .trimEnd()
    .replace(/(?:^|[ \t]+)#+$/, '')
    .trim();

/** Behind the front matter, where there is one that ends. */
function bodyStart(lines: readonly string[]): number {
  if (lines[0]?.trimEnd() !== '---') return 0;
  const end = lines.findIndex((line, index) => index > 0 && /^(?:---|\.\.\.)[ \t]*$/.test(line));
  return end === -1 ? 0 : end + 1;
}

/** The last line of the code, comment or raw tag that opens here. One that is never closed takes the rest. */
function endOfOpaque(lines: readonly string[], from: number): number | undefined {
  const line = lines[from]!;
  const fence = FENCE.exec(line);
  if (fence && !(fence[1]![0] === '`' && fence[2]!.includes('`')))
    return findFrom(lines, from + 1, (each) => closes(each, fence[1]!));
  if (COMMENT.test(line))
    return line.includes('-->', line.indexOf('<!--') + 4)
      ? from
      : findFrom(lines, from + 1, (each) => each.includes('-->'));
  const raw = RAW.exec(line)?.[1]?.toLowerCase();
  return raw === undefined
    ? undefined
    : findFrom(lines, from, (each) => each.toLowerCase().includes(`</${raw}>`));
}

function closes(line: string, fence: string): boolean {
  const marks = line.trim();
  return marks.length >= fence.length && marks === fence[0]!.repeat(marks.length);
}

function findFrom(lines: readonly string[], from: number, holds: (line: string) => boolean): number {
  for (let index = from; index < lines.length; index += 1) if (holds(lines[index]!)) return index;
  return lines.length;
}
