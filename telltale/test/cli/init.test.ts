import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectFiles, TRANSCRIPT } from '../../src/cli/init/project-files.ts';
import { isProjectName, nameOfFolder } from '../../src/cli/init/project-name.ts';
import { main } from '../../src/cli/main.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { recordedIo } from './recorded-io.ts';
import { telltale } from './spawned.ts';

async function init(argv: readonly string[], cwd: string) {
  const io = recordedIo({ cwd });
  const code = await main(['init', ...argv], io);
  return { code, out: io.out(), err: io.err() };
}

describe('telltale init', () => {
  it('makes a project whose manifests are right and whose agent runs', async () => {
    const cwd = temporaryProject({});
    const { code, out } = await init(['My Agent', '--yes'], cwd);
    expect({ code, next: out.includes("  cd 'My Agent'\n  npm install\n  npm start\n  npm test\n") }).toEqual(
      {
        code: 0,
        next: true,
      },
    );
    const folder = join(cwd, 'My Agent');
    expect((await telltale(['validate'], folder)).out).toContain('3 manifests in 3 files: no errors');
    const ran = await telltale(['run', 'agent.yml', 'How long is README.md?', '--quiet'], folder);
    const words = readFileSync(join(folder, 'README.md'), 'utf8').split(/\s+/).filter(Boolean).length;
    expect(ran).toMatchObject({ code: 0, out: expect.stringContaining(`README.md has ${words} words`) });
    const notes = () =>
      readFileSync(join(folder, 'reading-log.md'), 'utf8').match(/^- README\.md, in turn 1$/gm);
    expect(notes()).toHaveLength(1);
    expect((await telltale(['workflow'], folder)).out).toMatch(/reading_log +completed/);
    const again = await telltale(['run', 'agent.yml', 'How long is README.md?', '--quiet'], folder);
    expect(again.code).toBe(0);
    expect(notes()).toHaveLength(2);
    expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).toMatchObject({
      name: 'my-agent',
      type: 'module',
      scripts: { test: 'node --test' },
    });
  });

  it('makes it in the current folder where none is named, also beside a fresh repository', async () => {
    const cwd = temporaryProject({});
    mkdirSync(join(cwd, '.git'));
    const { out } = await init(['--json', '--name', 'helper'], cwd);
    expect(JSON.parse(out)).toMatchObject({
      folder: cwd,
      name: 'helper',
      model: TRANSCRIPT,
      files: expect.arrayContaining(['agent.yml', 'workflows/reading_log.yml', 'test/agent.test.js']),
      next: ['npm install', 'npm start', 'npm test'],
    });
  });

  it('makes it where the package has just been installed, and keeps what package.json says', async () => {
    const cwd = temporaryProject({
      'package.json': JSON.stringify({
        name: 'mine',
        type: 'commonjs',
        scripts: { test: 'echo "Error: no test specified" && exit 1', lint: 'x' },
        dependencies: { telltale: 'file:../telltale.tgz' },
      }),
      'package-lock.json': '{}',
      'node_modules/telltale/package.json': '{}',
    });
    expect(await init(['--yes'], cwd)).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8'))).toMatchObject({
      name: 'mine',
      type: 'module',
      scripts: { start: expect.stringContaining('telltale run'), test: 'node --test', lint: 'x' },
      dependencies: { telltale: 'file:../telltale.tgz' },
    });
    expect((await telltale(['validate'], cwd)).code).toBe(0);
  });

  it('refuses a package.json that is no JSON, and touches nothing', async () => {
    const cwd = temporaryProject({ 'package.json': '{ "name": ' });
    expect(await init(['--yes'], cwd)).toMatchObject({
      code: 2,
      err: expect.stringContaining('package.json is no JSON object'),
    });
    expect(existsSync(join(cwd, 'agent.yml'))).toBe(false);
  });

  it('refuses a folder with anything in it, names what, and touches nothing', async () => {
    const cwd = temporaryProject({ 'agent.yml': 'mine', 'notes.txt': '' });
    expect(await init(['.', '--yes'], cwd)).toMatchObject({
      code: 2,
      err: expect.stringContaining("'.' is not empty: it holds agent.yml, notes.txt."),
    });
    expect(readFileSync(join(cwd, 'agent.yml'), 'utf8')).toBe('mine');
    expect(existsSync(join(cwd, 'package.json'))).toBe(false);
  });

  it('refuses what is no folder, no name or no model', async () => {
    const cwd = temporaryProject({ file: '' });
    expect((await init(['file', '--yes'], cwd)).err).toContain("'file' is no folder.");
    expect((await init(['x', '--yes', '--name', 'con'], cwd)).err).toContain("--name 'con' cannot be used.");
    expect((await init(['x', '--yes', '--model', 'gpt'], cwd)).err).toContain(
      "--model 'gpt' names no model.",
    );
    expect(existsSync(join(cwd, 'x'))).toBe(false);
  });

  it('brings the package of the provider that was chosen', async () => {
    const cwd = temporaryProject({});
    await init(['x', '--yes', '--model', 'anthropic/claude-sonnet-4-5'], cwd);
    expect(JSON.parse(readFileSync(join(cwd, 'x', 'package.json'), 'utf8')).dependencies).toHaveProperty([
      '@ai-sdk/anthropic',
    ]);
    expect((await telltale(['validate'], join(cwd, 'x'))).code).toBe(0);
  });

  it('overwrites nothing that came while it was asking', async () => {
    const cwd = temporaryProject({});
    const { writeProject } = await import('../../src/cli/init/write-project.ts');
    writeFileSync(join(cwd, 'agent.yml'), 'mine');
    const files = projectFiles({ name: 'a', model: TRANSCRIPT, version: '1.0.0' });
    await expect(writeProject(cwd, files)).rejects.toMatchObject({ code: 'cannot_write' });
    expect(readFileSync(join(cwd, 'agent.yml'), 'utf8')).toBe('mine');
  });
});

it.each([
  ['/x/my-agent', 'my_agent'],
  ['/x/My Agent (2)', 'my_agent_2'],
  ['/x/42', 'my_agent'],
  ['/x/NUL', 'my_agent'],
  ['/x/Überall', 'berall'],
])('a project in %s is called %s', (folder, name) => {
  expect(nameOfFolder(folder)).toBe(name);
  expect(isProjectName(name)).toBe(true);
});

it('all of its file names can be had on Windows', () => {
  for (const { path } of projectFiles({ name: 'a', model: TRANSCRIPT, version: '1.0.0' }))
    expect(path).toMatch(/^(?:[a-z.][\w.-]*\/)*[\w.-]+$/i);
});
