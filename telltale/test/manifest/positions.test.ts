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

/** The same, with where an alias has it from. */
async function ways(text: string): Promise<readonly string[]> {
  const { diagnostics } = await loadManifests(['a.yml'], {
    env: {},
    cwd: temporaryProject({ 'a.yml': text }),
  });
  return diagnostics.map(({ line, column, from = [] }) =>
    [{ line, column }, ...from].map((place) => `${place.line}:${place.column}`).join(' from '),
  );
}

describe('what an alias stands for', () => {
  it.each([
    [
      'is shown where the alias stands, and where it is written, if only the alias is wrong',
      `${AGENT}action_templates: { t: { parameters: &x { truns: 1 } } }\nlimits: *x\n`,
      ['4:9 from 3:43'],
    ],
    [
      'is shown so for a text, and inside of an expression',
      `${AGENT}description: &x a =< 2\nlimits: { turns: *x }\ncontext_variables: { derived: [{ name: v, expression: *x }] }\n`,
      ['4:18 from 3:17', '5:55 from 3:19'],
    ],
    [
      'is one error where it is written, if it is wrong there too',
      `${AGENT}action_templates: { s: &x { type: tol, name: n }, t: *x, u: *x }\n`,
      ['3:35'],
    ],
    [
      'is one error where a block is written that lacks a key, if that is wrong there too',
      `${AGENT}prompts:\n  one: &x\n    model: a/b\n  two: *x\n`,
      ['4:3'],
    ],
    [
      'is an error at each alias, if it is right where it is written',
      `${AGENT}action_templates: { t: { parameters: &x { truns: 1 } } }\nlimits: *x\nbudget: *x\n`,
      ['4:9 from 3:43', '5:9 from 3:26', '5:9 from 3:43'],
    ],
    [
      'by another alias is one error, at the first use that is wrong',
      `${AGENT}action_templates:\n  r: { parameters: &x { max: 1 } }\n  s: &y { type: tool, name: git, retry: *x }\n  t: *y\nimport: { tools: [builtin:git] }\n`,
      ['5:41 from 4:23'],
    ],
    [
      'and has another mistake in it counts for nothing',
      `${AGENT}description: &x !odd text\nlimits: { turns: *x }\n`,
      ['3:17', '4:18 from 3:22'],
    ],
    [
      'is no matter of a mistake of the key that the alias stands under',
      `${AGENT}limits: { truns: &x 1, trns: *x }\n`,
      ['3:11', '3:24'],
    ],
  ])('%s', async (_name, text, expected) => {
    expect(await ways(text)).toEqual(expected);
  });
});
