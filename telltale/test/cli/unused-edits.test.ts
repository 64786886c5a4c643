import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { spawned, telltale } from './spawned.ts';

const gate = (answer: string) =>
  `kind: Artifact\nname: gate\nsource: "export const may = () => ${answer};"\nmethods: { may: {} }\n`;
const WRITE = JSON.stringify({
  name: 'write_artifact',
  parameters: { name: 'gate', source: 'export const may = () => "agent";', methods: ['may'] },
});
const FILES = {
  'agent.yml': `kind: Agent
name: keeper
model: scripted:./turns.yml
import: { artifacts: [./gate.yml] }
permissions: { artifacts: [read, write] }
`,
  'turns.yml': `turns:\n  - |\n    <response final="true">Done.</response>\n`,
  'writing.yml': `turns:\n  - |\n    <action type="internal" id="w">${WRITE}</action>\n    <response final="true">Done.</response>\n`,
  'gate.yml': gate('1'),
};
const run = (cwd: string, ...more: readonly string[]) => telltale(['run', 'agent.yml', 'Go', ...more], cwd);
const edit = (cwd: string, answer: string) => writeFileSync(join(cwd, 'gate.yml'), gate(answer));
const shown = async (cwd: string) => (await telltale(['artifact', 'show', 'gate'], cwd)).out;
const TOLD =
  '! gate.yml was edited, but version 2 of the artifact "gate", by agent:keeper, is in use. To use the file: telltale artifact rollback gate 1. Then start again.\n';

describe("an edit of an artifact's file", { timeout: 60_000 }, () => {
  it('that is not in force is told at the start, with the command that puts it in force', async () => {
    const cwd = temporaryProject(FILES);
    expect((await run(cwd, '--model', 'scripted:./writing.yml')).err).not.toContain('gate');
    // The file is as it was: what the agent made of it is no surprise.
    expect((await run(cwd)).err).not.toContain('gate');
    edit(cwd, '2');
    const told = await run(cwd);
    expect([told.code, told.err]).toEqual([0, expect.stringContaining(TOLD)]);
    expect((await run(cwd, '--quiet')).err).toBe('');
    expect(await shown(cwd)).toContain('agent');

    const [, command = ''] = /: telltale (artifact rollback \S+ \d+)/.exec(told.err) ?? [];
    expect((await telltale(command.split(' '), cwd)).code).toBe(0);
    expect((await run(cwd)).err).not.toContain('gate');
    expect(await shown(cwd)).toContain('=> 2;');
  });

  it('is told with the store that the command has to be called with, and once the file names a module, of that', async () => {
    const module = 'kind: Artifact\nname: gate\nmodule: ./gate.js\nmethods: { may: {} }\n';
    const cwd = temporaryProject({ ...FILES, 'gate.yml': module, 'gate.js': 'export const may = () => 1;' });
    const store = ['--store', 'other.db'];
    await run(cwd, '--model', 'scripted:./writing.yml', ...store);
    writeFileSync(join(cwd, 'gate.js'), 'export const may = () => 2;');
    const { err } = await run(cwd, ...store);
    expect(err).toContain('! gate.js was edited');
    expect(err).toContain('telltale artifact rollback gate 1 --store other.db');
  });

  it('by a name under which only others have written has to get another one', async () => {
    const cwd = temporaryProject({ ...FILES, 'gate.yml': gate('1').replace('gate', 'other') });
    await run(cwd, '--model', 'scripted:./writing.yml');
    edit(cwd, '2');
    const { err } = await run(cwd);
    expect(err).toContain('by agent:keeper, is in use');
    expect(err).toContain('No version of it came from a file. Give yours another name.');
  });

  it('is told by a daemon when it starts, and of an edit when it is made', async () => {
    const cwd = temporaryProject(FILES);
    await run(cwd, '--model', 'scripted:./writing.yml');
    edit(cwd, '2');
    const dev = spawned(['dev', 'agent.yml', '--port', '0', '--store', '.telltale/telltale.db'], cwd);
    const times = () => dev.err().split('! gate.yml was edited').length - 1;
    await expect.poll(times).toBe(1);
    edit(cwd, '3');
    await expect.poll(times).toBe(2);
    dev.child.kill('SIGINT');
    await dev.ended;
  });
});
