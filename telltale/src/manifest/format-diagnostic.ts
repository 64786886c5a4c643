import type { Diagnostic } from './diagnostic.ts';
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
  if (excerpt !== undefined) {
    const marked = excerpt.text.slice(excerpt.caretFrom, excerpt.caretFrom + excerpt.caretLength);
    lines.push(`    ${printable(excerpt.text)}`);
    const before = ' '.repeat(displayWidth(excerpt.text.slice(0, excerpt.caretFrom)));
    lines.push(`    ${before}${paint('^'.repeat(Math.max(1, displayWidth(marked))))}`);
  }
  if (hint !== undefined) lines.push(`  ${palette.green('→')} ${printable(hint)}`);
  return lines.join('\n');
}

/** `file:line:column`, which editors and terminals turn into a link; `file: /path` where there are no lines. */
function placeOf({ file, line, column, path }: Diagnostic): string {
  if (path !== undefined) return path === '' ? file : `${file}: ${path}`;
  return line === undefined ? file : `${file}:${line}:${column ?? 1}`;
}
