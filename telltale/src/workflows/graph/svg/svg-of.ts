import { printable } from '../../../manifest/diagnostic.ts';
import { displayWidth, graphemes } from '../../../manifest/format-diagnostic.ts';
import type { GraphEdge, GraphGroup, GraphNode, WorkflowGraph } from '../graph-of.ts';

/** Plain rules, twice: what knows no custom properties draws it, too, and whatever asks for dark gets it. */
const rules = (
  scheme: Readonly<Record<'back' | 'text' | 'dim' | 'line' | 'box' | 'group' | 'mark' | 'error', string>>,
) =>
  [
    `.tt-back{fill:${scheme.back}}`,
    `.tt-box{fill:${scheme.box};stroke:${scheme.line};stroke-width:1}`,
    `.tt-final{stroke-width:3}`,
    `.tt-split{stroke-dasharray:2 2}`,
    `.tt-group{fill:${scheme.group};stroke:${scheme.line};stroke-width:1;stroke-dasharray:4 3}`,
    `.tt-dot{fill:${scheme.text}}`,
    `.tt-ring{fill:none;stroke:${scheme.text};stroke-width:2}`,
    `.tt-edge{fill:none;stroke:${scheme.mark};stroke-width:1.5}`,
    `.tt-head{fill:${scheme.mark}}`,
    `.tt-error{stroke:${scheme.error};stroke-dasharray:5 3}`,
    `.tt-open{stroke-dasharray:1 4}`,
    `.tt-name{fill:${scheme.text};font-weight:600}`,
    `.tt-row{fill:${scheme.dim}}`,
    `.tt-label{fill:${scheme.dim}}`,
  ]
    .map((rule) => `.telltale-graph ${rule}`)
    .join('');

const LIGHT = {
  back: '#ffffff',
  text: '#1b1f24',
  dim: '#4b535d',
  line: '#9aa4af',
  box: '#f6f8fa',
  group: '#eef4fb',
  mark: '#57606a',
  error: '#b3261e',
};
const DARK = {
  back: '#0d1117',
  text: '#e6edf3',
  dim: '#adb6c0',
  line: '#57606a',
  box: '#161b22',
  group: '#111a26',
  mark: '#9aa4af',
  error: '#ff8f85',
};
const FONT = 'ui-monospace,SFMono-Regular,Menlo,Consolas,monospace';

/** The graph as a picture of its own: no font, script or address outside of it. */
export async function svgOf(graph: WorkflowGraph): Promise<string> {
  const drawing = await layOut(graph);
  const width = Math.ceil(drawing.width);
  const height = Math.ceil(drawing.height);
  const name = `Workflow ${plainLine(graph.workflow)}`;
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" class="telltale-graph" role="img" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="${FONT}" font-size="${FONT_SIZE}">`,
    `<title>${escaped(name)}</title>`,
    ...(graph.description === undefined ? [] : [`<desc>${escaped(plainLine(graph.description))}</desc>`]),
    `<style>${rules(LIGHT)}@media (prefers-color-scheme:dark){${rules(DARK)}}</style>`,
    '<defs><marker id="tt-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="tt-head" d="M0 0L8 4L0 8z"/></marker></defs>',
    `<rect class="tt-back" width="${width}" height="${height}"/>`,
    ...bodyOf(drawing),
    '</svg>',
  ];
  return `${lines.join('\n')}\n`;
}

const bodyOf = ({ nodes, edges, groups }: Drawing): readonly string[] => [
  ...groups.toSorted((one, other) => one.depth - other.depth).map(groupText),
  ...edges.map(edgeText),
  ...nodes.map(nodeText),
  ...edges.flatMap(labelText),
];

function groupText({ group, x, y, width, height }: PlacedGroup): string {
  const left = x - width / 2;
  const top = y - height / 2;
  const title = `${plainLine(group.name)} (${group.type})`;
  const [shown = ''] = fitText(title, Math.floor((width - 16) / COLUMN), 1);
  const name = `<text class="tt-name" x="${px(left + 8)}" y="${px(top + ROW)}">${escaped(shown)}</text>`;
  return `<g><title>${escaped(title)}</title><rect class="tt-group" rx="8" ${rect(left, top, width, height)}/>${name}</g>`;
}

function nodeText({ node, title, rows, x, y, width, height }: PlacedNode): string {
  const left = x - width / 2;
  const top = y - height / 2;
  switch (node.kind) {
    case 'start':
      return `<g><title>start</title><circle class="tt-dot" cx="${px(x)}" cy="${px(y)}" r="7"/></g>`;
    case 'end':
      return `<g><title>end</title><circle class="tt-ring" cx="${px(x)}" cy="${px(y)}" r="8"/><circle class="tt-dot" cx="${px(x)}" cy="${px(y)}" r="4"/></g>`;
    case 'state':
    case 'final':
    case 'step':
    case 'split': {
      const all = [...title.map((row) => ['tt-name', row]), ...rows.map((row) => ['tt-row', row])];
      const first = y - ((all.length - 1) * ROW) / 2 + FONT_SIZE / 3;
      const texts = all.map(
        ([style, row = ''], index) =>
          `<text class="${style}" text-anchor="middle" x="${px(x)}" y="${px(first + index * ROW)}">${escaped(row)}</text>`,
      );
      const whole = [node.name, ...node.lines].map(plainLine).filter((line) => line !== '');
      const round = { state: 14, final: 14, step: 5, split: 10 }[node.kind];
      return `<g><title>${escaped(whole.join('\n'))}</title><rect class="tt-box tt-${node.kind}" rx="${round}" ${rect(left, top, width, height)}/>${texts.join('')}</g>`;
    }
  }
}

function edgeText({ edge, points }: PlacedEdge): string {
  return `<path class="tt-edge tt-${edge.kind}" marker-end="url(#tt-arrow)" d="${curve(points)}"/>`;
}

function labelText({ edge, rows, label }: PlacedEdge): readonly string[] {
  if (rows.length === 0) return [];
  const width = widest(rows) + 6;
  const height = rows.length * ROW;
  const first = label.y - ((rows.length - 1) * ROW) / 2 + FONT_SIZE / 3;
  const texts = rows.map(
    (row, index) =>
      `<text class="tt-label" text-anchor="middle" x="${px(label.x)}" y="${px(first + index * ROW)}">${escaped(row)}</text>`,
  );
  const back = `<rect class="tt-back" rx="3" opacity="0.85" ${rect(label.x - width / 2, label.y - height / 2, width, height)}/>`;
  return [`<g><title>${escaped(plainLine(edge.label ?? ''))}</title>${back}${texts.join('')}</g>`];
}

/** Through the middles between the points, so that it bends softly. */
function curve(points: readonly Point[]): string {
  const [first, ...rest] = points;
  const last = rest.at(-1);
  if (first === undefined || last === undefined) return '';
  let path = `M${px(first.x)} ${px(first.y)}`;
  for (const [index, point] of rest.slice(0, -1).entries()) {
    const next = rest[index + 1] ?? last;
    const isLast = index === rest.length - 2;
    const to = isLast ? last : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    path += `Q${px(point.x)} ${px(point.y)} ${px(to.x)} ${px(to.y)}`;
  }
  return rest.length === 1 ? `${path}L${px(last.x)} ${px(last.y)}` : path;
}

const rect = (x: number, y: number, width: number, height: number): string =>
  `x="${px(x)}" y="${px(y)}" width="${px(width)}" height="${px(height)}"`;

const px = (value: number): string => String(Math.round(value * 10) / 10);

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? '');

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** The middle of a box, and its size. */
export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

export interface PlacedNode extends Box {
  readonly node: GraphNode;
  readonly title: readonly string[];
  readonly rows: readonly string[];
}

export interface PlacedEdge {
  readonly edge: GraphEdge;
  readonly points: readonly Point[];
  readonly rows: readonly string[];
  /** The middle of its label. */
  readonly label: Point;
}

export interface PlacedGroup extends Box {
  readonly group: GraphGroup;
  readonly depth: number;
}

export interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
  readonly groups: readonly PlacedGroup[];
}

/** Of a monospaced font of FONT_SIZE: what a column takes. */
const COLUMN = 7.25;
const ROW = 16;
const FONT_SIZE = 12;
const PADDING = 10;
const DOT = 18;
const NODE_COLUMNS = 34;
const LABEL_COLUMNS = 26;
const ROWS_A_LINE = 2;
const MARGIN = 24;

/** Lays out the graph. Dagre is loaded here, at the first drawing. */
async function layOut(graph: WorkflowGraph): Promise<Drawing> {
  const { Graph, layout } = await import('@dagrejs/dagre');
  const drawn = new Graph({ directed: true, compound: true, multigraph: true });
  drawn.setGraph({ rankdir: 'TB', nodesep: 36, ranksep: 44, edgesep: 20, marginx: MARGIN, marginy: MARGIN });
  const titles = new Map(graph.nodes.map((node) => [node.id, titleOf(node)]));
  const rows = new Map(graph.nodes.map((node) => [node.id, rowsOf(node)]));
  for (const { id } of graph.groups) drawn.setNode(id, {});
  for (const { id, kind } of graph.nodes)
    drawn.setNode(id, sizeOf(kind, [...(titles.get(id) ?? []), ...(rows.get(id) ?? [])]));
  for (const { id, group } of [...graph.groups, ...graph.nodes])
    if (group !== undefined) drawn.setParent(id, group);
  const labels = graph.edges.map(({ label = '' }) => fitText(label, LABEL_COLUMNS, ROWS_A_LINE));
  for (const [index, { from, to }] of graph.edges.entries())
    drawn.setEdge(from, to, labelSize(labels[index] ?? []), String(index));
  layout(drawn);
  const { width = 0, height = 0 } = drawn.graph();
  return {
    width,
    height,
    nodes: graph.nodes.map((node) => ({
      ...boxOf(drawn.node(node.id)),
      node,
      title: titles.get(node.id) ?? [],
      rows: rows.get(node.id) ?? [],
    })),
    edges: graph.edges.map((edge, index) => {
      const { points = [], x = 0, y = 0 } = drawn.edge(edge.from, edge.to, String(index));
      return { edge, points, rows: labels[index] ?? [], label: { x, y } };
    }),
    groups: graph.groups.map((group) => ({
      ...boxOf(drawn.node(group.id)),
      group,
      depth: depthOf(group, graph.groups),
    })),
  };
}

const titleOf = ({ kind, name }: GraphNode): readonly string[] =>
  kind === 'split' ? [] : fitText(name, NODE_COLUMNS, ROWS_A_LINE);

const rowsOf = ({ lines }: GraphNode): readonly string[] =>
  lines.flatMap((line) => fitText(line, NODE_COLUMNS, ROWS_A_LINE));

function sizeOf(kind: GraphNode['kind'], rows: readonly string[]) {
  if (kind === 'start' || kind === 'end') return { width: DOT, height: DOT };
  return { width: widest(rows) + 2 * PADDING, height: Math.max(1, rows.length) * ROW + 2 * PADDING };
}

const labelSize = (rows: readonly string[]) =>
  rows.length === 0
    ? { width: 0, height: 0 }
    : { width: widest(rows) + PADDING, height: rows.length * ROW, labelpos: 'c' as const };

const widest = (rows: readonly string[]): number =>
  rows.reduce((most, row) => Math.max(most, displayWidth(row) * COLUMN), 0);

const boxOf = ({ x = 0, y = 0, width = 0, height = 0 }: Partial<Box>): Box => ({ x, y, width, height });

const depthOf = ({ group }: GraphGroup, all: readonly GraphGroup[]): number => {
  const outer = all.find(({ id }) => id === group);
  return outer === undefined ? 0 : 1 + depthOf(outer, all);
};

/** XML has no way to write these. */
const NOT_XML = /[\ufffe\uffff]/g;

/** Text as it may stand in a drawing: on one line, nothing in it unprintable. */
const plainLine = (text: string): string =>
  printable(text).replace(NOT_XML, '\ufffd').replace(/\s+/g, ' ').trim();

/** What is longer than this is not looked at: nobody reads it in a drawing. */
const MAX_TEXT = 2000;

/** Cuts a text into rows of at most `columns`, at blanks where there are any; what needs more than `rows` is clipped. */
export function fitText(text: string, columns: number, rows: number): readonly string[] {
  const fitted: string[] = [];
  let row = '';
  const words = plainLine(text.slice(0, MAX_TEXT))
    .split(' ')
    .flatMap((word) => pieces(word, columns));
  for (const word of words) {
    const longer = row === '' ? word : `${row} ${word}`;
    if (displayWidth(longer) <= columns) row = longer;
    else if (fitted.length + 1 < rows) {
      fitted.push(row);
      row = word;
    } else return [...fitted, clipped(longer, columns)];
  }
  return row === '' ? fitted : [...fitted, row];
}

/** A word that is longer than a row, in pieces that fit. */
function pieces(word: string, columns: number): readonly string[] {
  if (displayWidth(word) <= columns) return word === '' ? [] : [word];
  const found: string[] = [];
  let piece = '';
  for (const { segment } of graphemes(word)) {
    if (piece !== '' && displayWidth(piece + segment) > columns) {
      found.push(piece);
      piece = '';
    }
    piece += segment;
  }
  return [...found, piece];
}

function clipped(text: string, columns: number): string {
  let kept = '';
  for (const { segment } of graphemes(text)) {
    if (displayWidth(kept + segment) > columns - 1) break;
    kept += segment;
  }
  return `${kept.trimEnd()}…`;
}
