import type { GraphImport, GraphSymbol } from '../../../store/graph.ts';
import type { ParsedFile } from '../../parsed-file.ts';
import { firstSentence } from '../doc-comment.ts';
import { MAX_DOC, MAX_IMPORTS, MAX_NAME, MAX_SPECIFIER, MAX_SYMBOLS } from '../limits.ts';
import { oneLine } from '../signature.ts';
import { blocksOf } from './blocks.ts';
import { linksIn, plainText } from './inline.ts';

/** Lines of a paragraph in which its first sentence is looked for. */
const MAX_DOC_LINES = 8;

type Draft = { -readonly [Key in keyof GraphSymbol]: GraphSymbol[Key] };

/**
 * Headings are symbols that reach to the next of their rank, with the first sentence below them; links to files are
 * imports. There is no grammar of it among the engine's, and these two need none.
 */
export function readMarkdown(text: string, deadline: number, cut: boolean): ParsedFile {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/);
  const symbols: Draft[] = [];
  const imports = new Map<string, GraphImport>();
  /** The headings that are open, the highest first. */
  const open: { readonly rank: number; readonly symbol: number }[] = [];
  let full = false;
  let last: Draft | undefined;

  const closeDownTo = (rank: number, line: number) => {
    while (open.length > 0 && open[open.length - 1]!.rank >= rank)
      symbols[open.pop()!.symbol]!.endLine = line;
  };

  for (const block of blocksOf(lines)) {
    if (block.is === 'heading') {
      closeDownTo(block.rank, block.line - 1);
      const name = plainText(block.text).slice(0, MAX_NAME);
      if (symbols.length >= MAX_SYMBOLS) full = true;
      if (name !== '' && symbols.length < MAX_SYMBOLS) {
        const container = open[open.length - 1]?.symbol;
        const written = `${'#'.repeat(block.rank)} ${block.text}`;
        last = {
          name,
          kind: 'heading',
          line: block.line,
          endLine: block.line,
          signature: oneLine(written, 0, written.length),
          exported: true,
          ...(container === undefined ? {} : { container }),
        };
        open.push({ rank: block.rank, symbol: symbols.push(last) - 1 });
      }
    } else if (last !== undefined && last.doc === undefined && block.is === 'paragraph') {
      const doc = firstSentence(
        block.lines.slice(0, MAX_DOC_LINES).map((line) => plainText(line.slice(0, 2 * MAX_DOC))),
      );
      if (doc !== undefined) last.doc = doc;
      last = undefined;
    }
    const within = block.is === 'heading' ? [block.text] : block.lines;
    within.forEach((line, index) => {
      full ||= performance.now() > deadline;
      for (const specifier of full ? [] : linksIn(line)) {
        if (imports.size >= MAX_IMPORTS) full = true;
        else if (!imports.has(specifier) && specifier.length <= MAX_SPECIFIER)
          imports.set(specifier, { specifier, line: block.line + index, names: ['*'] });
      }
    });
    if (full) break;
  }
  closeDownTo(0, lines.length);
  return { language: 'markdown', symbols, imports: [...imports.values()], calls: [], broken: cut || full };
}
