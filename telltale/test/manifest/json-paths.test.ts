import { describe, expect, it } from 'vitest';
import { readManifests } from '../../src/manifest/read-manifests.ts';
import { decodeSource } from '../../src/manifest/source-text.ts';

/** `column «from the caret on» message | hint` of a feed with this path. */
function said(path: string): readonly string[] {
  const text = `kind: Agent\nname: a\ncontext_feeds:\n  - id: f\n    source: { type: metadata }\n    transform:\n      - jsonpath: '${path.replaceAll("'", "''")}'\n`;
  const decoded = decodeSource('x.yml', Buffer.from(text));
  if (!decoded.ok) throw new Error(decoded.diagnostic.message);
  return readManifests(decoded.source, {}).diagnostics.map(
    ({ code, column = 0, excerpt, message, hint }) =>
      `${code} ${column - 20} «${excerpt?.text.slice(excerpt.caretFrom, excerpt.caretFrom + excerpt.caretLength)}» ${message.replace(/^The JSONPath ".*?" (?=cannot|has|leads|compares|searches)/, '')} | ${hint}`,
  );
}

const EXAMPLES = 'Write it like $.items[*].name or $.items[?@.level == "error"] (RFC 9535).';

describe('a JSONPath of a manifest is read as the one that runs, with the caret where it is wrong', () => {
  it.each([
    ['items[*].name', `0 «items» cannot be read: expected '$', found 'i'. | Did you mean "$.items[*].name"?`],
    ['[0]', `0 «[» cannot be read: expected '$', found '['. | Did you mean "$[0]"?`],
    ['$.a ', '3 « » cannot be read: trailing whitespace. | Did you mean "$.a"?'],
    [
      '$items',
      `1 «items» cannot be read: expected '.', '..' or a bracketed selection, found 'i'. | ${EXAMPLES}`,
    ],
    ['$.', `1 «.» cannot be read: it ends where a name should follow. | ${EXAMPLES}`],
    ['$.items[*', `8 «*» cannot be read: unclosed bracketed selection. | ${EXAMPLES}`],
    ['$.items[?@.a = 1]', `13 «=» cannot be read: unexpected filter selector token '='. | ${EXAMPLES}`],
    [
      '$.items[?lenght(@.a) > 1]',
      `9 «lenght» cannot be read: no such function 'lenght'. | Did you mean "length"?`,
    ],
    [
      '$.items[?size(@.a) > 1]',
      `9 «size» cannot be read: no such function 'size'. | Functions: count, length, search, match, value.`,
    ],
    ['$.items[?match(@.a)]', `9 «match» cannot be read: match() takes 2 arguments, 1 given. | ${EXAMPLES}`],
    [
      '$.items[?length(@.a)]',
      `9 «length» cannot be read: result of length() must be compared. | ${EXAMPLES}`,
    ],
    ['$..a..b', `4 «.» has ".." more than once. | ${EXAMPLES}`],
    ['$.items[?$..a]', `9 «$» searches the whole value inside a filter. | ${EXAMPLES}`],
  ])('%s', (path, line) => {
    expect(said(path)).toEqual([`bad_path ${line}`]);
  });

  it('with the patterns that are written in it', () => {
    expect(said('$.items[?search(@.a, "(?=x)")]')).toEqual([
      expect.stringMatching(/^bad_path 22 «\(» has a pattern that cannot be used: the pattern .* RE2/),
    ]);
  });

  it('with its length', () => {
    expect(said(`$.${'a'.repeat(600)}`)).toEqual([expect.stringContaining('has more than 512 characters.')]);
  });

  it.each([
    '$',
    '$.a-b["c"][0][-1:][*]',
    '$..[?@.level == "error" && match(@.name, "a.*")].name',
    '$.items[?search(@.a, $.p)]',
  ])('and is fine as %s', (path) => {
    expect(said(path)).toEqual([]);
  });
});
