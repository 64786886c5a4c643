import { isScalar, visit, type YAMLError } from 'yaml';
import { type Finding, quoted, type Span } from '../diagnostic.ts';
import type { YamlDocument } from './compose-document.ts';

export interface PlacedFinding {
  readonly finding: Finding;
  readonly span: Span;
}

/** After an error the parser guesses, so its later errors usually follow from the first. */
const MAX_FINDINGS = 8;
/** Explaining one may take a walk back through the text. */
const MAX_EXPLAINED = 64;

/**
 * Explains what is wrong with a document's YAML to somebody who does not know the grammar: one finding per line,
 * without the errors that follow from the first. Spans are offsets in the document's text.
 */
export function syntaxFindings(
  document: YamlDocument,
  errors: readonly YAMLError[],
  text: string,
): PlacedFinding[] {
  const found = new Map<string, PlacedFinding>();
  const codesAt = new Map<number, Set<string>>();
  for (const { code, pos } of errors) codesAt.set(pos[0], (codesAt.get(pos[0]) ?? new Set()).add(code));
  for (const error of errors.slice(0, MAX_EXPLAINED)) {
    const isEcho = found.size > 0 && ECHOES.has(error.code);
    if (isEcho || found.size === MAX_FINDINGS) continue;
    const placed = explain(error, codesAt.get(error.pos[0]) ?? new Set(), document, text);
    const line = String(text.lastIndexOf('\n', placed.span.start - 1));
    if (!found.has(line)) found.set(line, placed);
  }
  return [...found.values()];
}

const ECHOES: ReadonlySet<string> = new Set(['UNEXPECTED_TOKEN', 'IMPOSSIBLE', 'MISSING_CHAR']);

function explain(
  error: YAMLError,
  also: ReadonlySet<string>,
  document: YamlDocument,
  text: string,
): PlacedFinding {
  const [start, end] = error.pos;
  const span = { start, end };
  const at = (message: string, hint: string, where: Span = span): PlacedFinding => ({
    finding: { severity: 'error', code: 'yaml_syntax', message, hint },
    span: where,
  });
  const noKey = (where: Span): PlacedFinding => {
    const word = text.slice(where.start, where.end);
    if (/:(?:\s|$)/.test(word))
      return at(
        `${quoted(word)} does not start with a key.`,
        'Write one name before the ":". Put it in quotes if it contains special characters.',
        where,
      );
    return at(`${quoted(word)} is not a key, because it has no ":".`, keyHint(word), where);
  };
  const noComma = (where: Span) =>
    at('A comma is missing.', 'Put a "," between the entries inside [ ] or { }.', where);
  const senseless = () =>
    at(
      `The YAML is not valid from here on (${lowerFirst(clip(error.message))}).`,
      'Check the indentation, the quotes and the brackets of this line and the one above.',
    );
  const indented = () =>
    at(
      'The indentation of this line does not match the lines it belongs to.',
      'Start all keys of one map, and all dashes of one list, in the same column.',
      lineSpan(text, start),
    );
  const reference = FLOW_CODES.has(error.code) ? referenceNear(text, start) : undefined;
  if (reference !== undefined)
    return at(
      `Inside { } and [ ], put \${…} in quotes.`,
      'Put it in quotes (then it is text), or write the key on its own line.',
      reference,
    );
  if (
    error.code === 'UNEXPECTED_TOKEN' &&
    OPENING.test(text[start] ?? '') &&
    /\S/.test(text[start - 1] ?? ' ')
  )
    return at(
      `Inside { } and [ ], put text that contains "${text[start]}" in quotes.`,
      'Put the text in quotes, as in { jsonpath: "$.items[*].name" }.',
    );
  switch (error.code) {
    case 'TAB_AS_INDENT':
      return at(
        'This line is indented with a tab.',
        'YAML allows only spaces. Replace each tab with two spaces.',
      );
    case 'MULTILINE_IMPLICIT_KEY':
    case 'BLOCK_AS_IMPLICIT_KEY': {
      // For a value below a key that has none yet, the parser reports the position after the key.
      const blank = /^\s*/.exec(text.slice(start, start + 200))?.[0].length ?? 0;
      const entry = lineSpan(text, start + blank);
      if (/^-\s/.test(text.slice(entry.start, entry.end + 1)))
        return at(
          'A list entry is where a key is expected.',
          'Indent it below the key that it belongs to, or remove the dash.',
          entry,
        );
      if (also.size > 1)
        return at(
          'This value continues on the next line, but that line looks like a key.',
          'Indent the next line like this one, or start text with several lines with ">" or "|".',
          lineSpan(text, start),
        );
      if (error.code === 'MULTILINE_IMPLICIT_KEY') return noKey(lineSpan(text, start));
      return at(
        'There are two keys on one line.',
        'Put the value in quotes, or the second key on its own line.',
      );
    }
    case 'BAD_INDENT': {
      const open = /^Flow (sequence|map)/.exec(error.message);
      if (open === null) return indented();
      const [bracket, what] = open[1] === 'map' ? ['}', 'map'] : [']', 'list'];
      const opened = lastOpening(text, start, bracket === '}' ? '{' : '[');
      return at(`The ${what} that starts here is not closed.`, `Add a "${bracket}".`, opened ?? span);
    }
    case 'MISSING_CHAR': {
      if (error.message.startsWith('Missing closing')) {
        const opened = openQuote(document, start);
        return at('The quote that starts here is not closed.', 'Add the closing quote.', opened ?? span);
      }
      if (error.message.startsWith('Implicit map keys')) return noKey(lineSpan(text, start));
      if (error.message.startsWith('Sequence item without'))
        return at(
          'This line belongs neither to the entry above nor to a new one.',
          'Indent it like the other keys of the entry, or start a new entry with "- ".',
          lineSpan(text, start),
        );
      if (error.message.startsWith('Comments must'))
        return at('A comment needs a space before its "#".', 'Add a space, or put the text in quotes.');
      if (error.message.startsWith('Missing ,')) return noComma(lineSpan(text, start));
      return at(`${clip(error.message)}.`, 'Correct the YAML here.');
    }
    case 'BAD_SCALAR_START':
      return at(`A value cannot start with ${quoted(text[start] ?? '')}.`, 'Put the value in quotes.');
    case 'BAD_DQ_ESCAPE':
      return at(
        `${quoted(text.slice(start, start + 2))} is not an escape sequence in double quotes.`,
        'Write "\\\\" for a backslash, or use single quotes.',
        { start, end: start + 2 },
      );
    case 'BLOCK_IN_FLOW':
      return noComma(lineSpan(text, start));
    case 'KEY_OVER_1024_CHARS':
      return at('A key is longer than 1,024 characters.', 'Is a closing quote or a line break missing?');
    case 'UNEXPECTED_TOKEN': {
      const before = text.slice(text.lastIndexOf('\n', start - 1) + 1, start);
      const closing = /^Unexpected flow-(?:map|seq)-end token in YAML/.test(error.message)
        ? text[start]
        : undefined;
      if (closing !== undefined)
        return at(
          `This "${closing}" has no opening bracket.`,
          `Remove it, or add the "${closing === '}' ? '{' : '['}" that it closes. In text, put it in quotes.`,
        );
      if (error.message.startsWith('Unexpected , in flow'))
        return at('There is a comma where an entry is expected.', 'Remove it, or add the entry before it.');
      if (error.message.startsWith('Unexpected block-seq-ind on same line'))
        return at(
          'A list starts on the line of its key.',
          'Put each "- " on its own line below the key, or write the list in [ ].',
        );
      if (error.message.startsWith('Not a YAML token') && /[|>][-+\d]*[ \t]+$/.test(before))
        return at(
          'Text with several lines starts on the line of its "|" or ">".',
          'Start it on the next line, indented.',
          lineSpan(text, start),
        );
      if (/^Unexpected .* at node end$/.test(error.message))
        return before.trim() === ''
          ? indented()
          : at(
              'There is more text after the end of a value.',
              'Put all of it into one pair of quotes, or remove it.',
              lineSpan(text, start),
            );
      return senseless();
    }
    default:
      return senseless();
  }
}
const keyHint = (written: string) => {
  const [, key, value] = /^([\w-]+)[ \t]+(\S.*)$/.exec(written) ?? [];
  return key === undefined
    ? `Write ${quoted(`${written}: …`)}, or delete the line.`
    : `Write ${quoted(`${key}: ${value}`)}.`;
};

const OPENING = /^[[{]$/;

const FLOW_CODES: ReadonlySet<string> = new Set([
  'UNEXPECTED_TOKEN',
  'MISSING_CHAR',
  'BAD_INDENT',
  'BLOCK_IN_FLOW',
]);

/** An unquoted `${` on the line where the parser failed: in a flow collection, its brace opens a map. */
function referenceNear(text: string, offset: number): Span | undefined {
  const from = text.lastIndexOf('\n', offset - 1) + 1;
  const line = /^[^\n]*/.exec(text.slice(from, from + 2000))?.[0] ?? '';
  const found = /[[{,:]\s*[^"'\s,[\]{}]*\$\{/.exec(line);
  if (found === null || !/[[{]/.test(line.slice(0, found.index + 1))) return undefined;
  const start = from + found.index + found[0].length - 2;
  const close = text.indexOf('}', start);
  return { start, end: close === -1 ? start + 2 : close + 1 };
}

/** The library quotes the offending text, however long it is. */
const clip = (message: string) =>
  message.length > MAX_QUOTED ? `${message.slice(0, MAX_QUOTED)}…` : message;
const MAX_QUOTED = 120;

const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);

/** From `start` to the end of the line or of the value. */
function lineSpan(text: string, start: number): Span {
  const indent = /^[ \t]*/.exec(text.slice(start, start + 200))?.[0].length ?? 0;
  const from = start + indent;
  const rest = /^[^\n]*/.exec(text.slice(from, from + 2000))?.[0].trimEnd() ?? '';
  return { start: from, end: from + Math.max(1, rest.length) };
}

/** The last unmatched bracket before `offset`. It does not look into strings and comments. */
function lastOpening(text: string, offset: number, bracket: '[' | '{'): Span | undefined {
  const partner = bracket === '[' ? ']' : '}';
  let closed = 0;
  for (let at = Math.min(offset, text.length - 1); at >= 0; at--) {
    if (text[at] === partner) closed++;
    else if (text[at] === bracket && closed-- === 0) return { start: at, end: at + 1 };
  }
  return undefined;
}

function openQuote(document: YamlDocument, offset: number): Span | undefined {
  let found: Span | undefined;
  visit(document, (_key, node) => {
    if (!isScalar(node) || !node.range) return;
    const [start, end] = node.range;
    const isQuoted = node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE';
    if (isQuoted && start < offset && end >= offset - 1) found = { start, end: start + 1 };
  });
  return found;
}
