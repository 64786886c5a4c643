import { type Diagnostic, type Excerpt, printable } from './diagnostic.ts';

/**
 * Formats a diagnostic for people: the problem, its position (with the source line and a caret) and the remedy, without
 * a final line break. The only control sequences in it are the palette's.
 */
export function formatDiagnostic(diagnostic: Diagnostic, palette: Palette = plainPalette): string {
  const { severity, code, message, hint, excerpt } = diagnostic;
  const paint = severity === 'error' ? palette.red : palette.yellow;
  const lines = [
    `${paint(palette.bold(severity))}: ${palette.bold(printable(message))} ${palette.dim(`[${code}]`)}`,
    `  ${palette.cyan(printable(placeOf(diagnostic)))}`,
  ];
  lines.push(...marked(excerpt, paint));
  for (const { line, column, excerpt: written } of diagnostic.from ?? [])
    lines.push(
      `  which stands for ${palette.cyan(printable(`${diagnostic.file}:${line}:${column}`))}`,
      ...marked(written, paint),
    );
  if (hint !== undefined) lines.push(`  ${palette.green('→')} ${printable(hint)}`);
  return lines.join('\n');
}

/** The source line with a caret below it. */
function marked(excerpt: Excerpt | undefined, paint: (text: string) => string): readonly string[] {
  if (excerpt === undefined) return [];
  const { text, caretFrom, caretLength } = excerpt;
  const before = ' '.repeat(displayWidth(text.slice(0, caretFrom)));
  const under = '^'.repeat(Math.max(1, displayWidth(text.slice(caretFrom, caretFrom + caretLength))));
  return [`    ${printable(text)}`, `    ${before}${paint(under)}`];
}

/** `file:line:column`, which editors and terminals turn into a link, or `file: /path` if there are no lines. */
function placeOf({ file, line, column, path }: Diagnostic): string {
  if (path !== undefined) return path === '' ? file : `${file}: ${path}`;
  return line === undefined ? file : `${file}:${line}:${column ?? 1}`;
}

type FormatDiagnosticPaint = (text: string) => string;

/** The colors of a printed diagnostic. picocolors' `createColors()` is one. */
export interface Palette {
  readonly bold: FormatDiagnosticPaint;
  readonly dim: FormatDiagnosticPaint;
  readonly red: FormatDiagnosticPaint;
  readonly yellow: FormatDiagnosticPaint;
  readonly green: FormatDiagnosticPaint;
  readonly cyan: FormatDiagnosticPaint;
}

const plain: FormatDiagnosticPaint = (text) => text;

/** A palette without colors. */
export const plainPalette: Palette = {
  bold: plain,
  dim: plain,
  red: plain,
  yellow: plain,
  green: plain,
  cyan: plain,
};

const ZERO = /^[\p{Mark}\p{Format}]+$/u;
/** The scripts and blocks that Unicode calls Wide or Fullwidth, and characters that are drawn as emoji by default. */
const WIDE =
  /^(?:[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Yi}\u3000-\u303e\u3200-\u32ff\uff01-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|\p{Extended_Pictographic}.*\ufe0f|.*\u20e3)/u;
const HALFWIDTH = /^[\uff61-\uffdc]/u;

let segmenter: Intl.Segmenter | undefined;

/** Created when first needed, because Node takes 10 ms to read ICU's tables. */
export function graphemes(text: string): Iterable<Intl.SegmentData> {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return segmenter.segment(text);
}

/** The number of terminal columns: 2 for wide characters and emoji, 0 for combining marks. */
export function displayWidth(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes(text)) {
    if (ZERO.test(segment)) continue;
    width += WIDE.test(segment) && !HALFWIDTH.test(segment) ? 2 : 1;
  }
  return width;
}
