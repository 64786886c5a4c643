import type { LoadTokenizer } from '../../kernel/tokenizer.ts';
import type { MemoryAnswer, MemoryEdge, MemoryNode } from '../memory.ts';
import { keyOf } from './draft.ts';

/** What the frame of an answer and its note take, about. */
const FRAME_TOKENS = 40;

/** A node, and the edges between it and those before it. */
interface Group {
  readonly node: MemoryNode;
  readonly edges: readonly MemoryEdge[];
}

/**
 * The answer as long as it may be: what is worth least is left out, with the edges that lead to it, and the note says
 * how much that is. Counted as JSON, which is longer than the answer as Markdown.
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
  // No token is shorter than a byte.
  if (Buffer.byteLength(JSON.stringify(whole)) <= maxTokens) return whole;
  const tokenizer = await loadTokenizer();
  const tokens = (value: unknown) => tokenizer.count(JSON.stringify(value));
  const kept: Group[] = [];
  let left = maxTokens - FRAME_TOKENS;
  for (const group of groups) {
    let cost = tokens(group);
    // What was asked for stands there at least without its lines.
    const short = cost > left ? withoutSnippet(group) : group;
    if (short !== group) cost = tokens(short);
    if (cost > left) break;
    kept.push(short);
    left -= cost;
  }
  for (;;) {
    const missing = groups.length - kept.length;
    const answer = answerOf(kept, missing === 0 ? note : leftOut(note, missing, maxTokens));
    if (kept.length === 0 || tokens(answer) <= maxTokens) return answer;
    kept.pop();
  }
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

function leftOut(note: string | undefined, missing: number, maxTokens: number): string {
  const more = `${missing} more ${missing === 1 ? 'is' : 'are'} left out to keep within ${maxTokens} tokens.`;
  return note === undefined ? more : `${note} ${more}`;
}
