import { describe, expect, it } from 'vitest';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import { temporaryProject } from './temporary-project.ts';

const STEP = 'kind: Workflow\nname: w\nsteps:\n  - name: s\n    type: wait\n    for: 1s\n';
const AGENT = 'kind: Agent\nname: a\n';

/** `line:column marked` of each diagnostic. */
async function places(text: string): Promise<readonly string[]> {
  const { diagnostics } = await loadManifests(['a.yml'], {
    env: {},
    cwd: temporaryProject({ 'a.yml': text }),
  });
  return diagnostics.map(({ line, column, excerpt }) => {
    const marked = excerpt?.text.slice(excerpt.caretFrom, excerpt.caretFrom + excerpt.caretLength);
    return `${line}:${column} ${marked}`;
  });
}

describe('an error inside an expression is pointed at', () => {
  it.each([
    [
      'in a literal block whose lines are indented differently',
      '    if: |\n      a == 1 &&\n        b =< 2\n',
      '9:11 =',
    ],
    ['in a literal block with blank lines', '    if: |\n\n      a == 1 &&\n\n          b =< 2\n', '11:13 ='],
    ['in a folded block', '    if: >\n      a == 1 &&\n      b =< 2\n', '9:9 ='],
    [
      'in a folded block with an indentation indicator',
      '    if: >2-\n        a == 1 &&\n      b =< 2\n',
      '9:9 =',
    ],
    ['in a double-quoted text of two lines', '    if: "a == 1 &&\n      b =< 2"\n', '8:9 ='],
    ['behind escapes', '    if: "a == \\"x\\" \\\n      && b =< 2"\n', '8:12 ='],
    ['in a plain text of two lines', '    if: a == 1 &&\n\n      b =< 2\n', '9:9 ='],
    ['behind doubled single quotes', "    if: 'a == ''x'' =< 2'\n", '7:21 ='],
  ])('%s', async (_name, condition, place) => {
    expect(await places(STEP + condition)).toEqual([place]);
    const [line] = place.split(':');
    const windows = await places((STEP + condition).replaceAll('\n', '\r\n'));
    expect(windows, `line ${line} with CRLF`).toEqual([place]);
  });
});

describe('a mistake is pointed at', () => {
  it.each([
    ['behind tabs', `${AGENT}limits: {\tturns:\t\t-1 }\n`, ['3:19 -1']],
    ['under a key in quotes', `${AGENT}"limits": { "truns": 1 }\n`, ['3:13 "truns"']],
    ['behind emoji', `${AGENT}limits: { "😀": 1, turns: "👩‍👩‍👧" }\n`, ['3:11 "😀"', '3:27 "👩‍👩‍👧"']],
    ['behind a byte order mark', `\ufeff${AGENT}limits: {turns: x}\n`, ['3:17 x']],
    ['in the document it stands in', `${AGENT}---\nkind: Agent\nname: b\nlimits: {turns: x}\n`, ['6:17 x']],
    [
      'where an anchor defines what an alias repeats',
      `${AGENT}description: &x 12\nlimits: { turns: *x }\n`,
      ['3:17 12'],
    ],
    ['behind an explicit key', `${AGENT}? limits\n: { turns: x }\n`, ['4:12 x']],
    ['in JSON on one line', '{"kind":"Agent","name":"a","limits":{"truns":1}}', ['1:38 "truns"']],
    ['by its key where the value is empty', `${AGENT}limits:\n`, ['3:1 limits']],
  ])('%s', async (_name, text, expected) => {
    expect(await places(text)).toEqual(expected);
  });
});
