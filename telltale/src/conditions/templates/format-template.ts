import type { TemplatePiece } from './template.ts';

/** The string that `parseTemplate` reads as `pieces`. */
export function formatTemplate(pieces: readonly TemplatePiece[]): string {
  let source = '';
  for (const [i, piece] of pieces.entries()) {
    if (piece.kind !== 'text') source += piece.source;
    else {
      const beforeReference = i + 1 < pieces.length && pieces[i + 1]?.kind !== 'text';
      source += escapeTemplate(piece.text, beforeReference);
    }
  }
  return source;
}

/** `text` so that a template holds it as it is: every dollar of a run before a brace is doubled. */
export function escapeTemplate(text: string, beforeReference = false): string {
  const escaped = text.replace(/\$+(?=\{)/g, (dollars) => dollars + dollars);
  return beforeReference ? escaped.replace(/\$+$/, (dollars) => dollars + dollars) : escaped;
}
