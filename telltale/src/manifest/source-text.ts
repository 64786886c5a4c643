import {
  type Diagnostic,
  type Excerpt,
  type Finding,
  printable,
  type SourcePlace,
  type Span,
} from './diagnostic.ts';

const BOM = '\ufeff';
// biome-ignore lint/suspicious/noControlCharactersInRegex: YAML forbids them, so they are looked for
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]|\r(?!\n)/;

export type Decoded =
  | { readonly ok: true; readonly source: SourceText }
  | { readonly ok: false; readonly diagnostic: Diagnostic };

/** Decodes a file's bytes: UTF-8, with or without a byte order mark, and without characters that YAML forbids. */
export function decodeSource(file: string, bytes: Uint8Array): Decoded {
  if (isUtf16(bytes)) return { ok: false, diagnostic: { ...UTF_16, file } };
  const valid = validUtf8Length(bytes);
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  const source = createSourceText(file, text.startsWith(BOM) ? text.slice(1) : text);
  if (valid < bytes.length) {
    const before = new TextDecoder('utf-8').decode(bytes.subarray(0, valid)).length;
    const byte = (bytes[valid] ?? 0).toString(16).padStart(2, '0');
    return { ok: false, diagnostic: diagnose(source, { start: before, end: before + 1 }, notUtf8(byte)) };
  }
  const found = FORBIDDEN.exec(source.text);
  if (found === null) return { ok: true, source };
  const finding = found[0] === '\0' ? BINARY : found[0] === '\r' ? LONE_RETURN : controlCharacter(found[0]);
  return { ok: false, diagnostic: diagnose(source, { start: found.index, end: found.index + 1 }, finding) };
}

/** Whether the file has a UTF-16 byte order mark, or is ASCII text with every other byte zero. */
function isUtf16(bytes: Uint8Array): boolean {
  const [first, second, third, fourth] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  const little = first !== 0 && second === 0 && third !== 0 && fourth === 0;
  const big = first === 0 && second !== 0 && third === 0 && fourth !== 0;
  return bytes.length >= 4 && (little || big);
}

/** The length of the longest prefix that is valid UTF-8. */
function validUtf8Length(bytes: Uint8Array): number {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const isValid = (from: number, to: number) => {
    try {
      decoder.decode(bytes.subarray(from, to));
      return true;
    } catch {
      return false;
    }
  };
  if (isValid(0, bytes.length)) return bytes.length;
  let at = 0;
  for (const length = bytes.length; at < length; ) {
    const size = sequenceLength(bytes[at] ?? 0);
    if (size === 1) at++;
    else if (size === 0 || at + size > length || !isValid(at, at + size)) return at;
    else at += size;
  }
  return at;
}

const sequenceLength = (lead: number) =>
  lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;

const UTF_16 = {
  severity: 'error',
  code: 'not_utf8',
  message: 'The file is UTF-16, not UTF-8.',
  hint: 'Save it as UTF-8 (in PowerShell: Out-File -Encoding utf8).',
} as const satisfies Finding;

const BINARY = {
  severity: 'error',
  code: 'binary_file',
  message: 'The file contains a zero byte. It is binary, not text.',
  hint: 'Name a YAML or JSON file.',
} as const satisfies Finding;

const LONE_RETURN = {
  severity: 'error',
  code: 'control_character',
  message: 'This carriage return has no line feed after it.',
  hint: 'Save the file with LF or CRLF line endings.',
} as const satisfies Finding;

const notUtf8 = (byte: string): Finding => ({
  severity: 'error',
  code: 'not_utf8',
  message: `The byte 0x${byte} is not UTF-8.`,
  hint: 'Save the file as UTF-8.',
});

const controlCharacter = (character: string): Finding => ({
  severity: 'error',
  code: 'control_character',
  message: `The control character U+${character.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()} is not allowed in YAML.`,
  hint: 'Delete it, or write it as an escape sequence in double quotes.',
});

/** The text of one file with the offsets of its lines. */
export interface SourceText {
  /** The file's name in diagnostics. */
  readonly file: string;
  readonly text: string;
  /** The offset of each line's first code unit. */
  readonly lineStarts: readonly number[];
}

function createSourceText(file: string, text: string): SourceText {
  const lineStarts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lineStarts.push(at + 1);
  return { file, text, lineStarts };
}

/** Line and column, both from 1. An offset outside the text counts as the nearest one inside. */
export function positionAt(
  source: SourceText,
  offset: number,
): { readonly line: number; readonly column: number } {
  const at = Math.max(0, Math.min(offset, source.text.length));
  let low = 0;
  let high = source.lineStarts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((source.lineStarts[middle] ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, column: at - (source.lineStarts[low] ?? 0) + 1 };
}

/** A line by its number, from 1, without its line break. */
function lineAt(source: SourceText, line: number): string {
  const start = source.lineStarts[line - 1] ?? source.text.length;
  const next = source.lineStarts[line];
  const text = source.text.slice(start, next === undefined ? undefined : next - 1);
  return text.endsWith('\r') ? text.slice(0, -1) : text;
}

/** Adds the position to a finding, and its `from` positions if it has any. */
export function diagnose(
  source: SourceText,
  span: Span,
  finding: Finding,
  from: readonly Span[] = [],
): Diagnostic {
  const { severity, code, message, hint } = finding;
  const { line, column, excerpt } = placeAt(source, span);
  return {
    severity,
    code,
    file: source.file,
    line,
    column,
    ...(from.length === 0 ? {} : { from: from.map((each) => placeAt(source, each)) }),
    message,
    ...(hint === undefined ? {} : { hint }),
    ...(excerpt === undefined ? {} : { excerpt }),
  };
}

/** A range over several lines is marked on the first one. */
function placeAt(source: SourceText, span: Span): SourcePlace {
  const { line, column } = positionAt(source, span.start);
  const text = lineAt(source, line);
  const from = Math.min(column - 1, text.length);
  const length = Math.max(1, Math.min(span.end - span.start, text.length - from));
  return { line, column, ...(text.trim() === '' ? {} : { excerpt: excerptOf(text, from, length) }) };
}

/** How many code units of a source line are shown, and how many of them precede the caret. */
const MAX_SHOWN = 96;
const BEFORE_CARET = 40;
const MAX_CARET = 60;

/**
 * A source line made fit to show: clipped around the caret, without indentation, and with one harmless character for
 * each tab, control or direction character.
 */
function excerptOf(line: string, caretFrom: number, caretLength: number): Excerpt {
  const length = Math.min(caretLength, MAX_CARET);
  const indent = Math.min(line.length - line.trimStart().length, caretFrom);
  const wholeFits = line.length - indent <= MAX_SHOWN;
  const from = wholeFits ? indent : notInsidePair(line, Math.max(indent, caretFrom - BEFORE_CARET));
  const to = wholeFits ? line.length : notInsidePair(line, Math.min(line.length, from + MAX_SHOWN));
  const head = from > indent ? '…' : '';
  const tail = to < line.length ? '…' : '';
  const shownFrom = caretFrom - from + head.length;
  const text = head + printable(line.slice(from, to).trimEnd()) + tail;
  return {
    text,
    caretFrom: Math.min(shownFrom, text.length),
    caretLength: Math.max(1, Math.min(length, to - caretFrom)),
  };
}

/** Moves a cut inside a surrogate pair to before the pair. */
function notInsidePair(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}
