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
  it('has a recorded run on its first screen', () => {
    const [first] = consoleBlocks(page);
    expect(first?.argv).toEqual(['demo']);
    expect(page.slice(0, first?.from).split('\n').length).toBeLessThan(15);
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
