import { existsSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { sessionRuntimes } from '../../src/cli/command.ts';
import {
  countLines,
  makeRepository,
  nextLines,
  nodeOnPath,
  readTemplate,
  resumeLines,
} from '../../src/cli/demo/run-demo.ts';
import type { Io } from '../../src/cli/io.ts';
import { main } from '../../src/cli/main.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import { demoScreen, steadyScreen } from './demo-screen.ts';
import { SESSION } from './event-list.ts';
import { fakeRuntime } from './fake-runtime.ts';
import { type RecordedIo, type RecordedIoOptions, recordedIo } from './recorded-io.ts';

const TIMEOUT_MS = 60_000;

const newFolder = () => join(realpathSync(mkdtempSync(join(tmpdir(), 'telltale-demo-test-'))), 'work');

/** Real time, for real commands. */
function realIo(options: RecordedIoOptions = {}): { readonly recorded: RecordedIo; readonly io: Io } {
  const recorded = recordedIo({ env: { PATH: process.env.PATH }, ...options });
  return { recorded, io: { ...recorded, clock: createSystemClock() } };
}

describe('telltale demo', { timeout: TIMEOUT_MS }, () => {
  it.each([
    ['can be closed', {}],
    ['cannot be closed', { closeError: new RuntimeError('store_full', 'No space left.') }],
  ])(
    'ends with 1 where the log was lost and its store %s, and says why and how to go on',
    async (_, closing) => {
      const lost = { code: 'store_full', message: 'No space left.', hint: 'Make room.', retryable: true };
      const fake = fakeRuntime({
        live: () => ({ events: [], result: { session: SESSION, status: 'interrupted', error: lost } }),
        ...closing,
      });
      const runtimes = { ...fake, loadAgent: sessionRuntimes.loadAgent };
      const folder = `${newFolder()} of mine`;
      const { recorded, io } = realIo();
      expect(await main(['demo', '--dir', folder], io, undefined, runtimes)).toBe(1);
      expect(recorded.err()).toBe(
        `lost: No space left.\n  → Make room.\ninterrupted before its first turn\nResume with: telltale resume ${SESSION} --store '${join(folder, 'demo.db')}'\n`,
      );
    },
  );

  it.concurrent('changes real files, sees a test fail, fixes the code, and says what it changed and what to type next', async () => {
    const folder = newFolder();
    const { recorded, io } = realIo();
    expect(await main(['demo', '--dir', folder], io)).toBe(0);
    const out = recorded.out();
    expect(out).toContain('status PLANNING → CODING');
    expect(out).toMatch(/trigger\.fired +keep_changelog#0 starts run_/);
    expect(out).toMatch(/trigger\.fired +keep_docs#0 starts run_/);
    expect(out).toContain('run run_tests in ');
    expect(out).toContain('1 of 4 failed: --json gives amounts as the table does (1250 !== 12.5)');
    expect(out).toContain('The tests: all 4 passed.');
    expect(out).toMatch(/diff git in .*report\.js/);
    expect(out).toContain(
      '  project/CHANGELOG.md         +1 -0  by the workflow keep_changelog\n  project/README.md            +1 -1  by the workflow keep_docs\n  project/src/report.js        +3 -2\n',
    );
    expect(out).toContain(`export TELLTALE_STORE=${join(folder, 'demo.db')}\n`);
    expect(recorded.err()).toBe('');
    const text = (name: string) => readFileSync(join(folder, 'project', name), 'utf8');
    expect(text('README.md')).toContain('and the total; with --json, the expenses as JSON.\n');
    expect(text('CHANGELOG.md')).toContain(
      '## Unreleased\n\n- report --json prints the expenses as JSON.\n- The table',
    );

    const looked = realIo();
    const store = ['--store', join(folder, 'demo.db')];
    expect(await main(['show', 'last', ...store], looked.io)).toBe(0);
    expect(looked.recorded.out()).toContain('status: DONE');
  });

  it.concurrent('shows on a terminal of 80 columns what examples/coding/expected.screen.txt says', async ({
    expect,
  }) => {
    const { code, lines } = await demoScreen();
    expect(code).toBe(0);
    const hasPath = (line: string) => /telltale-demo-|\/again/.test(line);
    expect(lines.filter((line) => line.length > 80 && !hasPath(line))).toEqual([]);
    const ends = lines.filter((line) => /^ *⚙ ✓ keep_(?:docs|changelog) /.test(line));
    expect(ends.map((line) => /project\/[A-Z]+\.md/.exec(line)?.[0]).toSorted()).toEqual([
      'project/CHANGELOG.md',
      'project/README.md',
    ]);
    await expect(`${steadyScreen(lines.join('\n'))}\n`).toMatchFileSnapshot(
      fileURLToPath(new URL('../../../examples/coding/expected.screen.txt', import.meta.url)),
    );
  });

  it.concurrent('stops at Ctrl-C with 130, says how to go on, and goes on from there', async () => {
    const folder = newFolder();
    const { recorded, io } = realIo();
    const running = main(['demo', '--dir', folder, '--rate', '150'], io);
    await vi.waitFor(() => expect(recorded.out()).toContain('PLANNING → CODING'), TIMEOUT_MS);
    recorded.interrupt();
    expect(await running).toBe(130);
    expect(recorded.out()).not.toContain('Next:');
    const [, session = '', store = ''] = /resume (\S+) --store (\S+)/.exec(recorded.err()) ?? [];
    expect(store).toBe(join(folder, 'demo.db'));

    const script = readFileSync(join(folder, 'turns.yml'), 'utf8').replace(/^tokens_per_second.*$/m, '');
    writeFileSync(join(folder, 'instant.yml'), script);
    const resumed = realIo({ env: nodeOnPath({ PATH: process.env.PATH }, process.execPath) });
    const argv = ['resume', session, '--store', store, '--model', 'scripted:./instant.yml'];
    expect(await main(argv, resumed.io)).toBe(0);
    expect(resumed.recorded.out()).toContain('all 4 passed');
  });

  it('overwrites nothing', async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-demo-test-')));
    const file = join(folder, 'mine.txt');
    writeFileSync(file, 'mine');
    for (const [dir, problem] of [
      [folder, 'is not empty'],
      [file, 'is not a folder'],
    ] as const) {
      const io = recordedIo();
      expect(await main(['demo', '--dir', dir], io)).toBe(2);
      expect(io.err()).toContain(`--dir '${dir}' ${problem}.`);
    }
  });

  it('says where it cannot write, and what to do', async () => {
    const io = recordedIo();
    expect(await main(['demo', '--dir', '/nowhere/demo'], io)).toBe(1);
    expect(io.err()).toMatch(/Cannot create the demo in \/nowhere\/demo \(ENOENT\)\./);
    expect(io.err()).toContain('--dir DIR');
  });

  it('refuses a rate that is none', async () => {
    const io = recordedIo();
    expect(await main(['demo', '--rate', 'fast'], io)).toBe(2);
    expect(io.err()).toContain("--rate 'fast' is not a number above 0.");
  });
});

describe('the project of the demo', () => {
  it('is no git repository where there is no git', async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-demo-test-')));
    expect(await makeRepository(folder, { PATH: '/nowhere' })).toBe(false);
    expect(existsSync(join(folder, '.git'))).toBe(false);
    expect(await makeRepository(folder, { PATH: process.env.PATH, GIT_DIR: '/nowhere' })).toBe(true);
    expect(existsSync(join(folder, '.git'))).toBe(true);
  });
});

describe('what the demo says', () => {
  const workspace = { folder: '/tmp/x y', manifest: '/tmp/x y/agent.yml', store: '/tmp/x y/log.db' };

  it('is typed as the demo was', () => {
    const installed = { program: 'npx telltale' };
    expect(nextLines(workspace, installed)).toContain(
      '  npx telltale replay last    # watch the run again, event by event',
    );
    expect(nextLines(workspace, installed)).toContain("  export TELLTALE_STORE='/tmp/x y/log.db'");
    expect(resumeLines(workspace, installed)).toContain(
      "  npx telltale resume last --store '/tmp/x y/log.db'",
    );
  });

  it('names files of the package that are missing', async () => {
    await expect(readTemplate('/nowhere/coding')).rejects.toMatchObject({
      code: 'demo_missing',
      message: 'The files of the demo cannot be read at /nowhere/coding (ENOENT).',
    });
  });

  it('counts the lines that a change added and removed', () => {
    expect(countLines('a\nb\nc\n', 'a\nx\nc\nd\n')).toEqual({ added: 2, removed: 1 });
    expect(countLines('', 'a\n')).toEqual({ added: 1, removed: 0 });
    const text = fc
      .array(fc.constantFrom('a', 'b', 'c'), { minLength: 1 })
      .map((lines) => `${lines.join('\n')}\n`);
    fc.assert(
      fc.property(text, text, (before, after) => {
        const { added, removed } = countLines(before, after);
        expect(added - removed).toBe(after.split('\n').length - before.split('\n').length);
        expect(countLines(after, before)).toEqual({ added: removed, removed: added });
      }),
    );
  });
});
