import type { Reference } from '../../conditions/references/reference.ts';
import { createReferenceReader, type ReferencePiece } from '../../conditions/references/reference-reader.ts';
import { createMarkdown, isCalm, type Markdown, PROSE, stepMarkdown } from '../../protocol/tags/markdown.ts';

const DOLLAR = 36;
/** In calm text, nothing else can begin code or a reference. */
const NEXT = /[\n`$]/g;

/**
 * Reads the references of a response as it streams. What code is, inline or in a fence, is decided as the parser of tags
 * decides it; in code a dollar is only a dollar. A response that is to be JSON is no Markdown: there every `$name` counts.
 */
export class ResponseReader {
  readonly #references = createReferenceReader();
  readonly #markdown: Markdown | undefined;

  /** `before`: what the response holds already, none of which is a reference. */
  constructor(isJson: boolean, before = '') {
    this.#markdown = isJson ? undefined : createMarkdown();
    this.push(before);
  }

  push(text: string): ReferencePiece[] {
    const markdown = this.#markdown;
    if (markdown === undefined) return this.#references.push(text);
    const pieces: ReferencePiece[] = [];
    let from = 0;
    for (let at = 0; at < text.length; at++) {
      if (isCalm(markdown)) {
        NEXT.lastIndex = at;
        const next = NEXT.exec(text);
        if (next === null) break;
        at = next.index;
      }
      const char = text.charCodeAt(at);
      stepMarkdown(markdown, char);
      if (char !== DOLLAR || markdown.code === PROSE) continue;
      pieces.push(...this.#references.push(text.slice(from, at)), ...this.#references.end());
      pieces.push({ kind: 'text', text: '$' });
      from = at + 1;
    }
    pieces.push(...this.#references.push(text.slice(from)));
    return pieces;
  }

  end(): ReferencePiece[] {
    return this.#references.end();
  }
}

/** What a whole response refers to. */
export function referencesInResponse(text: string, isJson: boolean): readonly Reference[] {
  const reader = new ResponseReader(isJson);
  return [...reader.push(text), ...reader.end()].filter((piece) => piece.kind === 'reference');
}
