import { type ReactNode, useEffect, useState } from 'react';
import { visibleText } from '../../../telltale/src/lib/text.ts';
import { cx } from './class-names.ts';
import type { Piece } from './highlight.ts';

/** Longer sources are not highlighted, because that could block the page. */
const MAX_CHARACTERS = 60_000;

type Highlight = typeof import('./highlight.ts').highlight;
let highlighter: Highlight | undefined;

/** The lines of a source. They are highlighted once the highlighter is loaded. An unknown language stays plain. */
export function useSourceLines(text: string, language: string): readonly ReactNode[] {
  const [highlight, setHighlight] = useState<Highlight | undefined>(() => highlighter);
  const isWanted = language !== '' && text.length <= MAX_CHARACTERS;
  useEffect(() => {
    if (!isWanted || highlight !== undefined) return;
    let isHere = true;
    void import('./highlight.ts').then((loaded) => {
      highlighter = loaded.highlight;
      if (isHere) setHighlight(() => loaded.highlight);
    });
    return () => {
      isHere = false;
    };
  }, [isWanted, highlight]);
  const shown = visibleText(text);
  const colored = isWanted ? highlight?.(shown, language) : undefined;
  return colored?.map(colorLine) ?? shown.split('\n');
}

const colorLine = (pieces: readonly Piece[]): ReactNode =>
  pieces.map(({ text, look }, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no state and never move.
    <span key={at} className={look}>
      {text}
    </span>
  ));

export interface SourceCodeProps {
  readonly text: string;
  /** The language as after the fence of a code block: `ts`, `yaml`. */
  readonly language: string;
  readonly className?: string;
}

/**
 * A block of code, highlighted if its language is known, with invisible characters made visible. It renders text nodes
 * only.
 */
export function SourceCode({ text, language, className }: SourceCodeProps) {
  const [name = ''] = language
    .trim()
    .toLowerCase()
    .split(/[\s{,]/);
  const lines = useSourceLines(text, name);
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: long lines are scrolled to by keyboard, too.
      tabIndex={0}
      aria-label={name === '' ? 'Code' : `Code in ${name}`}
      className={cx(
        'overflow-x-auto rounded-md bg-sunken p-2.5 font-mono text-small -outline-offset-2',
        className,
      )}
    >
      <pre>
        {lines.map((line, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is known by its number.
          <span key={at}>
            {line}
            {at < lines.length - 1 ? '\n' : ''}
          </span>
        ))}
      </pre>
    </section>
  );
}

/** The language of a file, by its name. */
export const languageOf = (path: string): string => LANGUAGES[/\.(\w+)$/.exec(path)?.[1] ?? ''] ?? '';

const LANGUAGES: Readonly<Record<string, string>> = {
  yml: 'yaml',
  yaml: 'yaml',
  json: 'json',
  md: 'markdown',
  sh: 'bash',
  py: 'python',
  sql: 'sql',
  js: 'javascript',
  mjs: 'javascript',
  cjs: 'javascript',
  ts: 'typescript',
  html: 'xml',
  css: 'css',
};
