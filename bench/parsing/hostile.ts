import type { TagParserOptions } from '../../telltale/src/parser/tags/tag-parser.ts';

/** Input that would make a careless parser slow: of any length, and no worse per character the longer it is. */
export interface Family {
  readonly name: string;
  readonly options?: TagParserOptions;
  /** Exactly `length` characters, of the same make at every length. */
  write(length: number): string;
}

/** `head`, then as often as fits what `part` gives, then `tail`; spaces make up for what is missing. */
function fill(length: number, head: string, part: string | ((index: number) => string), tail = ''): string {
  const parts = [head];
  const room = length - head.length - tail.length;
  let used = 0;
  for (let index = 0; ; index += 1) {
    const next = typeof part === 'string' ? part : part(index);
    if (used + next.length > room) break;
    parts.push(next);
    used += next.length;
  }
  return `${parts.join('')}${' '.repeat(room - used)}${tail}`;
}

/** Half of the length opens, the other half closes: `depth` levels of `open(level)` and `close(level)`. */
function nest(length: number, open: (level: number) => string, close: (level: number) => string): string {
  const opens: string[] = [];
  const closes: string[] = [];
  let used = 0;
  for (let level = 0; ; level += 1) {
    const [opening, closing] = [open(level), close(level)];
    if (used + opening.length + closing.length > length) break;
    opens.push(opening);
    closes.push(closing);
    used += opening.length + closing.length;
  }
  return `${opens.join('')}${closes.reverse().join('')}${' '.repeat(length - used)}`;
}

const CALL = '{"name":"t"}';
const BODY = '<action>{"name":"t","parameters":{"a":';
const CLOSE = '</action>';
const inThought = (part: string | ((index: number) => string)) => (length: number) =>
  fill(length, '<thought>', part, '</thought>');
/** The run of backticks grows by one, and starts again before one run alone would fill the input. */
const backticks = (index: number) => '`'.repeat(1 + (index % 200));

// biome-ignore format: a table of families
export const families: readonly Family[] = [
  { name: 'a string in a body that never ends', write: (n) => fill(n, `${BODY}"`, 'lorem ipsum ') },
  { name: 'strings in a body, each with a quote too many', write: (n) => fill(n, BODY, '"a""b\\"",', CLOSE) },
  { name: 'fences in fences, each longer than the last', write: inThought((i) => `${backticks(i + 2)}md\n`) },
  { name: 'fences opened and closed', write: inThought('```ts\nlet a = 1;\n```\n~~~\nb\n~~~\n') },
  { name: 'stray closes', write: (n) => fill(n, '', '</thought></action></if></response>') },
  {
    name: 'stray closes under a tower of thoughts',
    write: (n) => fill(n, '<thought>'.repeat(n / 20), '</if></action></foreach>'),
  },
  { name: 'half tags', write: (n) => fill(n, '', '<acti') },
  { name: 'half tags of every kind', write: (n) => fill(n, '', '<thought <metadata </respons </actio <i <el') },
  { name: 'attributes just under 4,096', write: (n) => fill(n, '', `<action id="${'a'.repeat(4070)}">${CALL}${CLOSE}`) },
  { name: 'attributes just over 4,096', write: (n) => fill(n, '', `<action id="${'a'.repeat(4090)}">${CALL}${CLOSE}`) },
  { name: 'tags with hundreds of attributes', write: (n) => fill(n, '', `<thought${' a=b'.repeat(900)}>x</thought>`) },
  { name: 'attributes made of references', write: (n) => fill(n, '', `<if test="${'&lt;&amp;'.repeat(400)}">x</if>`) },
  { name: 'nothing but <', write: (n) => '<'.repeat(n) },
  { name: 'runs of backticks that grow', write: inThought((i) => `${backticks(i)} `) },
  { name: 'runs of backticks that grow, one a line', write: inThought((i) => `a ${backticks(i)} b\n`) },
  { name: 'nothing but backticks', write: inThought('`') },
  { name: 'quote marks and list marks before a fence', write: inThought(`${'> - '.repeat(500)}~~~\n`) },
  { name: 'thoughts in thoughts, never closed', write: (n) => fill(n, '', '<thought>') },
  { name: 'thoughts in thoughts, all closed', write: (n) => nest(n, () => '<thought>a', () => '</thought>') },
  {
    name: 'ifs in else branches that reuse one id',
    write: (n) => fill(n, '', `<if test="a"><action id="x">${CALL}${CLOSE}<else/>`),
  },
  {
    name: 'ifs in ifs, their ids again in the else branches',
    write: (n) =>
      nest(
        n,
        (level) => `<if test="a"><action id="i${level}">${CALL}${CLOSE}`,
        (level) => `<else/><action id="i${level}">${CALL}${CLOSE}</if>`,
      ),
  },
  {
    name: 'ifs one after another, each id in both branches',
    write: (n) =>
      fill(n, '', (i) => {
        const action = `<action id="i${i}">${CALL}${CLOSE}`;
        return `<if test="a">${action}<else/>${action}</if>`;
      }),
  },
  { name: 'white space outside', write: (n) => fill(n, '', ' \n\t\r\n') },
  { name: 'white space in a thought', write: inThought(' \n\t\r\n') },
  { name: 'white space before a body', write: (n) => fill(n, '<action>', ' \n\t\r\n', 'x') },
  { name: 'white space in a body', write: (n) => fill(n, '<action>{', ' \n\t\r\n', `"name":"t"}${CLOSE}`) },
  { name: 'white space after closes in open code', write: inThought('`</thought>                    x') },
  { name: 'closes in open code, one a line', write: inThought('a `</thought>     b\n') },
  { name: 'closes in strings, then spaces', write: (n) => fill(n, `${BODY}"`, '</action>               y', `"}}${CLOSE}`) },
  { name: 'a broken body: brackets never closed', write: (n) => fill(n, BODY, '[', CLOSE) },
  { name: 'a broken body: objects never closed', write: (n) => fill(n, BODY, '{"a":', CLOSE) },
  { name: 'a broken body: a comment never closed', write: (n) => fill(n, `${BODY}/*`, ' * / ', CLOSE) },
  { name: 'a broken body: comments on end', write: (n) => fill(n, BODY, '/**///\n', `1}}${CLOSE}`) },
  { name: 'a broken body: single quotes', write: (n) => fill(n, `${BODY}'`, "it\\'s a ", `'}}${CLOSE}`) },
  { name: 'a broken body: a single quote never closed', write: (n) => fill(n, `${BODY}'`, 'lorem ', CLOSE) },
  { name: 'a broken body: raw line breaks', write: (n) => fill(n, `${BODY}"`, 'a line\n', `"}}${CLOSE}`) },
  { name: 'a broken body: commas', write: (n) => fill(n, `${BODY}[1`, ',', `]}}${CLOSE}`) },
  { name: 'a body far over max_body', options: { max_body: 1000 }, write: (n) => fill(n, `${BODY}"`, 'lorem ', `"}}${CLOSE}`) },
  { name: 'a body with an endless unknown field', write: (n) => fill(n, '<action>{"name":"t","', 'depends_', `":1}${CLOSE}`) },
  { name: 'a body of many fields', write: (n) => fill(n, BODY, (i) => `${i === 0 ? '{' : ','}"k${i}":${i}`, `}}}${CLOSE}`) },
  { name: 'compensation of compensation', write: (n) => fill(n, '<action>{"name":"t"', ',"compensate":{"name":"t"', CLOSE) },
  { name: 'lines that end in CR LF', write: inThought('a line\r\n') },
  { name: 'nothing but CR LF in a thought', write: inThought('\r\n') },
  { name: 'carriage returns alone', write: inThought('\r') },
  {
    name: 'opening tags of the element in its own fence',
    write: (n) => fill(n, `<thought>\n\`\`\`\n${'<thought>\n'.repeat(n / 40)}`, '</thought>\n'),
  },
  { name: 'one id again and again', write: (n) => fill(n, '', `<action id="same">${CALL}${CLOSE}`) },
  { name: 'actions without an id', write: (n) => fill(n, '', `<action>${CALL}${CLOSE}`) },
  { name: 'ids that take the next free number', write: (n) => fill(n, '', (i) => `<action id="a${2 * i + 2}">${CALL}${CLOSE}<action>${CALL}${CLOSE}`) },
  { name: 'a foreach of many actions', write: (n) => fill(n, '<foreach in="$l">', `<action>${CALL}${CLOSE}`, '</foreach>') },
  {
    name: 'ids given back by a foreach that does not run',
    write: (n) =>
      fill(
        n,
        `<action>${CALL}${CLOSE}`.repeat(n / 60),
        `<thought><foreach in="$l"><action>${CALL}${CLOSE}</thought><action>${CALL}${CLOSE}`,
      ),
  },
  { name: 'tags that a response may not hold', write: (n) => fill(n, '<response>', '<action type="tool"> <thought> </if> ', '</response>') },
  {
    name: 'half tags in a response under a tower of ifs',
    options: { actions_in: ['outside', 'response'] },
    write: (n) => fill(n, `${'<if test="a">'.repeat(n / 26)}<response>`, '</i<if '),
  },
  { name: 'everything in doubt', write: (n) => fill(n, '<else/>', `<action>${CALL}${CLOSE}`) },
  { name: 'halves of surrogate pairs', write: inThought('\ud83d') },
  { name: 'emoji', write: inThought('👩‍💻🚀') },
];
