import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadAgent } from '../../../src/agent/load-agent.ts';
import { agentFilesIn, namedAgentFiles } from '../../../src/cli/serve/agent-source.ts';
import { createSystemClock } from '../../../src/lib/clock.ts';
import { createCatalog } from '../../../src/server/catalog/agent-catalog.ts';
import { watchCatalog } from '../../../src/server/catalog/watch-catalog.ts';

const agent = (name: string, more = '') =>
  `kind: Agent\nname: ${name}\nmodel: scripted:./turns.yml\ninstructions: Do it.\n${more}`;

function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-catalog-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

async function catalogOf(folder: string, now = () => 1) {
  const catalog = await createCatalog({
    find: () => agentFilesIn(folder),
    load: (path, name) => loadAgent(path, { cwd: folder, ...(name === undefined ? {} : { name }) }),
    now,
    cwd: folder,
  });
  onTestFinished(() => catalog.close());
  return catalog;
}

describe('the files that hold agents', () => {
  it('of a folder that nobody said more of lie in it and in its "agents", not deeper', async () => {
    const folder = folderOf({
      'one.yml': agent('one'),
      'agents/two.yaml': agent('two'),
      'deep/three.yml': agent('three'),
      'tool.yml': 'kind: Tool\nname: x\n',
      'notes.txt': 'kind: Agent',
    });
    expect(await agentFilesIn(folder)).toEqual([join(folder, 'one.yml'), join(folder, 'agents', 'two.yaml')]);
  });

  it('of a folder that is named lie anywhere below it; a file that is named counts whatever it is', async () => {
    const folder = folderOf({ 'deep/er/three.yml': agent('three'), 'tool.yml': 'kind: Tool\nname: x\n' });
    expect(await namedAgentFiles(['.', 'missing.yml'], folder)).toEqual([
      join(folder, 'deep', 'er', 'three.yml'),
      join(folder, 'missing.yml'),
    ]);
  });
});

describe('the agents of a server', () => {
  it('are found by name, and a name that is nearly one is told', async () => {
    const catalog = await catalogOf(folderOf({ 'agent.yml': agent('helper') }));
    expect(catalog.find('helper').manifest.name).toBe('helper');
    expect(() => catalog.find('helpr')).toThrow(
      expect.objectContaining({ code: 'agent_unknown', hint: expect.stringContaining('"helper"') }),
    );
  });

  it('include those that an agent imports, once', async () => {
    const folder = folderOf({
      'agent.yml': agent('boss', 'import: { agents: [./staff/*.yml] }\n'),
      'other.yml': agent('other', 'import: { agents: [./staff/*.yml] }\n'),
      'staff/clerk.yml': agent('clerk'),
    });
    const catalog = await catalogOf(folder);
    expect(catalog.list().map(({ name }) => name)).toEqual(['boss', 'clerk', 'other']);
  });

  it('keep the version that could be loaded when an edit breaks the file, and say what is wrong and where', async () => {
    const folder = folderOf({ 'agent.yml': agent('helper', 'description: first\n') });
    let now = 1;
    const catalog = await catalogOf(folder, () => now);
    now = 2;
    writeFileSync(join(folder, 'agent.yml'), agent('helper', 'descripton: second\n'));
    await catalog.reload();
    const [broken] = catalog.list();
    expect(broken).toMatchObject({
      name: 'helper',
      loadedAt: 1,
      problems: [{ code: 'unknown_key', file: join(folder, 'agent.yml'), line: 5, column: 1 }, {}],
    });
    expect(catalog.find('helper').manifest.description).toBe('first');
    now = 3;
    writeFileSync(join(folder, 'agent.yml'), agent('helper', 'description: third\n'));
    await catalog.reload();
    expect(catalog.list()).toMatchObject([{ problems: [], loadedAt: 3 }]);
    expect(catalog.find('helper').manifest.description).toBe('third');
  });

  it('that never could be loaded stand in the list by their file, and cannot be started', async () => {
    const catalog = await catalogOf(folderOf({ 'helper.yml': 'kind: Agent\nnaem: helper\n' }));
    expect(catalog.list()).toMatchObject([
      { name: 'helper', problems: [{ severity: 'error', code: 'unknown_key' }] },
    ]);
    expect(() => catalog.find('helper')).toThrow(expect.objectContaining({ code: 'bad_manifest' }));
  });

  it('of one name in two files are one that can be started and one that says whose the name is', async () => {
    const folder = folderOf({ 'a.yml': agent('helper'), 'b.yml': agent('helper') });
    const [first, second] = (await catalogOf(folder)).list();
    expect(first).toMatchObject({ name: 'helper', problems: [] });
    expect(second?.agent).toBeUndefined();
    expect(second?.problems).toMatchObject([
      { code: 'name_taken', message: expect.stringContaining(join(folder, 'a.yml')) },
    ]);
  });

  it('stay the same objects where nothing changed, and nobody is told then', async () => {
    const folder = folderOf({ 'agent.yml': agent('helper') });
    const catalog = await catalogOf(folder);
    const before = catalog.find('helper');
    let told = 0;
    catalog.onChange(() => told++);
    await catalog.reload();
    expect(catalog.find('helper')).toBe(before);
    expect(told).toBe(0);
  });
});

describe('a catalog that is watched', () => {
  it.each([
    ['is written in place', (file: string, text: string) => writeFileSync(file, text)],
    [
      'is put in the place of the old one, as editors do',
      (file: string, text: string) => {
        writeFileSync(`${file}.tmp`, text);
        renameSync(`${file}.tmp`, file);
      },
    ],
  ])('is loaded anew when a file %s', async (_how, write) => {
    const folder = folderOf({ 'agent.yml': agent('helper', 'description: first\n') });
    const catalog = await catalogOf(folder);
    const watching = watchCatalog(catalog, {
      roots: [folder],
      clock: createSystemClock(),
      onError: (thrown) => expect.unreachable(String(thrown)),
    });
    onTestFinished(() => watching.close());
    write(join(folder, 'agent.yml'), agent('helper', 'description: second\n'));
    await expect.poll(() => catalog.find('helper').manifest.description).toBe('second');
  });

  it('finds agents that come, in folders that come, and forgets those that go', async () => {
    const folder = folderOf({ 'agent.yml': agent('helper') });
    const catalog = await catalogOf(folder);
    const watching = watchCatalog(catalog, {
      roots: [folder],
      clock: createSystemClock(),
      onError: (thrown) => expect.unreachable(String(thrown)),
    });
    onTestFinished(() => watching.close());
    mkdirSync(join(folder, 'agents'));
    writeFileSync(join(folder, 'agents', 'two.yml'), agent('two'));
    await expect.poll(() => catalog.list().map(({ name }) => name)).toEqual(['helper', 'two']);
    rmSync(join(folder, 'agent.yml'));
    await expect.poll(() => catalog.list().map(({ name }) => name)).toEqual(['two']);
  });
});
