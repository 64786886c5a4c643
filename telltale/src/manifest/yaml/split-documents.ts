/** A document's own stretch of a file. */
export interface DocumentText {
  readonly text: string;
  /** Where it begins in the file. */
  readonly base: number;
}

const MARKER = /^(?:---|\.\.\.)(?=[ \t\r\n]|$)/gm;
const CONTENT = /^(?!%|[ \t]*(?:#.*)?\r?$)/m;

/**
 * Cuts a file at its document markers. YAML lets none of them stand inside a value, so that a document whose quote
 * is never closed cannot swallow the next one. Directives stay with the document they precede. Stops at `limit`.
 */
export function splitDocuments(text: string, limit: number): readonly DocumentText[] {
  const documents: DocumentText[] = [];
  let base = 0;
  const cutAt = (end: number) => {
    documents.push({ text: text.slice(base, end), base });
    base = end;
  };
  let opened = false;
  for (const marker of text.matchAll(MARKER)) {
    if (documents.length > limit) return documents;
    if (marker[0] === '...') {
      const end = text.indexOf('\n', marker.index);
      cutAt(end === -1 ? text.length : end + 1);
      opened = false;
      continue;
    }
    if (opened || CONTENT.test(text.slice(base, marker.index))) cutAt(marker.index);
    opened = true;
  }
  if (base < text.length || documents.length === 0) cutAt(text.length);
  return documents;
}
