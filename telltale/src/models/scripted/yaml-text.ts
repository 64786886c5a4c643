/** Characters that must be escaped in YAML, or that only some readers treat as line breaks. */
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]|\p{Surrogate}/u;
const ESCAPED = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

/**
 * A text as a YAML value after `key: `, which is read back unchanged. Written as a block if possible, because that is
 * readable, otherwise in double quotes. `indent` is the indent of the key. Pure.
 */
export function yamlText(text: string, indent: string): string {
  const lines = text.split('\n');
  const last = lines.findLast((line) => line !== '');
  const isBlock = last !== undefined && last.trim() !== '' && !UNSAFE.test(text);
  if (!isBlock) return doubleQuoted(text);
  const breaks = text.length - text.replace(/\n+$/, '').length;
  const chomping = breaks === 0 ? '-' : breaks === 1 ? '' : '+';
  // If the first line starts with white space, YAML needs an explicit indent.
  const depth = /^\s/.test(text) ? '2' : '';
  const body = (breaks === 0 ? lines : lines.slice(0, -1)).map((line) =>
    line === '' ? '' : `${indent}  ${line}`,
  );
  return `|${depth}${chomping}\n${body.join('\n')}`;
}

/** JSON's escapes are valid in YAML. */
export const doubleQuoted = (text: string): string =>
  JSON.stringify(text).replace(
    ESCAPED,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
