import { describe, expect, it } from 'vitest';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import { temporaryProject } from './temporary-project.ts';

const AGENT = 'kind: Agent\nname: a\n';

/** `line:column marked: message | hint` of each finding in what stands behind the first two lines. */
async function found(text: string): Promise<readonly string[]> {
  const cwd = temporaryProject({ 'a.yml': AGENT + text });
  const { diagnostics } = await loadManifests(['a.yml'], { env: {}, cwd });
  return diagnostics.map(({ code, line, column, excerpt, message, hint }) => {
    expect(code).toBe('yaml_syntax');
    const marked = excerpt?.text.slice(excerpt.caretFrom, excerpt.caretFrom + excerpt.caretLength);
    return `${line}:${column} ${marked}: ${message} | ${hint}`;
  });
}

const COMMA = 'A comma is missing. | Put a "," between the entries inside [ ] or { }.';
const ENTRY =
  'A list entry is where a key is expected. | Indent it below the key that it belongs to, or remove the dash.';
const REFERENCE =
  'Inside { } and [ ], put ${…} in quotes. | Put it in quotes (then it is text), or write the key on its own line.';
const SIGNS = 'Put the text in quotes, as in { jsonpath: "$.items[*].name" }.';

describe('a line without a colon is shown with what to write', () => {
  it.each([
    ['as the last of the file', 'tokens\n', '3:1 tokens', 'Write "tokens: …", or delete the line.'],
    ['as the last of the file, not ended', 'tokens', '3:1 tokens', 'Write "tokens: …", or delete the line.'],
    ['before others', 'tokens\nversion: "1"\n', '3:1 tokens', 'Write "tokens: …", or delete the line.'],
    ['in a map', 'limits:\n  turns 5\n  tokens: 3\n', '4:3 turns 5', 'Write "turns: 5".'],
    ['as the last of a map', 'limits:\n  turns: 5\n  tokens 3 4\n', '5:3 tokens 3 4', 'Write "tokens: 3 4".'],
    [
      'in a map of a list',
      'import:\n  tools:\n    - a: 1\n      b\n',
      '6:7 b',
      'Write "b: …", or delete the line.',
    ],
    ['of several words', 'foo.bar baz\n', '3:1 foo.bar baz', 'Write "foo.bar baz: …", or delete the line.'],
  ])('%s', async (_where, text, place, hint) => {
    const word = place.slice(place.indexOf(' ') + 1);
    expect(await found(text)).toEqual([`${place}: "${word}" is not a key, because it has no ":". | ${hint}`]);
  });

  it('unless it has one, and no key before it', async () => {
    expect(await found('*: 1\n')).toEqual([
      '3:1 *: 1: "*: 1" does not start with a key. | Write one name before the ":". Put it in quotes if it contains special characters.',
    ]);
    expect((await found('"a" b: 1\n'))[0]).toMatch(/^3:1 "a" b: 1: .* does not start with a key/);
  });
});

describe('an entry of a list where a key is expected is called that', () => {
  it.each([
    ['behind keys', '- x\n', '3:1 - x'],
    ['before keys', '- x\nversion: "1"\n', '3:1 - x'],
    ['that is empty', '-\n', '3:1 -'],
    ['indented less than the key that it belongs to', 'import:\n  tools:\n- ./a.yml\n', '5:1 - ./a.yml'],
    ['behind a value', 'version: "1"\n- x\n', '4:1 - x'],
  ])('%s', async (_where, text, place) => {
    expect(await found(text)).toEqual([`${place}: ${ENTRY}`]);
  });

  it('while a dash without a space is text', async () => {
    expect((await found('-x\n'))[0]).toContain('"-x" is not a key');
  });
});

describe('what is not closed is pointed at where it is opened', () => {
  it.each([
    ['a map', 'limits: { turns: 5\nversion: "1"\n', '3:9 {', 'map', '}'],
    [
      'a map around others that are',
      'metadata:\n  fields: { a: { type: string }\n  scope: session\n',
      '4:11 {',
      'map',
      '}',
    ],
    ['a list', 'import:\n  tools: [a, b\nversion: "1"\n', '4:10 [', 'list', ']'],
    [
      'a list with others in it that are',
      'import: [[a], [b], {c: [d]}\nversion: "1"\n',
      '3:9 [',
      'list',
      ']',
    ],
    ['a list in a map', 'limits: { x: [1, {a: 2}, 3\nversion: "1"\n', '3:14 [', 'list', ']'],
  ])('%s', async (_what, text, place, what, bracket) => {
    expect((await found(text))[0]).toBe(
      `${place}: The ${what} that starts here is not closed. | Add a "${bracket}".`,
    );
  });

  it.each([
    ['double', 'description: "a\nversion: 1\n', '3:14 "'],
    ['single', "description: 'a\nversion: 1\n", "3:14 '"],
    ['single, with an escaped one at the end', "description: 'it''\n", "3:14 '"],
  ])('a %s quote', async (_which, text, place) => {
    expect((await found(text))[0]).toBe(
      `${place}: The quote that starts here is not closed. | Add the closing quote.`,
    );
  });
});

describe('inside { } and [ ]', () => {
  it.each([
    ['a reference', 'limits: { turns: ${TURNS} }\n', `3:18 \${TURNS}: ${REFERENCE}`],
    ['a reference behind text', 'import: { tools: [./${DIR}/x.yml] }\n', `3:21 \${DIR}: ${REFERENCE}`],
    ['a reference that is not closed', 'limits: { turns: ${TURNS', `3:18 \${: ${REFERENCE}`],
    [
      'a bracket in a text',
      'limits: { x: $.items[*] }\n',
      `3:21 [: Inside { } and [ ], put text that contains "[" in quotes. | ${SIGNS}`,
    ],
    [
      'a brace in a text',
      'limits: { x: a{b }\n',
      `3:15 {: Inside { } and [ ], put text that contains "{" in quotes. | ${SIGNS}`,
    ],
    ['two entries without a comma', 'limits: { turns: 5 tokens: 3 }\n', `3:18 5 tokens: 3 }: ${COMMA}`],
    [
      'a comma too many',
      'import: { tools: [a,, b] }\n',
      '3:21 ,: There is a comma where an entry is expected. | Remove it, or add the entry before it.',
    ],
    ['two texts without a comma', "import: { tools: ['a' 'b'] }\n", `3:23 'b'] }: ${COMMA}`],
  ])('%s is named', async (_what, text, first) => {
    expect((await found(text))[0]).toBe(first);
  });
});

describe('other slips', () => {
  it.each([
    [
      'two keys on one line',
      'description: a: b\n',
      '3:14 a: There are two keys on one line. | Put the value in quotes, or the second key on its own line.',
    ],
    [
      'a comment that sticks to a value',
      'description: "a"# b\n',
      '3:17 # b: A comment needs a space before its "#". | Add a space, or put the text in quotes.',
    ],
    [
      'a sign that begins nothing',
      'description: @x\n',
      '3:14 @: A value cannot start with "@". | Put the value in quotes.',
    ],
    [
      'an escape that is none',
      'description: "\\q"\n',
      '3:15 \\q: "\\q" is not an escape sequence in double quotes. | Write "\\\\" for a backslash, or use single quotes.',
    ],
    [
      'a tab',
      'limits:\n\tturns: 1\n',
      '4:1  : This line is indented with a tab. | YAML allows only spaces. Replace each tab with two spaces.',
    ],
    [
      'a line that is indented differently',
      'limits:\n    turns: 1\n  tokens: 3\n',
      '5:3 tokens: 3: The indentation of this line does not match the lines it belongs to. | Start all keys of one map, and all dashes of one list, in the same column.',
    ],
    [
      'a file whose first line alone is indented',
      'model: a/b\n---\n  kind: Agent\nname: b\nversion: "1"\n',
      '6:1 name: b: The indentation of this line does not match the lines it belongs to. | Start all keys of one map, and all dashes of one list, in the same column.',
    ],
    [
      'a line in a list that is indented a little too far',
      'import:\n  tools:\n    - a: 1\n     b: 2\n',
      '6:6 b: 2: This line belongs neither to the entry above nor to a new one. | Indent it like the other keys of the entry, or start a new entry with "- ".',
    ],
    [
      'a list on the line of its key',
      'import:\n  tools: - ./x.yml\n',
      '4:10 -: A list starts on the line of its key. | Put each "- " on its own line below the key, or write the list in [ ].',
    ],
    [
      'a brace too many',
      'limits: { turns: 5 }}\n',
      '3:21 }: This "}" has no opening bracket. | Remove it, or add the "{" that it closes. In text, put it in quotes.',
    ],
    [
      'a bracket too many',
      'import:\n  tools: [a]]\n',
      '4:13 ]: This "]" has no opening bracket. | Remove it, or add the "[" that it closes. In text, put it in quotes.',
    ],
    [
      'text behind a quoted one',
      'description: "a" b c\n',
      '3:18 b c: There is more text after the end of a value. | Put all of it into one pair of quotes, or remove it.',
    ],
    [
      'text on the line of its bar',
      'instructions: |  You work.\n  Always.\n',
      '3:18 You work.: Text with several lines starts on the line of its "|" or ">". | Start it on the next line, indented.',
    ],
    [
      'a value that goes on in the next line',
      'description: x\n  y: z\n',
      '3:14 x: This value continues on the next line, but that line looks like a key. | Indent the next line like this one, or start text with several lines with ">" or "|".',
    ],
  ])('%s', async (_what, text, first) => {
    expect((await found(text))[0]).toBe(first);
  });

  it('a key that is longer than any', async () => {
    expect((await found(`${'k'.repeat(1_100)}: 1\n`))[0]).toContain(
      'A key is longer than 1,024 characters. | Is a closing quote or a line break missing?',
    );
    await expect(found(`${'k'.repeat(1_000)}: 1\n`)).rejects.toThrow('unknown_key');
  });

  it('are at most eight, one for each line', async () => {
    expect(await found('"\\q\\q": 1\n'.repeat(20))).toHaveLength(8);
  });
});
