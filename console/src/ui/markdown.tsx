import { Lexer, type MarkedToken, type Token } from 'marked';
import { Fragment, memo, type ReactNode, useMemo } from 'react';
import { cx } from './class-names.ts';
import { SourceCode } from './source-code.tsx';

/** Longer texts are shown unformatted, because parsing them could block the page. */
const MAX_CHARACTERS = 24_000;
/** The maximum nesting of lists and quotes. */
const MAX_DEPTH = 12;

export interface MarkdownProps {
  readonly text: string;
  readonly className?: string;
}

/**
 * A model's text as Markdown. Every element is a React element created here. Raw HTML is shown as text, links may only
 * lead to http, https and mailto, and images become links, so that nothing is fetched.
 */
export const Markdown = memo(function Markdown({ text, className }: MarkdownProps) {
  const tokens = useMemo(() => readMarkdown(text), [text]);
  if (tokens === undefined)
    return <div className={cx('break-words whitespace-pre-wrap', className)}>{text}</div>;
  return <div className={cx('flex min-w-0 flex-col gap-2 break-words', className)}>{blocks(tokens, 0)}</div>;
});

/** The tokens of a text. Undefined if it is too long or too deeply nested for the parser. */
function readMarkdown(text: string): readonly Token[] | undefined {
  if (text.length > MAX_CHARACTERS) return undefined;
  try {
    return new Lexer({ gfm: true, breaks: false }).lex(text);
  } catch (thrown) {
    if (thrown instanceof RangeError) return undefined;
    throw thrown;
  }
}

const HEADINGS = ['h3', 'h3', 'h4', 'h5', 'h6', 'h6'] as const;
const HEADING_LOOKS = [
  'text-title',
  'text-lead',
  'text-lead',
  'text-body',
  'text-body',
  'text-body',
] as const;

const blocks = (tokens: readonly Token[], depth: number): ReactNode =>
  tokens.map((token, at) => {
    const node = block(token as MarkedToken, depth);
    // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no state and never move.
    return node === null ? null : <Fragment key={at}>{node}</Fragment>;
  });

function block(token: MarkedToken, depth: number): ReactNode {
  if (depth > MAX_DEPTH) return <p className="whitespace-pre-wrap">{token.raw}</p>;
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'heading': {
      const level = Math.min(token.depth, HEADINGS.length) - 1;
      const Heading = HEADINGS[level] ?? 'h6';
      return <Heading className={cx('font-semibold', HEADING_LOOKS[level])}>{inline(token.tokens)}</Heading>;
    }
    case 'paragraph':
      return <p>{inline(token.tokens)}</p>;
    case 'text':
      return <p>{token.tokens === undefined ? entities(token.text) : inline(token.tokens)}</p>;
    case 'code':
      return <SourceCode text={token.text} language={token.lang ?? ''} />;
    case 'blockquote':
      return (
        <blockquote className="flex flex-col gap-2 border-l-2 border-line-strong pl-3 text-ink-soft">
          {blocks(token.tokens, depth + 1)}
        </blockquote>
      );
    case 'list': {
      const items = token.items.map((item, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no state and never move.
        <li key={at} className={cx(item.loose && 'mb-1.5', item.task && 'list-none')}>
          {item.task ? (
            <input
              type="checkbox"
              checked={item.checked === true}
              readOnly
              disabled
              aria-label={item.checked === true ? 'Done' : 'Not done'}
              className="mr-1.5 -ml-5 align-middle"
            />
          ) : null}
          {item.tokens.map((inner, place) =>
            inner.type === 'text' || (inner.type === 'paragraph' && place === 0) ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no state and never move.
              <Fragment key={place}>{inline(inner.tokens ?? [inner])}</Fragment>
            ) : inner.type === 'checkbox' ? null : (
              // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no state and never move.
              <Fragment key={place}>{block(inner as MarkedToken, depth + 1)}</Fragment>
            ),
          )}
        </li>
      ));
      return token.ordered ? (
        <ol start={token.start === '' ? 1 : token.start} className="list-decimal pl-6">
          {items}
        </ol>
      ) : (
        <ul className="list-disc pl-5">{items}</ul>
      );
    }
    case 'table':
      return (
        <div className="overflow-x-auto">
          <table className="border-collapse text-small [&_td]:border [&_td]:border-line [&_td]:px-2 [&_td]:py-1 [&_th]:border [&_th]:border-line [&_th]:bg-sunken [&_th]:px-2 [&_th]:py-1 [&_th]:text-left">
            <thead>
              <tr>
                {token.header.map((cell, at) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no state and never move.
                  <th key={at} scope="col">
                    {inline(cell.tokens)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {token.rows.map((row, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no state and never move.
                <tr key={at}>
                  {row.map((cell, column) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no state and never move.
                    <td key={column} style={cell.align === null ? undefined : { textAlign: cell.align }}>
                      {inline(cell.tokens)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    case 'hr':
      return <hr className="border-line" />;
    case 'html':
      return <p className="whitespace-pre-wrap">{token.raw.trim()}</p>;
    default:
      return inlineToken(token);
  }
}

const inline = (tokens: readonly Token[] | undefined): ReactNode =>
  tokens?.map((token, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no state and never move.
    <Fragment key={at}>{inlineToken(token as MarkedToken)}</Fragment>
  ));

function inlineToken(token: MarkedToken): ReactNode {
  switch (token.type) {
    case 'text':
      return token.tokens === undefined ? entities(token.text) : inline(token.tokens);
    case 'escape':
      return token.text;
    case 'strong':
      return <strong className="font-semibold">{inline(token.tokens)}</strong>;
    case 'em':
      return <em>{inline(token.tokens)}</em>;
    case 'del':
      return <del>{inline(token.tokens)}</del>;
    case 'codespan':
      return <code className="rounded bg-sunken px-1 py-px font-mono text-[0.92em]">{token.text}</code>;
    case 'br':
      return <br />;
    case 'link':
      return linkTo(token.href, inline(token.tokens));
    case 'image':
      return linkTo(token.href, token.text === '' ? token.href : token.text);
    case 'html':
      return /^<br\s*\/?>$/i.test(token.raw) ? <br /> : token.raw;
    default:
      return token.raw;
  }
}

const SAFE = /^(?:https?|mailto):/i;

/** A link, if its address is allowed. Otherwise only its text. */
function linkTo(href: string, children: ReactNode): ReactNode {
  if (!SAFE.test(href) || !URL.canParse(href)) return children;
  return (
    <a
      href={href}
      title={href}
      target="_blank"
      rel="noopener noreferrer nofollow"
      className="text-accent underline"
    >
      {children}
    </a>
  );
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&nbsp;': '\u00a0',
};

const entities = (text: string): string =>
  text.replace(/&(?:amp|lt|gt|quot|#39|nbsp);/g, (entity) => ENTITIES[entity] ?? entity);
