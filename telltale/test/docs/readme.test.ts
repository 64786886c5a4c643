import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import * as telltale from '../../src/index.ts';
import * as protocol from '../../src/parser/index.ts';
import { recordedIo } from '../cli/recorded-io.ts';
import { consoleBlocks } from './console-blocks.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const readme = read('README.md');
const quickStart = read('docs/quick-start.md');

const run = async (argv: readonly string[]): Promise<string> => {
  const io = recordedIo({ cwd: ROOT });
  await main(argv, io);
  return `${(io.out() + io.err()).trim()}\n`;
};

if (process.env.UPDATE_DOCS === '1') {
  let updated = quickStart;
  for (const block of [...consoleBlocks(quickStart)].reverse())
    updated = updated.slice(0, block.from) + (await run(block.argv)) + updated.slice(block.to);
  writeFileSync(join(ROOT, 'docs/quick-start.md'), updated);
}

const codeBlock = (page: string, language: string): string =>
  new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(page)?.[1] ?? '';

/** Runs an example without its import, with what it imports passed in; what it printed. */
async function runExample(code: string, imported: Readonly<Record<string, unknown>>): Promise<unknown[][]> {
  const printed: unknown[][] = [];
  const body = stripTypeScriptTypes(code.replace(/^import .*\n/, ''));
  const names = Object.keys(imported);
  const example = new Function(...names, 'console', `return (async () => { ${body} })();`);
  await example(...Object.values(imported), { log: (...values: unknown[]) => printed.push(values) });
  return printed;
}

describe('the README', () => {
  it('shows a recorded run of the demo as the demo is now (node scripts/record-demo.ts)', () => {
    expect(readme).toContain('docs/images/demo.svg');
    const shown = [...read('docs/images/demo.svg').matchAll(/<text[^>]*>(.*)<\/text>/g)].map(
      ([, line = '']) =>
        line
          .replaceAll(/<[^>]+>/g, '')
          .replaceAll('&lt;', '<')
          .replaceAll('&gt;', '>')
          .replaceAll('&amp;', '&'),
    );
    // Times, folders and ids differ from run to run, and the terminal is wider; words of the agent are the same.
    const [expected = ''] = read('examples/coding/expected.screen.txt').split('\nChanged on disk');
    const said = expected
      .split('\n')
      .filter((line) => /^ {2}[A-Za-z]/.test(line) && !/SESSION|FOLDER|AGAIN/.test(line));
    const words = shown.join(' ').replaceAll(/\s+/g, ' ');
    const missing = said.filter((line) => !words.includes(line.trim().slice(0, 40)));
    expect(said.length).toBeGreaterThan(10);
    expect(missing).toEqual([]);
  });

  it('has the figures of docs/benchmarks.md, and counts the saved requests from them', () => {
    const cells = (row: string) =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim());
    const rows = read('docs/benchmarks.md')
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .map(cells);
    const shown = readme
      .split('\n')
      .filter((line) => /^ +\| [A-Z].* \d/.test(line))
      .map(cells);
    expect(shown).toHaveLength(6);
    for (const [name = '', seconds = '', requests = '', tokens = ''] of shown) {
      const known = { 'Telltale, tags': 'telltale, tags', 'Telltale, native calls': 'telltale, tools' }[name];
      const row = rows.find(([first]) => first === (known ?? name));
      expect({ name, seconds, requests, tokens }).toEqual({
        name,
        seconds: row?.[1],
        requests: row?.[2],
        tokens: row?.[4],
      });
    }
    const [ours = 0, theirs = 0] = [0, 2].map((at) => Number(shown[at]?.[2]));
    expect(readme).toContain(`Ten tasks take ${Math.round((1 - ours / theirs) * 100)}% fewer requests`);
  });

  it('is one screen', () => {
    expect(readme.split('\n').length).toBeLessThan(70);
  });

  it('has an agent in YAML that validates', async () => {
    const text = codeBlock(readme, 'yaml');
    expect(text.trim().split('\n').length).toBeLessThanOrEqual(10);
    const folder = mkdtempSync(join(tmpdir(), 'telltale-readme-'));
    try {
      writeFileSync(join(folder, 'reviewer.yml'), text);
      const { ok, diagnostics } = await telltale.validateManifests([join(folder, 'reviewer.yml')]);
      expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
      expect(ok).toBe(true);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  describe('has an agent in TypeScript', () => {
    let folder: string;
    const before = process.cwd();
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'telltale-readme-'));
      process.chdir(folder);
    });
    afterEach(() => {
      process.chdir(before);
      rmSync(folder, { recursive: true, force: true });
    });

    it('that runs', async () => {
      writeFileSync('turns.yml', 'turns:\n  - <response final="true">It is good.</response>\n');
      const code = codeBlock(readme, 'ts').replace('anthropic/claude-sonnet-4-5', 'scripted:./turns.yml');
      const { createRuntime, defineAgent } = telltale;
      expect(await runExample(code, { createRuntime, defineAgent })).toEqual([['completed', 'It is good.']]);
    });
  });
});

describe('the quick start', () => {
  it.each(consoleBlocks(quickStart).map((block) => [block.argv.join(' '), block] as const))(
    'shows what %s really prints (UPDATE_DOCS=1 writes it anew)',
    async (_, { argv, output }) => {
      expect(await run(argv)).toBe(output);
    },
  );

  it('has an example of the parser that does what it says', async () => {
    const printed = await runExample(codeBlock(quickStart, 'ts'), { parseStream: protocol.parseStream });
    expect(printed).toEqual([['start clock now'], ['prose: and on it goes']]);
  });
});

it.each(['README.md', 'docs/README.md', 'docs/quick-start.md'])('%s links only to what exists', (name) => {
  const links = [...read(name).matchAll(/\]\(([^)#]+)\)/g)].map(([, link = '']) => link);
  const missing = links.filter((link) => {
    try {
      read(join(dirname(name), link));
      return false;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code !== 'EISDIR';
    }
  });
  expect(missing).toEqual([]);
  expect(links.length).toBeGreaterThan(3);
});
