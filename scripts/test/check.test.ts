import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseCLI } from 'vitest/node';
import { readArguments } from '../check/check-arguments.ts';
import { unpairedExamples } from '../check/examples.ts';
import { seedOf } from '../check/seed.ts';
import { closingLines, oneCheck, strict, together } from '../check/stage-result.ts';
import { ROUNDS, STAGES } from '../check/stages.ts';
import { vitestArguments } from '../check/vitest-arguments.ts';
import { readVitestReport } from '../check/vitest-report.ts';

describe('the arguments of npm test', () => {
  const known = ['format', 'types', 'unit'];
  const read = (...argv: readonly string[]) => readArguments(argv, known, new Set(['unit']));

  test('none means every stage', () => {
    expect(read()).toEqual({
      ok: true,
      value: { mode: 'run', stages: known, update: false, strict: false, seed: undefined, filters: [] },
    });
  });

  test('--only chooses stages, which keep their order', () => {
    expect(read('--only', 'unit,format')).toMatchObject({ value: { stages: ['format', 'unit'] } });
    expect(read('--only', 'unit', '--only=format')).toMatchObject({ value: { stages: ['format', 'unit'] } });
  });

  test('a stage that does not exist is an error with the nearest name', () => {
    expect(read('--only', 'tpyes')).toEqual({
      ok: false,
      error: 'There is no stage "tpyes". Did you mean "types"?',
    });
    expect(read('--only', 'xxxxxxxxx')).toMatchObject({
      error: expect.stringContaining('Stages: format, types, unit.'),
    });
    expect(read('--only', '')).toMatchObject({ ok: false });
  });

  test('an option that does not exist is an error', () => {
    expect(read('--onyl', 'unit')).toEqual({
      ok: false,
      error: `Unknown option '--onyl'. "npm test -- --help" lists the options.`,
    });
    expect(read('--list=5')).toMatchObject({
      ok: false,
      error: expect.stringMatching(/argument\. "npm test/),
    });
  });

  test('other words choose test files, in stages that have some', () => {
    expect(read('--only', 'unit', 'duration')).toMatchObject({ value: { filters: ['duration'] } });
    expect(read('duration')).toMatchObject({ ok: false, error: expect.stringContaining('--only unit') });
  });
});

describe('the seed of random tests', () => {
  const read = (...argv: readonly string[]) => readArguments(argv, ['unit'], new Set(['unit']));

  test('is the same for a commit wherever it is checked, and another for another', () => {
    const commits = ['56b18f2698aa', 'ffffffff98aa', '00000001', '', 'fatal: not a git repository'];
    expect(commits.map(seedOf)).toEqual([0x56b18f26 >>> 1, 0x7fffffff, 0, 1, 1]);
  });

  test('may be given as fast-check prints it', () => {
    expect(read('--seed', '7')).toMatchObject({ value: { seed: 7 } });
    expect(read('--seed=-1513043771')).toMatchObject({ value: { seed: -1_513_043_771 } });
    for (const wrong of ['x', '1.5', '4294967296', ''])
      expect(read(`--seed=${wrong}`)).toMatchObject({ error: expect.stringContaining(`not "${wrong}"`) });
  });

  test('is what fast-check takes where a test names none', () => {
    const { CHECK_SEED } = process.env;
    const { seed } = fc.check(
      fc.property(fc.nat(), () => true),
      { numRuns: 1 },
    );
    // By hand, without the check, it names none.
    expect(seed === Number(CHECK_SEED)).toBe(CHECK_SEED !== undefined);
  });
});

describe('what vitest is asked for', () => {
  const asked = (update: boolean, ...filters: readonly string[]) => {
    const { filter, options } = parseCLI([
      'vitest',
      ...vitestArguments('unit', 'report.json', { update, filters }),
    ]);
    return { filter, update: options.update };
  };

  test('are the files that were named, whether or not snapshots are written anew', () => {
    expect(asked(false, 'duration', 'clock')).toEqual({ filter: ['duration', 'clock'], update: undefined });
    expect(asked(true, 'duration', 'clock')).toEqual({ filter: ['duration', 'clock'], update: 'all' });
  });
});

describe('a run of vitest', () => {
  const file = (status: string, ...tests: readonly (readonly [string, string])[]) => ({
    name: '/clone/a.test.ts',
    status,
    assertionResults: tests.map(([title, state]) => ({ ancestorTitles: ['of a'], title, status: state })),
  });
  const read = (code: number, ...testResults: ReturnType<typeof file>[]) =>
    readVitestReport({ testResults }, { code, output: 'said' }, '/clone');

  test('counts its tests one by one', () => {
    expect(read(1, file('failed', ['a', 'passed'], ['b', 'failed']))).toEqual({
      passed: 1,
      failures: ['a.test.ts > of a > b'],
      output: 'said',
    });
  });

  test.each(['skipped', 'todo', 'pending'])('with a test that is %s has failed', (status) => {
    expect(read(0, file('passed', ['a', 'passed'], ['b', status])).failures).toEqual([
      `did not run (${status}): a.test.ts > of a > b`,
    ]);
  });

  test('with a test that lacks a server has not failed: it is named, with what mends it', () => {
    const missing = { what: 'redis-server is not installed', mend: 'apt-get install redis-server' };
    const { name, status } = file('passed');
    const skipped = { ancestorTitles: [''], title: 'b', status: 'skipped', meta: { missing } };
    const result = readVitestReport(
      { testResults: [{ name, status, assertionResults: [skipped] }] },
      { code: 0, output: '' },
      '/clone',
    );
    const line = 'a.test.ts > b (redis-server is not installed; mend it with: apt-get install redis-server)';
    expect(result).toEqual({ passed: 0, failures: [], skipped: [line], output: '' });
    expect(strict(result)).toEqual({ passed: 0, failures: [`did not run: ${line}`], output: '' });
  });

  test('without any test has failed', () => {
    expect(read(0).failures).toEqual(['no test was run (exit code 0)']);
    expect(read(0, file('passed')).failures).toEqual(['a.test.ts holds no test']);
  });

  test('with a file that cannot be loaded has failed', () => {
    expect(read(1, file('failed')).failures).toEqual(['a.test.ts could not be run']);
  });

  test('with an error outside of every test has failed', () => {
    expect(read(1, file('passed', ['a', 'passed'])).failures).toEqual(['vitest ended with exit code 1']);
  });

  test('that left no report has failed', () => {
    expect(readVitestReport(undefined, { code: 1, output: '' }, '/clone')).toMatchObject({
      passed: 0,
      failures: ['no test was run (exit code 1)'],
    });
  });
});

describe('the end of the check', () => {
  const report = { stage: 'unit', tookMs: 1, output: '' };

  test('is the two numbers alone if all is well', () => {
    expect(closingLines([{ ...report, passed: 3, failures: [] }])).toEqual(['', '3 passed, 0 failed']);
  });

  test('counts what was skipped, and names it', () => {
    expect(closingLines([{ ...report, passed: 3, failures: [], skipped: ['a (why)'] }])).toEqual([
      'Skipped:',
      '  unit: a (why)',
      '',
      '3 passed, 0 failed, 1 skipped',
    ]);
  });

  test('lists what failed before the two numbers', () => {
    const reports = [
      { ...report, passed: 3, failures: ['a', 'b'] },
      { ...report, stage: 'types', ...oneCheck('tsc -b', { code: 2, output: '' }) },
    ];
    expect(closingLines(reports)).toEqual([
      'Failed:',
      '  unit: a',
      '  unit: b',
      '  types: tsc -b (exit code 2)',
      '',
      '3 passed, 3 failed',
    ]);
  });

  test('adds up the parts of a stage', () => {
    const parts = [oneCheck('a', { code: 0, output: 'x' }), oneCheck('b', { code: 1, output: 'y' })];
    expect(together(parts)).toEqual({ passed: 1, failures: ['b (exit code 1)'], output: 'x\ny' });
  });
});

test('an example without a test, and a test without an example, are found', () => {
  expect(
    unpairedExamples({
      folders: ['hello', 'alone', 'quiet'],
      expecting: ['hello', 'alone'],
      tests: ['hello', 'lost'],
    }),
  ).toEqual([
    'examples/alone has no test: write telltale/test/examples/alone.test.ts',
    'telltale/test/examples/lost.test.ts tests an example that is not there',
  ]);
});

test('every stage runs in one lane of one round', () => {
  expect(ROUNDS.flat(2).sort()).toEqual(STAGES.map(({ name }) => name).sort());
});
