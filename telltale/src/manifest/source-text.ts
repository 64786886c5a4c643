import type { Diagnostic, Finding, SourcePlace, Span } from './diagnostic.ts';
import { excerptOf } from './excerpt.ts';

/** The text of one file, with its lines found. */
export interface SourceText {
  /** As diagnostics show it. */
  readonly file: string;
  readonly text: string;
  /** The offset of each line's first code unit. */
  readonly lineStarts: readonly number[];
}

export function createSourceText(file: string, text: string): SourceText {
  const lineStarts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lineStarts.push(at + 1);
  return { file, text, lineStarts };
}

/** Line and column from 1. An offset outside the text counts as the nearest one inside. */
export function positionAt(
  source: SourceText,
  offset: number,
): { readonly line: number; readonly column: number } {
  const at = Math.max(0, Math.min(offset, source.text.length));
  let low = 0;
  let high = source.lineStarts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((source.lineStarts[middle] ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, column: at - (source.lineStarts[low] ?? 0) + 1 };
}

/** The text of a line from 1, without its line break. */
function lineAt(source: SourceText, line: number): string {
  const start = source.lineStarts[line - 1] ?? source.text.length;
  const next = source.lineStarts[line];
  const text = source.text.slice(start, next === undefined ? undefined : next - 1);
  return text.endsWith('\r') ? text.slice(0, -1) : text;
}

/** Puts a finding in its place, and says where that place has it `from`. */
export function diagnose(
  source: SourceText,
  span: Span,
  finding: Finding,
  from: readonly Span[] = [],
): Diagnostic {
  const { severity, code, message, hint } = finding;
  const { line, column, excerpt } = placeAt(source, span);
  return {
    severity,
    code,
    file: source.file,
    line,
    column,
    ...(from.length === 0 ? {} : { from: from.map((each) => placeAt(source, each)) }),
    message,
    ...(hint === undefined ? {} : { hint }),
    ...(excerpt === undefined ? {} : { excerpt }),
  };
}

/** What reaches over several lines is marked on its first one. */
function placeAt(source: SourceText, span: Span): SourcePlace {
  const { line, column } = positionAt(source, span.start);
  const text = lineAt(source, line);
  const from = Math.min(column - 1, text.length);
  const length = Math.max(1, Math.min(span.end - span.start, text.length - from));
  return { line, column, ...(text.trim() === '' ? {} : { excerpt: excerptOf(text, from, length) }) };
}
