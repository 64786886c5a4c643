import type { DraftNode } from './draft.ts';
import type { QueryDeps } from './query-edges.ts';

/** Lines of a definition that are shown, and characters of a line. */
const LINES = 12;
const LINE_CHARS = 200;
/** Definitions, and calls, of which lines are read. */
const DEFINITIONS = 10;
const CALLS = 30;

/** Adds lines of the files: the beginning of what was asked for, the line of a call of what is around it. */
export async function addSnippets(
  nodes: readonly DraftNode[],
  readLines: QueryDeps['readLines'],
): Promise<readonly DraftNode[]> {
  let [definitions, calls] = [0, 0];
  return Promise.all(
    nodes.map(async (one) => {
      const { node, symbol, call } = one;
      if (node.kind !== 'symbol' || symbol === undefined) return one;
      const isFound = node.distance === 0;
      if (isFound ? ++definitions > DEFINITIONS : call === undefined || ++calls > CALLS) return one;
      const lines = isFound
        ? await readLines(symbol.path, symbol.line, Math.min(symbol.endLine, symbol.line + LINES - 1))
        : await readLines(call?.path ?? '', call?.line ?? 0, call?.line ?? 0);
      const snippet = textOf(lines ?? []);
      // A definition of one line is its signature.
      if (snippet === '' || snippet.trim() === node.signature.trim()) return one;
      return { ...one, node: { ...node, snippet } };
    }),
  );
}

/** Without the indentation that all of them share. */
function textOf(lines: readonly string[]): string {
  const shared = Math.min(...lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)));
  return lines
    .slice(0, LINES)
    .map((line) => (Number.isFinite(shared) ? line.slice(shared) : line).trimEnd().slice(0, LINE_CHARS))
    .join('\n')
    .trimEnd();
}
