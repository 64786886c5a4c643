const CALL_SIGNATURE = /\n[ \t]{1,200}(?=<[\w\s])/g;
/** A backslash or a backtick that is escaped. */
const ESCAPE = /\\[\\`]/g;
const VARIANCE =
  /((?:[<,]|\*\/)\s{0,100})(in\s{1,20}out|in|out)(?=\s{1,100}(?!(?:extends|as|satisfies|in|of|is|instanceof)\b)[A-Za-z_$])/g;

/** How far back the end of what comes before is looked for, over blanks and comments. */
const MAX_BLANKS = 1_000;
const MAX_COMMENT = 5_000;
const MAX_COMMENTS = 8;

/**
 * The same text, character by character in the same place, with three things written otherwise that the grammar of
 * TypeScript misreads and loses the rest of the file over: `<in out T>`; in an object's type, a generic call signature
 * on a new line without a `;` before it; an escaped backtick in a type that is a template.
 */
export function mendTypescript(text: string): string {
  const plain = text
    .replace(ESCAPE, '__')
    .replace(VARIANCE, (_, before: string, words: string) => before + words.replace(/\S/g, ' '));
  const parts: string[] = [];
  let from = 0;
  for (const { index, 0: blanks } of plain.matchAll(CALL_SIGNATURE)) {
    if (!endsMember(plain, index)) continue;
    const last = index + blanks.length - 1;
    parts.push(plain.slice(from, last), ';');
    from = last + 1;
  }
  return parts.join('') + plain.slice(from);
}

/** Whether what comes before could be the end of a member: a name or a bracket, but no operator. */
function endsMember(text: string, at: number): boolean {
  let end = at;
  for (let comments = 0; comments <= MAX_COMMENTS; comments += 1) {
    const from = end;
    while (end > 0 && from - end < MAX_BLANKS && text.charCodeAt(end - 1) <= 32) end -= 1;
    const comment = commentStart(text, end);
    if (comment === undefined) break;
    end = comment;
  }
  const last = text.slice(Math.max(0, end - 2), end);
  return last !== '=>' && /[\w$)\]}'"`>]$/.test(last);
}

/** Where the comment begins that ends here. */
function commentStart(text: string, end: number): number | undefined {
  const least = Math.max(0, end - MAX_COMMENT);
  const window = text.slice(least, end);
  const lineStart = window.lastIndexOf('\n') + 1;
  if (/^[ \t]*\/\//.test(window.slice(lineStart))) return least + lineStart;
  const start = window.endsWith('*/') ? window.lastIndexOf('/*') : -1;
  return start === -1 ? undefined : least + start;
}
