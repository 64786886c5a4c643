import { execFileSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import { temporaryProject } from './temporary-project.ts';

const AGENT = 'kind: Agent\nname: a\n';
const file = (lists: object) => JSON.stringify({ context_variables: lists }, null, 2);

const load = (files: Record<string, string>, entry = 'a.yml') =>
  loadManifests([entry], { env: {}, cwd: temporaryProject({ 'package.json': '{}', ...files }) });

const said = async (files: Record<string, string>, entry?: string) =>
  (await load(files, entry)).diagnostics.map(
    ({ file: at, line, column, code }) => `${at}:${line}:${column} ${code}`,
  );

describe('a context_variables.json beside an agent', () => {
  it('adds its variables to the manifest, and each may read the other', async () => {
    const files = {
      'a.yml': `${AGENT}context_variables:\n  runtime: [{ name: x }]\n  derived: [{ name: d, expression: "x > y" }]\n`,
      'context_variables.json': file({
        runtime_variables: [{ name: 'y' }],
        derived_variables: [{ name: 'z', expression: 'd && x > 3' }],
      }),
    };
    const { ok, projects, sources } = await load(files);
    expect(ok).toBe(true);
    expect(sources.length).toBe(2);
    expect(projects[0]?.manifests[0]?.manifest).toMatchObject({
      context_variables: {
        defined: [],
        runtime: [{ name: 'x' }, { name: 'y' }],
        derived: [{ name: 'd' }, { name: 'z' }],
      },
    });
    const alone = await load({ 'a.yml': `${AGENT}context_variables: { runtime: [{ name: x }] }\n` });
    expect(projects[0]?.manifests[0]?.hash).not.toBe(alone.projects[0]?.manifests[0]?.hash);
  });

  it('is pointed at for its own mistakes, each once, and keeps the agent from being loaded', async () => {
    const files = {
      'a.yml': `${AGENT}context_variables: { runtime: [{ name: x }] }\n`,
      'context_variables.json': file({
        runtime_variables: [{ name: 'x' }, { nam: 'q' }],
        derived_variables: [{ name: 'z', expression: 'missing > 3' }],
      }),
    };
    expect(await said(files)).toEqual([
      'context_variables.json:5:17 duplicate',
      'context_variables.json:8:9 unknown_key',
      'context_variables.json:14:24 unknown_name',
    ]);
    expect((await load(files)).projects[0]?.manifests).toEqual([]);
  });

  it('that cannot be read is the only thing reported', async () => {
    const agent = `${AGENT}context_variables: { derived: [{ name: d, expression: "y > 2" }] }\n`;
    expect(await said({ 'a.yml': agent, 'context_variables.json': '{"context_variables": ' })).toEqual([
      'context_variables.json:1:23 yaml_syntax',
    ]);
    expect(await said({ 'a.yml': agent, 'context_variables.json': '' })).toEqual([
      'context_variables.json:1:1 empty_file',
    ]);
    expect(await said({ 'a.yml': agent, 'context_variables.json': `"${'x'.repeat(1024 * 1024)}"` })).toEqual([
      'context_variables.json:undefined:undefined file_too_large',
    ]);
  });

  it('may not be a pipe, nor lead out of the project', async () => {
    const cwd = temporaryProject({
      'p/package.json': '{}',
      'p/a.yml': AGENT,
      'q/package.json': '{}',
      'q/a.yml': AGENT,
    });
    execFileSync('mkfifo', [join(cwd, 'p/context_variables.json')]);
    symlinkSync('/etc/hostname', join(cwd, 'q/context_variables.json'));
    const codes = async (path: string) =>
      (await loadManifests([path], { env: {}, cwd })).diagnostics.map(({ code }) => code);
    expect(await codes('p/a.yml')).toEqual(['not_a_file']);
    expect(await codes('q/a.yml')).toEqual(['outside_project']);
  });

  it('is checked by itself where it is named, and left alone where there is no agent', async () => {
    const broken = { 'context_variables.json': file({ runtime_variables: [{ nam: 'y' }] }) };
    expect(await said(broken, 'context_variables.json')).toEqual(['context_variables.json:5:9 unknown_key']);
    const tool = 'kind: Tool\nname: t\ndescription: For an Agent.\nimplementation: { command: [ls] }\n';
    expect(await said({ 'a.yml': tool, ...broken })).toEqual([]);
  });
});
