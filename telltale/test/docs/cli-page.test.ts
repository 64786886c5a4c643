import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { recordedIo } from '../cli/recorded-io.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const page = readFileSync(`${ROOT}docs/cli.md`, 'utf8');

async function help(argv: readonly string[]): Promise<string> {
  const io = recordedIo({ cwd: ROOT });
  expect(await main([...argv, '--help'], io)).toBe(0);
  return io.out();
}

/** The names in the left column below a heading of a help page. */
const listed = (text: string, heading: string): readonly string[] => {
  const from = text.indexOf(`${heading}:\n`);
  if (from === -1) return [];
  const part = text.slice(from, text.indexOf('\n\n', from));
  return [...part.matchAll(/^ {2}(\S.*?)(?: {2,}|$)/gm)].map(([, name]) => name as string);
};

async function allCommands(): Promise<readonly string[]> {
  const io = recordedIo({ cwd: ROOT });
  expect(await main(['help', 'all'], io)).toBe(0);
  const commands = ['Build', 'Run', 'Watch', 'Operate'].flatMap((group) =>
    listed(io.out(), group).map((line) => line.split(' ')[0] as string),
  );
  expect(commands.length).toBeGreaterThan(30);
  return commands;
}

it('the changelog names every command', async () => {
  const commands = await allCommands();
  const changelog = readFileSync(`${ROOT}CHANGELOG.md`, 'utf8');
  const line = /^- Command line: .*$/m.exec(changelog)?.[0] ?? '';
  const inChangelog = [...line.matchAll(/`(?:telltale )?([a-z]+)`/g)].map(([, name]) => name as string);
  expect(inChangelog.sort()).toEqual([...commands].sort());
});

it('docs/cli.md has every command, and every option of each', async () => {
  const commands = await allCommands();
  const missing: string[] = [];
  for (const command of commands) {
    if (!new RegExp(`\`(?:telltale )?${command}\\b`).test(page)) missing.push(command);
    for (const line of listed(await help([command]), 'Options')) {
      const option = /--[a-z-]+/.exec(line)?.[0];
      if (option !== undefined && option !== '--help' && !page.includes(option))
        missing.push(`${command} ${option}`);
    }
  }
  expect(missing).toEqual([]);
});
