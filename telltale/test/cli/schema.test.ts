import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { recordedIo } from './recorded-io.ts';

const schema = async (argv: readonly string[], cwd = '/') => {
  const io = recordedIo({ cwd });
  const code = await main(['schema', ...argv], io);
  return { code, out: io.out(), err: io.err() };
};
const KINDS = ['Agent', 'Tool', 'Relic', 'Artifact', 'Workflow'];

describe('telltale schema', () => {
  it('lists the kinds', async () => {
    const { code, out } = await schema([]);
    expect(code).toBe(0);
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).toEqual(KINDS);
    expect(JSON.parse((await schema(['--json'])).out)).toEqual(KINDS);
  });

  it('prints the JSON Schema of a kind, however its name is written', async () => {
    const { code, out } = await schema(['Agent']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ $schema: 'https://json-schema.org/draft/2020-12/schema' });
    expect((await schema(['agent'])).out).toBe(out);
  });

  it('names the nearest kind', async () => {
    expect(await schema(['Workfow'])).toEqual({
      code: 2,
      out: '',
      err: "error: There is no kind 'Workfow'.\n  telltale schema Workfow\n                  ^^^^^^^\n  → Did you mean Workflow?\n",
    });
  });

  it('writes all of them, or one, to a folder that it makes', async () => {
    const cwd = temporaryProject();
    expect((await schema(['--out', 'a/b'], cwd)).out).toBe(
      KINDS.map((kind) => `a/b/${kind}.json\n`).join(''),
    );
    expect(readdirSync(join(cwd, 'a/b')).sort()).toEqual(KINDS.map((kind) => `${kind}.json`).sort());
    expect(readFileSync(join(cwd, 'a/b/Tool.json'), 'utf8')).toBe((await schema(['Tool'])).out);
    await schema(['Relic', '--out', 'one'], cwd);
    expect(readdirSync(join(cwd, 'one'))).toEqual(['Relic.json']);
  });

  it('ends where no folder can ever be made', async () => {
    expect(await schema(['--out', '/proc/nowhere/deeper'])).toMatchObject({ code: 1, out: '' });
  });

  it('says so when it cannot write', async () => {
    const cwd = temporaryProject();
    writeFileSync(join(cwd, 'file'), '');
    const { code, err } = await schema(['--out', 'file'], cwd);
    expect(code).toBe(1);
    expect(err).toContain('file/Agent.json cannot be written: its folder is a file.');
    expect((await schema(['--out', 'file/deeper'], cwd)).err).toContain('a part of its path is a file.');
    expect(await schema(['--out', ''], cwd)).toMatchObject({ code: 2, out: '' });
  });
});
