import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { recordedIo } from './recorded-io.ts';

const FILES = {
  'src/session.ts': `import { sleep } from './sleep.ts';

/** Runs it to its end. */
export async function runSession(id: string): Promise<void> {
  await sleep(1);
}
`,
  'src/sleep.ts': 'export const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));\n',
  'src/broken.ts': 'export function half( {\n',
  '.gitignore': 'ignored.ts\n.telltale/\n',
  'ignored.ts': 'export const hidden = 1;\n',
};

async function telltale(argv: readonly string[], cwd: string, prepare?: (io: { interrupt(): void }) => void) {
  const io = { ...recordedIo({ cwd }), clock: createSystemClock() };
  prepare?.(io);
  const code = await main(['memory', ...argv], io);
  return { code, out: io.out(), err: io.err(), json: () => JSON.parse(io.out()) };
}

describe('telltale memory', { timeout: 60_000 }, () => {
  it('indexes a folder, asks it as it is by then, and says what is in it', async () => {
    const cwd = temporaryProject(FILES);
    const indexed = await telltale(['index'], cwd);
    expect(indexed).toMatchObject({ code: 0, err: '' });
    expect(indexed.out).toMatch(/^3 files: 3 read with \d+ symbols, 0 removed in .+ files\/s\n/);
    expect(indexed.out).toContain(
      '1 file could not be indexed completely: 1 with syntax errors, read as far as possible',
    );

    const asked = await telltale(['query', '--symbol', 'sleep'], cwd);
    expect(asked.code).toBe(0);
    expect(asked.out).toContain('src/sleep.ts:1');
    expect(asked.out).toContain('runSession');
    expect((await telltale(['query', 'run session'], cwd)).out).toContain('src/session.ts:4');
    const named = await telltale(['query', '.', '--path', 'src/session.ts', '--json'], cwd);
    expect(named.json().nodes).toContainEqual(
      expect.objectContaining({ kind: 'file', at: 'src/session.ts' }),
    );

    const stats = await telltale(['stats'], cwd);
    expect(stats.out).toMatch(/files +3: typescript 3\n/);
    expect(stats.out).toMatch(/indexed +just now/);
    expect((await telltale(['--json'], cwd)).json()).toMatchObject({ files: 3, graph: '..', folder: cwd });

    // What has changed is read before it answers.
    writeFileSync(join(cwd, 'src/sleep.ts'), '\nexport const sleep = () => 1;\nexport const extra = 2;\n');
    expect((await telltale(['query', '--symbol', 'sleep'], cwd)).out).toContain('src/sleep.ts:2');
    writeFileSync(join(cwd, 'src/new.ts'), 'export const fresh = 1;\n');
    expect((await telltale(['index', '--json'], cwd)).json()).toMatchObject({
      folder: cwd,
      files: 4,
      parsed: 1,
      removed: 0,
      symbols: 1,
      notes: { broken: 1 },
    });

    // What is not there is named with what is near it.
    const { code, err } = await telltale(['query', '--symbol', 'runSesion'], cwd);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('Did you mean "runSession"?') });
    expect(err).toContain('No symbol is named "runSesion".');
    expect(await telltale(['query', '--path', 'ignored.ts'], cwd)).toMatchObject({
      code: 1,
      err: expect.stringContaining('"ignored.ts" is not in the graph of'),
    });
    expect(await telltale(['query', 'zzzz qqqq'], cwd)).toMatchObject({
      code: 0,
      out: 'Nothing in the graph has these words.\n',
    });
  });

  it.each([
    [['index', 'none'], 'There is no folder at'],
    [['index', 'src/sleep.ts'], 'is not a folder'],
    [['query', 'x', '--symbol', 'y', 'z'], 'Only one search at a time is possible'],
    [['query'], 'Nothing to search for was given'],
    [['query', 'x', '--limit', 'many'], "--limit 'many' is not a whole number"],
    [['indx'], `'indx' is not a memory command.`],
  ])('ends with 2 on %j', async (argv, message) => {
    const cwd = temporaryProject(FILES);
    const { code, err } = await telltale(argv, cwd);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) });
    expect(existsSync(join(cwd, '.telltale'))).toBe(false);
  });

  it('says how to build a graph where there is none, and makes no store by asking', async () => {
    const cwd = temporaryProject({ ...FILES, 'other/a.ts': '' });
    expect(await telltale(['stats'], cwd)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/There is no store[\s\S]*Build the graph first: telltale memory index\./),
    });
    expect(existsSync(join(cwd, '.telltale'))).toBe(false);
    await telltale(['index', 'src'], cwd);
    const { code, err } = await telltale(['query', 'other', 'text'], cwd);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('telltale memory index other') });
  });

  it('stops at Ctrl-C and says what is kept', async () => {
    const cwd = temporaryProject(FILES);
    const { code, err } = await telltale(['index'], cwd, (io) => setImmediate(io.interrupt));
    expect(code).toBe(130);
    expect(err).toContain('Stopped. ');
  });
});
