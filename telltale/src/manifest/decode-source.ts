import type { Diagnostic, Finding } from './diagnostic.ts';
import { createSourceText, diagnose, type SourceText } from './source-text.ts';

const BOM = '\ufeff';
// biome-ignore lint/suspicious/noControlCharactersInRegex: YAML forbids them, so they are looked for
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]|\r(?!\n)/;

export type Decoded =
  | { readonly ok: true; readonly source: SourceText }
  | { readonly ok: false; readonly diagnostic: Diagnostic };

/** The text of a file's bytes: UTF-8, with or without a byte order mark, and no character that YAML forbids. */
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

/** A byte order mark of UTF-16, or ASCII text with every other byte zero. */
function isUtf16(bytes: Uint8Array): boolean {
  const [first, second, third, fourth] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  const little = first !== 0 && second === 0 && third !== 0 && fourth === 0;
  const big = first === 0 && second !== 0 && third === 0 && fourth !== 0;
  return bytes.length >= 4 && (little || big);
}

/** How many bytes from the start are valid UTF-8. */
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
