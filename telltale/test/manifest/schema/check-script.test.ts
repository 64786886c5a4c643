import { expect, test } from 'vitest';
import { loadManifests } from '../../../src/manifest/load-manifests.ts';

const TOOL = 'kind: Tool\nname: t\nimplementation:\n  script: |\n';

/** What is said of a script: `line:column message`, in the file. */
const said = async (script: string): Promise<readonly string[]> => {
  const text = TOOL + script.replace(/^/gm, '    ');
  const { diagnostics } = await loadManifests([{ label: 't.yml', bytes: Buffer.from(text), folder: '/' }], {
    env: {},
    root: '/',
    cwd: '/',
  });
  return diagnostics.map(({ line, column, code, message }) => `${line}:${column} ${code} ${message}`);
};

test.each([
  ['parameters.a + 1'],
  ['if (parameters.a) return 1;\nreturn 2'],
  ['const f = (n) => n * 2;\nf(parameters.n)'],
  ['return 1 // the end'],
])('%j is a script', async (script) => {
  expect(await said(script)).toEqual([]);
});

test.each([
  ['let x = ;', ["5:13 bad_script This is not JavaScript: Unexpected token ';'."]],
  ['1;\n2;\n  )', ["7:7 bad_script This is not JavaScript: Unexpected token ')'."]],
  ['return 1;\nlet let = 1', [expect.stringMatching(/^6:9 bad_script /)]],
  [`${'('.repeat(100_000)}1`, [expect.stringMatching(/^5:5 bad_script .*nested too deep/)]],
  ['with (a) b', [expect.stringMatching(/^5:5 bad_script .*strict/i)]],
])('%.40j is none, and the place is told', async (script, words) => {
  expect(await said(script)).toEqual(words);
});
