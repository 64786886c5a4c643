import { readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import * as protocol from '../../src/protocol/index.ts';
import { recordedIo } from '../cli/recorded-io.ts';
import { consoleBlocks } from './console-blocks.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const README = `${ROOT}README.md`;
const page = readFileSync(README, 'utf8');

const run = async (argv: readonly string[]): Promise<string> => {
  const io = recordedIo({ cwd: ROOT });
  await main(argv, io);
  return `${(io.out() + io.err()).trim()}\n`;
};

if (process.env.UPDATE_DOCS === '1') {
  let updated = page;
  for (const block of [...consoleBlocks(page)].reverse()) {
    updated = updated.slice(0, block.from) + (await run(block.argv)) + updated.slice(block.to);
  }
  writeFileSync(README, updated);
}

describe('README', () => {
  it('has a recorded run of the demo on its first screen, as the demo is now', () => {
    const at = page.indexOf('```text\n$ npm start\n');
    expect(page.slice(0, at).split('\n').length).toBeLessThan(15);
    const shown = page.slice(at, page.indexOf('```\n', at + 3)).split('\n');
    const expected = readFileSync(`${ROOT}examples/coding/expected.screen.txt`, 'utf8').split('\n');
    // Times, folders and ids differ from run to run; the rest is what examples/coding is tested for.
    const stable = expected.filter((line) => !/FOLDER|SESSION|AGAIN|^✓/.test(line));
    const screen = stable.slice(0, stable.indexOf('Next:'));
    let from = 0;
    for (const line of screen) {
      const found = shown.findIndex((each, i) => i >= from && each.startsWith(line));
      expect(found, `"${line}" is missing in the README, or out of order`).toBeGreaterThanOrEqual(from);
      from = found + 1;
    }
    expect(screen.length).toBeGreaterThan(30);
  });

  it.each(consoleBlocks(readFileSync(README, 'utf8')).map((block) => [block.argv.join(' '), block] as const))(
    'shows what %s really prints (UPDATE_DOCS=1 writes it anew)',
    async (_, { argv, output }) => {
      expect(await run(argv)).toBe(output);
    },
  );

  it('has an example in TypeScript that does what it says', async () => {
    const code = /```ts\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
    const [importLine = '', ...rest] = code.split('\n');
    expect(importLine).toBe("import { parseStream } from 'telltale/protocol';");
    const printed: string[] = [];
    const body = stripTypeScriptTypes(rest.join('\n'));
    const example = new Function('parseStream', 'console', `return (async () => { ${body} })();`);
    await example(protocol.parseStream, { log: (text: string) => printed.push(text) });
    expect(printed).toEqual(['start clock now', 'prose: and on it goes']);
  });

  it('links only to pages that exist', () => {
    const links = [...page.matchAll(/\]\(([^)#]+)\)/g)].map((match) => match[1] ?? '');
    const missing = links.filter((link) => {
      try {
        readFileSync(`${ROOT}${link}`);
        return false;
      } catch (error) {
        return (error as NodeJS.ErrnoException).code !== 'EISDIR';
      }
    });
    expect(missing).toEqual([]);
  });
});
