import type { MemoryAnswer, MemoryEdge, MemoryNode } from '../memory.ts';
import { keyOf } from './draft.ts';

type NodeOf<Kind extends MemoryNode['kind']> = Extract<MemoryNode, { readonly kind: Kind }>;

/** An answer as Markdown, for a model and for a person: what was found, each with what calls it and what it calls. */
export function renderAnswer({ nodes, edges, note }: MemoryAnswer): string {
  const byKey = new Map(nodes.map((node) => [keyOf(node), node]));
  const edgesOf = new Map<string, MemoryEdge[]>();
  for (const edge of edges)
    for (const key of edge.from === edge.to ? [edge.to] : [edge.from, edge.to]) {
      const known = edgesOf.get(key);
      if (known === undefined) edgesOf.set(key, [edge]);
      else known.push(edge);
    }
  const told = new Set<MemoryEdge>();
  const mentioned = new Set<string>();
  const other = (edge: MemoryEdge, key: string, line: string): string => {
    told.add(edge);
    mentioned.add(key);
    return line;
  };
  const around = (key: string): string[] => {
    const lines: string[] = [];
    for (const edge of edges) {
      // Where a symbol is defined, its place says.
      if (told.has(edge) || edge.kind === 'defines') continue;
      if (edge.to === key && edge.kind !== 'mentions')
        lines.push(
          other(edge, edge.from, `- ${TO[edge.kind]} ${placed(edge, byKey.get(edge.from), edge.from)}`),
        );
      else if (edge.from === key && edge.kind === 'calls')
        lines.push(other(edge, edge.to, `- calls ${nameOf(byKey.get(edge.to), edge.to)}`));
      else if (edge.from === key && edge.kind === 'imports')
        lines.push(other(edge, edge.to, `- imports ${edge.to}`));
      else if (edge.from === key && edge.kind === 'supersedes')
        lines.push(other(edge, edge.to, `- supersedes ${edge.to}`));
    }
    return lines;
  };

  const blocks: string[] = [];
  const found = nodes.filter(({ distance }) => distance === 0);
  for (const node of found) blocks.push([...linesOf(node), ...around(keyOf(node))].join('\n'));
  const rest: string[] = [];
  for (const node of nodes) {
    if (node.distance === 0) continue;
    const key = keyOf(node);
    const isFact = node.kind === 'fact' || node.kind === 'decision' || node.kind === 'session';
    if (isFact || !mentioned.has(key)) rest.push(...linesOf(node));
    const further = around(key);
    if (further.length === 0) continue;
    if (!isFact && mentioned.has(key)) rest.push(`**${nameOf(node, key)}**`);
    rest.push(...further);
  }
  if (rest.length > 0) blocks.push(rest.join('\n'));
  if (note !== undefined) blocks.push(`_${note}_`);
  return blocks.join('\n\n');
}

const TO: Readonly<Record<MemoryEdge['kind'], string>> = {
  calls: 'called by',
  imports: 'imported by',
  defines: 'defined in',
  mentions: 'mentioned by',
  learned_in: 'source of',
  supersedes: 'superseded by',
};

/** Where a call or import stands, in what, and its line where that is known. */
function placed(edge: MemoryEdge, node: MemoryNode | undefined, key: string): string {
  const where = edge.at ?? key;
  if (node?.kind !== 'symbol') return `${where}${byName(edge)}`;
  const line = node.snippet === undefined || node.distance === 0 ? '' : `: \`${inline(node.snippet)}\``;
  return `${where} in ${node.name}${byName(edge)}${line}`;
}

const byName = (edge: MemoryEdge): string => (edge.byName === true ? ' (by name only)' : '');

const nameOf = (node: MemoryNode | undefined, key: string): string =>
  node?.kind === 'symbol' ? `${node.name} ${node.at}` : key;

function linesOf(node: MemoryNode): string[] {
  switch (node.kind) {
    case 'symbol':
      return symbolLines(node);
    case 'file': {
      const language = node.language === undefined ? '' : ` (${node.language})`;
      const defines = node.defines === undefined ? [] : [`defines ${node.defines.join(', ')}`];
      return [`**${node.at}**${language}`, ...defines];
    }
    case 'module':
      return [`**${node.name}** (module)`];
    case 'fact':
    case 'decision':
      return [factLine(node)];
    case 'session':
      return [`- session ${node.session}, ${dayOf(node.atMs)}: ${inline(node.title)}`];
  }
}

function symbolLines(node: NodeOf<'symbol'>): string[] {
  const head = [`**${inline(node.name)}** ${node.what} ${node.at}`];
  if (node.doc !== undefined) head.push(inline(node.doc));
  if (node.snippet === undefined || node.distance > 0) return [...head, `\`${inline(node.signature)}\``];
  const fence = fenceFor(node.snippet);
  return [...head, fence, node.snippet, fence];
}

function factLine({ kind, id, text, stale, session, atMs }: NodeOf<'fact' | 'decision'>): string {
  const from = [dayOf(atMs), ...(session === undefined ? [] : [session]), id].join(', ');
  return `- ${kind}: ${inline(text)} (${from})${staleness(stale)}`;
}

/** What is not known to hold any more says so. */
export const staleness = (stale: readonly string[]): string =>
  stale.length === 0 ? '' : ` (stale: ${stale.join(', ')} changed since)`;

export const dayOf = (atMs: number): string => {
  const date = new Date(atMs);
  return Number.isNaN(date.getTime()) ? 'unknown' : date.toISOString().slice(0, 10);
};

/** On one line. */
export const inline = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** One that no line of the text ends. */
function fenceFor(text: string): string {
  let fence = '```';
  while (text.includes(fence)) fence += '`';
  return fence;
}
