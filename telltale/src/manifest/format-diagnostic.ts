import type { Diagnostic, Excerpt } from './diagnostic.ts';
import { displayWidth } from './display-width.ts';
import { type Palette, plainPalette } from './palette.ts';
import { printable } from './printable.ts';

/**
 * A diagnostic as people read it: what, where (with the source line and a caret), what to do. Pure; without a final
 * line break. Nothing in it can steer a terminal but the palette's own sequences.
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

/** The source line, and a caret below it. */
function marked(excerpt: Excerpt | undefined, paint: (text: string) => string): readonly string[] {
  if (excerpt === undefined) return [];
  const { text, caretFrom, caretLength } = excerpt;
  const before = ' '.repeat(displayWidth(text.slice(0, caretFrom)));
  const under = '^'.repeat(Math.max(1, displayWidth(text.slice(caretFrom, caretFrom + caretLength))));
  return [`    ${printable(text)}`, `    ${before}${paint(under)}`];
}

/** `file:line:column`, which editors and terminals turn into a link; `file: /path` where there are no lines. */
function placeOf({ file, line, column, path }: Diagnostic): string {
  if (path !== undefined) return path === '' ? file : `${file}: ${path}`;
  return line === undefined ? file : `${file}:${line}:${column ?? 1}`;
}
