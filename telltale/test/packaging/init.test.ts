import { mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createConsumer, type Packed, pack, root, run } from './packed.ts';

const INSTALL = ['install', '--prefer-offline', '--no-audit', '--no-fund'];
const json = (...path: readonly string[]) => JSON.parse(readFileSync(join(...path), 'utf8'));

let folder: string;
let creator: Packed;
let project: string;

const succeeds = async (command: string, args: readonly string[], cwd: string) => {
  const { code, output } = await run(command, args, cwd);
  expect({ code, output: code === 0 ? '' : output }).toEqual({ code: 0, output: '' });
  return output;
};

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-init-')));
  const packed = await pack(folder);
  creator = await pack(folder, 'create-telltale');
  const consumer = await createConsumer(folder, packed, creator);
  const create = join(consumer, 'node_modules', 'create-telltale', 'create-telltale.js');
  project = join(folder, 'my first agent');
  await succeeds(process.execPath, [create, 'my first agent', '--provider', 'scripted'], folder);
  // What npm finds there it need not unpack once more.
  renameSync(join(consumer, 'node_modules'), join(project, 'node_modules'));
  await succeeds('npm', INSTALL, project);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('create-telltale is a few lines that need the Telltale of the same version', () => {
  expect(creator.files).toEqual(['LICENSE', 'README.md', 'create-telltale.js', 'package.json']);
  const { version } = json(root, 'telltale', 'package.json');
  const { name, dependencies, engines, ...manifest } = json(root, 'create-telltale', 'package.json');
  expect({ name, version: manifest.version, dependencies }).toEqual({
    name: 'create-telltale',
    version,
    dependencies: { telltale: version },
  });
  expect(engines).toEqual(json(root, 'telltale', 'package.json').engines);
});

test('a project of an installed tarball gets the same tarball, and runs at once', async () => {
  expect(json(project, 'package.json').dependencies.telltale).toMatch(/^file:.*\/telltale-[\d.]+\.tgz$/);
  expect(await succeeds('npm', ['start'], project)).toMatch(/README\.md has \d+ words/);
  expect(readFileSync(join(project, 'reading-log.md'), 'utf8')).toContain('first\n\n- README.md\n');
});

test('its types and its manifests are right, and the command line reads its .env', async () => {
  writeFileSync(join(project, 'other.yml'), 'kind: Agent\nname: ${OTHER_NAME}\nmodel: ollama/x\n');
  writeFileSync(join(project, '.env'), 'OTHER_NAME=other\n');
  await succeeds('npm', ['run', 'check'], project);
});

test('its test passes and sees .env, and fails where the tool is wrong', async () => {
  const seesEnv =
    "import { test } from 'node:test';\ntest('env', (t) => t.assert.equal(process.env.SEEN, 'yes'));\n";
  writeFileSync(join(project, 'test', 'env.test.ts'), seesEnv);
  writeFileSync(join(project, '.env'), 'SEEN=yes\n');
  expect(await succeeds('npm', ['test'], project)).toMatch(/pass 3\b/);
  const tool = join(project, 'tools', 'count_words.ts');
  writeFileSync(tool, readFileSync(tool, 'utf8').replace('filter(Boolean).length', 'length + 1'));
  expect((await run('npm', ['test'], project)).code).not.toBe(0);
});

test('the pages that AGENTS.md names are in the package', () => {
  const pages = readFileSync(join(project, 'AGENTS.md'), 'utf8').match(/`[\w-]+\.md`/g) ?? [];
  expect(pages.length).toBeGreaterThan(4);
  const docs = join(project, 'node_modules', 'telltale', 'docs');
  for (const page of pages) expect(readFileSync(join(docs, page.slice(1, -1)), 'utf8')).toMatch(/^# /);
});

test('a project of a checkout installs and passes its test', async () => {
  const bin = join(root, 'telltale', 'bin', 'telltale.js');
  await succeeds(process.execPath, [bin, 'init', 'plain', '--yaml', '--provider', 'scripted'], folder);
  await succeeds('npm', INSTALL, join(folder, 'plain'));
  await succeeds('npm', ['test'], join(folder, 'plain'));
});
