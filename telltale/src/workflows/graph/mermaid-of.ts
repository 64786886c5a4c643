import type { EdgeKind, GraphGroup, GraphNode, NodeKind, WorkflowGraph } from './graph-of.ts';

/**
 * What stands in a Mermaid label as it is. Everything else is written as the number of its character, which Mermaid
 * puts back: so no text can end a label, begin a directive (`%%{`), a comment, Markdown, mathematics or HTML.
 */
const ENCODED = /[^\p{Letter}\p{Mark}\p{Number} _.,=()/'!?+-]/gu;
/** At the start of a label Markdown would make a list of these. */
const LIST_MARK = /^[-+](?= )|(?<=^\d+)[.)](?= )/;

const MAX_LINE = 120;

const SHAPES: Readonly<Record<NodeKind, readonly [open: string, close: string]>> = {
  start: ['((', '))'],
  end: ['(((', ')))'],
  state: ['(', ')'],
  final: ['([', '])'],
  step: ['[', ']'],
  split: ['{{', '}}'],
};

const ARROWS: Readonly<Record<EdgeKind, string>> = {
  next: '-->',
  error: '-.->',
  open: '-.->',
  back: '-->',
};

/** The graph as a Mermaid flowchart. */
export function mermaidOf(graph: WorkflowGraph): string {
  const lines = ['flowchart TD', ...inside(graph, undefined, '  ')];
  for (const { from, to, kind, label } of graph.edges) {
    const text = label === undefined || label === '' ? '' : `|"${lineText(label)}"|`;
    lines.push(`  ${from} ${ARROWS[kind]}${text} ${to}`);
  }
  const finals = graph.nodes.filter(({ kind }) => kind === 'final').map(({ id }) => id);
  if (finals.length > 0) lines.push('  classDef final stroke-width:3px', `  class ${finals.join(',')} final`);
  return `${lines.join('\n')}\n`;
}

function inside(graph: WorkflowGraph, group: string | undefined, indent: string): readonly string[] {
  return [
    ...graph.nodes.filter((node) => node.group === group).map((node) => `${indent}${nodeText(node)}`),
    ...graph.groups
      .filter((each) => each.group === group)
      .flatMap((each) => [
        `${indent}subgraph ${each.id} ["${lineText(groupTitle(each))}"]`,
        ...inside(graph, each.id, `${indent}  `),
        `${indent}end`,
      ]),
  ];
}

const groupTitle = ({ name, type }: GraphGroup): string => `${name} (${type})`;

function nodeText({ id, kind, name, lines }: GraphNode): string {
  const [open, close] = SHAPES[kind];
  // What a split does says more than the name of its type, which its group bears.
  const shown = (kind === 'split' ? lines : [name, ...lines]).map(lineText).filter((line) => line !== '');
  return `${id}${open}"${shown.length === 0 ? ' ' : shown.join('<br/>')}"${close}`;
}

function lineText(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  const characters = [...line];
  const shown = characters.length > MAX_LINE ? `${characters.slice(0, MAX_LINE - 1).join('')}…` : line;
  return shown.replace(ENCODED, numbered).replace(LIST_MARK, numbered);
}

/** A character that no text has (a lone half of one) is the replacement character. */
function numbered(character: string): string {
  const code = character.codePointAt(0) ?? 0xfffd;
  const isText = code >= 0x20 && code !== 0x7f && (code < 0xd800 || code > 0xdfff);
  return `#${isText ? code : 0xfffd};`;
}
