import type { LoadTokenizer } from '../../kernel/tokenizer.ts';
import type { MemoryAnswer, MemoryEdge, MemoryNode } from '../memory.ts';
import { keyOf } from './draft.ts';
import { renderAnswer } from './render-answer.ts';

/** Of a text that is far too long only so much is counted: source has three to four characters a token. */
const MOST_CHARACTERS_A_TOKEN = 8;

/** A node, and the edges between it and those before it. */
interface Group {
  readonly node: MemoryNode;
  readonly edges: readonly MemoryEdge[];
}

/**
 * The answer as long as it may be: what is worth least is left out, with the edges that lead to it, and the note says
 * how much that is. Counted as Markdown, as models read it; as JSON it is three to four times as long. Counting is what
 * takes time (2,000 tokens: 3 ms), so it is done two or three times, however much there is.
 */
export async function fitAnswer(
  nodes: readonly MemoryNode[],
  edges: readonly MemoryEdge[],
  note: string | undefined,
  maxTokens: number,
  loadTokenizer: LoadTokenizer,
): Promise<MemoryAnswer> {
  const groups = groupsOf(nodes, edges);
  const whole = answerOf(groups, note);
  const text = renderAnswer(whole);
  // No token is shorter than a byte.
  if (Buffer.byteLength(text) <= maxTokens) return whole;
  const tokenizer = await loadTokenizer();
  const begun = text.slice(0, maxTokens * MOST_CHARACTERS_A_TOKEN);
  const tokens = tokenizer.count(begun);
  if (begun === text && tokens <= maxTokens) return whole;
  const roomChars = (maxTokens * begun.length) / tokens;
  const first = (count: number, more: readonly Group[] = []): MemoryAnswer => {
    const kept = [...groups.slice(0, count), ...more];
    return answerOf(kept, leftOut(note, groups.length - kept.length, maxTokens));
  };
  let count = longest(groups.length - 1, (tried) => renderAnswer(first(tried)).length <= roomChars);
  const fits = (answer: MemoryAnswer) => tokenizer.count(renderAnswer(answer)) <= maxTokens;
  while (count > 0 && !fits(first(count))) count--;
  // What was asked for stands there at least without its lines.
  const next = groups[count];
  const short = next === undefined || count > 0 ? undefined : first(0, [withoutSnippet(next)]);
  return short !== undefined && fits(short) ? short : first(count);
}

/** The most, up to `most`, for which it holds; it holds for 0, and for all below one for which it does. */
function longest(most: number, holds: (count: number) => boolean): number {
  let [low, high] = [0, Math.max(0, most)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (holds(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

function groupsOf(nodes: readonly MemoryNode[], edges: readonly MemoryEdge[]): readonly Group[] {
  const places = new Map(nodes.map((node, place) => [keyOf(node), place]));
  const own: MemoryEdge[][] = nodes.map(() => []);
  for (const edge of edges) {
    const [from, to] = [places.get(edge.from), places.get(edge.to)];
    // What is superseded is no node of any answer.
    const isWhole = to !== undefined || edge.kind === 'supersedes';
    if (from !== undefined && isWhole) own[Math.max(from, to ?? 0)]?.push(edge);
  }
  return nodes.map((node, place) => ({ node, edges: own[place] ?? [] }));
}

function withoutSnippet(group: Group): Group {
  if (group.node.kind !== 'symbol' || group.node.snippet === undefined) return group;
  const { snippet: _, ...node } = group.node;
  return { ...group, node };
}

function answerOf(groups: readonly Group[], note: string | undefined): MemoryAnswer {
  return {
    nodes: groups.map(({ node }) => node),
    edges: groups.flatMap(({ edges }) => edges),
    ...(note === undefined ? {} : { note }),
  };
}

function leftOut(note: string | undefined, missing: number, maxTokens: number): string | undefined {
  if (missing === 0) return note;
  const more = `${missing} more ${missing === 1 ? 'is' : 'are'} left out to keep within ${maxTokens} tokens.`;
  return note === undefined ? more : `${note} ${more}`;
}
