import bash from 'highlight.js/lib/languages/bash';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import markdown from 'highlight.js/lib/languages/markdown';
import python from 'highlight.js/lib/languages/python';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { createLowlight } from 'lowlight';

const lowlight = createLowlight({
  bash,
  css,
  diff,
  go,
  java,
  javascript,
  json,
  markdown,
  python,
  rust,
  sql,
  typescript,
  xml,
  yaml,
});

/** A part of a line, and its classes. */
export interface Piece {
  readonly text: string;
  readonly look?: string;
}

const LOOKS: Readonly<Record<string, string>> = {
  keyword: 'text-stall',
  built_in: 'text-stall',
  type: 'text-stall',
  literal: 'text-stall',
  string: 'text-done',
  regexp: 'text-done',
  code: 'text-done',
  addition: 'text-done',
  number: 'text-wait',
  symbol: 'text-wait',
  bullet: 'text-wait',
  meta: 'text-wait',
  comment: 'text-ink-faint italic',
  quote: 'text-ink-faint',
  deletion: 'text-fail',
  title: 'text-accent',
  attr: 'text-accent',
  attribute: 'text-accent',
  name: 'text-accent',
  section: 'text-accent',
  selector: 'text-accent',
  variable: 'text-accent',
  link: 'text-accent',
};

const lookOf = (classes: unknown): string | undefined => {
  for (const each of Array.isArray(classes) ? classes : []) {
    const [scope = ''] = String(each)
      .replace(/^hljs-/, '')
      .split('-');
    const look = LOOKS[scope];
    if (look !== undefined) return look;
  }
  return undefined;
};

/** The highlighted lines of a source. Undefined for an unknown language. */
export function highlight(text: string, language: string): readonly (readonly Piece[])[] | undefined {
  if (!lowlight.registered(language)) return undefined;
  const lines: Piece[][] = [[]];
  const visit = (node: HighlightNode, look: string | undefined) => {
    if (node.type === 'text')
      for (const [at, line] of (node.value ?? '').split('\n').entries()) {
        if (at > 0) lines.push([]);
        if (line !== '') lines.at(-1)?.push({ text: line, ...(look === undefined ? {} : { look }) });
      }
    for (const child of node.children ?? []) visit(child, lookOf(node.properties?.className) ?? look);
  };
  visit(lowlight.highlight(language, text) as HighlightNode, undefined);
  return lines;
}

interface HighlightNode {
  readonly type: string;
  readonly value?: string;
  readonly properties?: { readonly className?: unknown };
  readonly children?: readonly HighlightNode[];
}
