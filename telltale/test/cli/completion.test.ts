import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMPLETION_SCRIPTS, type KnownCommand, placeOf, SHELLS } from '../../src/cli/completion/complete.ts';
import { main } from '../../src/cli/main.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { eventList, SESSION, started } from './event-list.ts';
import { recordedIo } from './recorded-io.ts';
import { command } from './run-command.ts';

const start = new URL('../../src/cli/start.ts', import.meta.url).href;

/** What Tab offers at the end of these words; an empty last word is one that is about to be typed. */
async function tab(words: readonly string[], cwd = '/') {
  const io = recordedIo({ cwd });
  await main(['__complete', String(words.length), '--', 'telltale', ...words], io);
  return io
    .out()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t')[0]);
}

describe('completing', () => {
  it('offers commands, with what they do', async () => {
    expect(await tab(['re'])).toEqual(['resume', 'replay', 'reviews']);
    expect(await tab([''])).toContain('help');
    expect(await tab(['__'])).toEqual([]);
    const io = recordedIo();
    await main(['__complete', '1', '--', 'telltale', 'run'], io);
    expect(io.out()).toBe('run\trun an agent\n');
  });

  it('offers the options of the command, and the values that one takes', async () => {
    expect(await tab(['run', 'a.yml', '--ma'])).toEqual(['--max-turns']);
    expect(await tab(['run', '--durability', ''])).toEqual(['power', 'process']);
    expect(await tab(['sessions', '--status', 'st'])).toEqual(['stalled']);
    expect(await tab(['logs', 'last', '--type', 'turn.c'])).toEqual(['turn.completed']);
  });

  it('offers kinds and shells where they belong', async () => {
    expect(await tab(['schema', 'A'])).toEqual(['Agent', 'Artifact']);
    expect(await tab(['inspect', 're'])).toEqual(['relic']);
    expect(await tab(['completion', ''])).toEqual([...SHELLS]);
    expect(await tab(['help', 'ru'])).toEqual(['run']);
  });

  it('offers manifests and folders, and other files where those are meant', async () => {
    const cwd = temporaryProject({ 'agent.yml': '', 'a.txt': '', 'agents/b.yml': '', '.hidden.yml': '' });
    expect(await tab(['run', ''], cwd)).toEqual(['agent.yml', 'agents/']);
    expect(await tab(['run', 'agents/'], cwd)).toEqual(['agents/b.yml']);
    expect(await tab(['run', '.h'], cwd)).toEqual(['.hidden.yml']);
    expect(await tab(['parse', 'a.'], cwd)).toEqual(['a.txt']);
    expect(await tab(['run', 'nosuch/'], cwd)).toEqual([]);
  });

  it('offers the sessions of the store in reach', async () => {
    const logs = [eventList([[0, started()]])];
    const { out } = await command(['__complete', '2', '--', 'telltale', 'show', 'ses_'], { logs });
    expect(out).toMatch(new RegExp(`^${SESSION}\\t`));
    const { out: resumed } = await command(
      ['__complete', '4', '--', 'telltale', 'run', 'a.yml', '--resume', 'l'],
      {
        logs,
      },
    );
    expect(resumed).toBe('last\tthe newest\n');
    expect(await tab(['show', 'ses_'])).toEqual([]);
  });

  it('prints the script of a shell, and knows no others', async () => {
    const io = recordedIo();
    expect(await main(['completion', 'bash'], io)).toBe(0);
    expect(io.out()).toBe(COMPLETION_SCRIPTS.bash);
    const other = recordedIo();
    expect(await main(['completion', 'zhs'], other)).toBe(2);
    expect(other.err()).toContain('Did you mean "zsh"?');
  });
});

describe('the place where Tab is pressed', () => {
  const option = (flag: string, takesValue: boolean) => ({
    flags: [flag],
    description: '',
    takesValue,
    choices: [],
  });
  const known: KnownCommand = {
    name: 'run',
    summary: '',
    options: [option('--json', false), option('--store', true)],
    arguments: [
      { name: 'manifest', isVariadic: false },
      { name: 'rest', isVariadic: true },
    ],
  };
  it.each([
    [['run'], '', 'manifest'],
    [['run', '--json'], '', 'manifest'],
    [['run', '--store', 'x'], '', 'manifest'],
    [['run', '--store', '=', 'x'], '', 'manifest'],
    [['run', 'a.yml'], '', 'rest'],
    [['run', 'a.yml', 'b', 'c'], '', 'rest'],
  ])('behind %j and %j is the argument %s', (before, current, name) => {
    expect(placeOf(before, current, [known])).toMatchObject({ kind: 'argument', name });
  });

  it('is a value behind an option that takes one, and nothing behind an unknown command', () => {
    expect(placeOf(['run', '--store'], '', [known]).kind).toBe('value');
    expect(placeOf(['run', '--store', '='], 'x', [known]).kind).toBe('value');
    expect(placeOf(['run', 'a'], '--s', [known]).kind).toBe('option');
    expect(placeOf(['nosuch'], '', [known]).kind).toBe('nothing');
  });
});

/** Those that are on this machine: bash is, wherever the tests run. */
const has = (shell: string) => spawnSync(shell, ['-c', 'exit 0']).status === 0;

describe('the script of a shell', { timeout: 60_000 }, () => {
  function project() {
    const cwd = temporaryProject({ 'agent.yml': '', 'an agent.yml': '', 'folder/b.yml': '' });
    const bin = join(cwd, 'bin');
    mkdirSync(bin);
    const script = `const { start } = await import(${JSON.stringify(start)}); process.exit(await start(process.argv.slice(1)));`;
    writeFileSync(
      join(bin, 'telltale'),
      `#!/bin/sh\nexec "${process.execPath}" --input-type=module -e '${script}' -- "$@"\n`,
    );
    chmodSync(join(bin, 'telltale'), 0o755);
    return { cwd, env: { PATH: `${bin}:${process.env.PATH}` } };
  }

  it('fills bash’s COMPREPLY', () => {
    const { cwd, env } = project();
    const drive = `${COMPLETION_SCRIPTS.bash}
complete -p telltale
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _telltale telltale; printf '%s|' "\${COMPREPLY[@]}"; echo; }
try telltale val
try telltale run ''
try telltale run fol
`;
    const out = execFileSync('bash', ['--norc', '-c', drive], { cwd, env, encoding: 'utf8' });
    expect(out.split('\n')).toEqual([
      'complete -F _telltale telltale',
      'validate|',
      'agent.yml|an\\ agent.yml|bin/|folder/|',
      'folder/|',
      '',
    ]);
  });

  it('can be read by each shell that is here', () => {
    for (const shell of SHELLS.filter(has)) {
      const check = spawnSync(shell, ['-n'], { input: COMPLETION_SCRIPTS[shell], encoding: 'utf8' });
      expect({ shell, status: check.status, said: check.stderr }).toEqual({ shell, status: 0, said: '' });
    }
  });
});
