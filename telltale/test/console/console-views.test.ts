import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { allows } from '../../../console/src/data/allows.ts';
import { bandLook } from '../../../console/src/format/band-look.ts';
import { formatDuration } from '../../../console/src/format/format-duration.ts';
import { formatCost, formatCount, formatWhole } from '../../../console/src/format/format-number.ts';
import { formatRelative } from '../../../console/src/format/format-time.ts';
import { placeSpans } from '../../../console/src/format/place-spans.ts';
import { healthOf } from '../../../console/src/pages/agents/health-of.ts';
import { problemsElsewhere, problemsOf } from '../../../console/src/pages/agents/problems-of.ts';
import { answersOf, withWords } from '../../../console/src/pages/reviews/answers-of.ts';
import { nextReview } from '../../../console/src/pages/reviews/next-review.ts';
import { questionOf, reasonOf } from '../../../console/src/pages/reviews/review-words.ts';
import { sessionRows } from '../../../console/src/pages/sessions/session-rows.ts';
import { statusField } from '../../../console/src/pages/sessions/status-field.ts';
import { declaredVariables, readVariables } from '../../../console/src/pages/start/start-variables.ts';
import { homeOf } from '../../../console/src/shell/nav-items.ts';
import { readKey } from '../../../console/src/shell/shortcuts.ts';
import { titleOf } from '../../../console/src/shell/title-of.ts';
import type { ManifestProblem } from '../../src/client/api.ts';
import { emptySummary } from '../../src/log/session-summary.ts';

describe('figures', () => {
  test.each([
    [0, '0 ms'],
    [0.4, '< 1 ms'],
    [320, '320 ms'],
    [4_240, '4.2 s'],
    [59_949, '60 s'],
    [59_990, '1 min 00 s'],
    [187_000, '3 min 07 s'],
    [7_500_000, '2 h 05 min'],
    [273_600_000, '3 d 4 h'],
    [-5, '0 ms'],
  ])('%d ms are told as %s', (ms, told) => expect(formatDuration(ms)).toBe(told));

  test.each([
    [0, '0'],
    [999, '999'],
    [999.6, '1k'],
    [1_234, '1.2k'],
    [34_400, '34k'],
    [999_900, '1M'],
  ])('%d tokens are told as %s', (count, told) => expect(formatCount(count)).toBe(told));

  test('whole numbers are grouped by thousands', () => {
    fc.assert(fc.property(fc.nat(), (count) => formatWhole(count) === count.toLocaleString('en')));
  });

  test('a cost that is not nothing is never told as nothing', () => {
    expect([0, 0.00001, 0.0042, 0.124, 13.4].map(formatCost)).toEqual([
      '$0',
      '< $0.0001',
      '$0.0042',
      '$0.12',
      '$13.40',
    ]);
  });

  test('times of today are told as ages, and what is to come as such', () => {
    const now = 1_000_000_000;
    expect([now, now - 12_000, now - 300_000, now + 3_700_000].map((at) => formatRelative(at, now))).toEqual([
      'now',
      '12 s ago',
      '5 min ago',
      'in 1 h',
    ]);
  });
});

describe('bands', () => {
  test('the same value always looks the same, and a value that was not declared is no band', () => {
    expect(bandLook('CODING')).toEqual(bandLook('CODING'));
    expect(bandLook(null).none).toBe(true);
  });

  test('the usual states are told apart by hue or pattern', () => {
    const words = ['PLANNING', 'READING', 'CODING', 'TESTING', 'REVIEWING', 'DONE', 'IDLE', 'WRITING'];
    const looks = words.map((word) => `${bandLook(word).hue}/${bandLook(word).pattern}`);
    expect(new Set(looks).size).toBe(words.length);
  });

  test('bands fill the time from beginning to end, without gap or overlap', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 1_000 }), { minLength: 1, maxLength: 30 }), (times) => {
        const spans = times.toSorted((a, b) => a - b).map((at, seq) => ({ value: seq, at, seq }));
        const placed = placeSpans(spans, 0, 1_000);
        expect(placed.reduce((sum, { ms }) => sum + ms, 0)).toBe(1_000);
      }),
    );
  });

  test('the field that is named as states usually are is the one that a list shows', () => {
    const spans = [{ value: 'A', at: 1, seq: 1 }];
    expect(statusField({ bands: { mood: spans, status: spans } })?.field).toBe('status');
    expect(statusField({ bands: { mood: spans } })?.field).toBe('mood');
    expect(statusField({ bands: {} })).toBeUndefined();
  });
});

describe('rows of sessions', () => {
  const session = (id: string, parent?: string, title = id) => ({
    ...emptySummary(id),
    title,
    ...(parent === undefined ? {} : { parent }),
  });
  const all = [session('c', 'b'), session('b', 'a'), session('d'), session('a'), session('x', 'elsewhere')];
  const shape = (subAgents: boolean, search = '') =>
    sessionRows(all, { subAgents, search }).map((row) => `${row.session.id}${row.depth}`);

  test('sub-agents are left out, or stand below who called them', () => {
    expect(shape(false)).toEqual(['d0', 'a0']);
    expect(shape(true)).toEqual(['d0', 'a0', 'b1', 'c2', 'x0']);
  });

  test('a caller says how many it called, also where they are left out', () => {
    expect(sessionRows(all, { subAgents: false, search: '' }).map(({ children }) => children)).toEqual([
      0, 1,
    ]);
  });

  test('a search finds what holds every word, in whatever order and case', () => {
    const rows = sessionRows(
      [session('a', undefined, 'Add a JSON flag'), session('b', undefined, 'Add docs')],
      { subAgents: false, search: 'json add' },
    );
    expect(rows.map((row) => row.session.id)).toEqual(['a']);
  });
});

describe('agents', () => {
  const problem = (file: string, line: number, severity: ManifestProblem['severity'] = 'error') => ({
    file,
    line,
    severity,
    column: 1,
    code: 'c',
    message: 'm',
  });

  test('a problem stands at its line, in a file that is named from another folder, too', () => {
    const file = { path: '/srv/agents/a/agent.yml', text: 'one\ntwo\n' };
    const found = problemsOf(file, [problem('agents/a/agent.yml', 2), problem('b.yml', 1)]);
    expect([...found.keys()]).toEqual([2]);
  });

  test('a problem behind the last line stands at the last line, one of no file shown is told apart', () => {
    const file = { path: 'a.yml', text: 'one\ntwo\n' };
    expect([...problemsOf(file, [problem('a.yml', 9)]).keys()]).toEqual([2]);
    expect(problemsElsewhere([file], [problem('a.yml', 9), problem('b.yml', 1)])).toHaveLength(1);
  });

  test('a broken edit says from when the version in use is', () => {
    const loadedAt = new Date(2026, 10, 15, 12, 3).getTime();
    const broken = [problem('a.yml', 1)];
    expect(healthOf({ usable: true, problems: broken, loadedAt })).toEqual({
      kind: 'old',
      text: '1 error: the version from 12:03 is in use',
    });
    expect(healthOf({ usable: false, problems: broken, loadedAt }).kind).toBe('broken');
    expect(healthOf({ usable: true, problems: [problem('a.yml', 1, 'warning')], loadedAt }).kind).toBe(
      'warned',
    );
    expect(healthOf({ usable: true, problems: [], loadedAt }).kind).toBe('fine');
  });
});

describe('starting', () => {
  test('variables that the manifest declares are offered, derived ones are not', () => {
    const manifest = {
      context_variables: {
        defined: [{ name: 'style', default: 'short', description: 'How' }],
        runtime: [{ name: 'tries', default: 0 }, 'junk'],
        derived: [{ name: 'ready' }],
      },
    };
    expect(declaredVariables(manifest).map(({ name, fallback }) => [name, fallback])).toEqual([
      ['style', '"short"'],
      ['tries', '0'],
    ]);
    expect(declaredVariables(null)).toEqual([]);
  });

  test('what is typed is JSON where it is JSON, else text; what is empty is not given', () => {
    const typed = (name: string, value: string) => ({ name, value, declared: false });
    const variables = [typed('n', '3'), typed('t', 'two words'), typed('o', '{"a":1}'), typed('e', ' ')];
    expect(readVariables(variables)).toEqual({ n: 3, t: 'two words', o: { a: 1 } });
  });
});

/** A review, as far as its words and answers need it. */
const asked = { of: 'session', agent: 'coder', action: 'd', target: 'tool "deploy"', because: '' } as const;

describe('answers', () => {
  test('a question without options is answered by yes or no, with a key each', () => {
    const answers = answersOf({ ...asked, kind: 'permission', what: 'call tool "deploy"' });
    expect(answers.map(({ key, answer }) => [key, answer.answer])).toEqual([
      ['a', 'approved'],
      ['r', 'rejected'],
    ]);
    expect(withWords(answers[1]!, ' too early ')).toEqual({ answer: 'rejected', note: 'too early' });
    const offered = answersOf({ ...asked, kind: 'permission', what: '', always: 'every call of it' });
    expect(offered.map(({ answer }) => answer)).toEqual([
      { answer: 'approved' },
      { answer: 'approved', always: true },
      { answer: 'rejected' },
    ]);
    expect(offered[1]?.effect).toContain('every call of it');
  });

  test('the options of a question are its answers, and no key gives one by accident', () => {
    const answers = answersOf({
      ...asked,
      kind: 'approval',
      what: 'Who?',
      options: ['everybody', 'a tenth'],
    });
    expect(answers.map(({ answer, key }) => [answer.choice, key])).toEqual([
      ['everybody', undefined],
      ['a tenth', undefined],
    ]);
    expect(new Set(answers.map(({ effect }) => effect)).size).toBe(1);
  });

  test('an agent that is stuck is not let pass, and tries again only with words', () => {
    const [retry, fail] = answersOf({
      ...asked,
      kind: 'escalation',
      what: 'It is stuck.',
      options: ['retry', 'fail'],
    });
    expect(withWords(retry!, '  ')).toBeUndefined();
    expect(withWords(retry!, 'Mend the tests.')).toEqual({ text: 'Mend the tests.' });
    expect(withWords(fail!, '')).toEqual({ choice: 'fail' });
  });

  test('to pass a disputed turn lets the agent continue, and the question leaves out what the buttons say', () => {
    const meaning =
      'pass: the agent goes on. retry: it goes on with your note as its instruction. fail: the step fails.';
    const what = `The step "fix" needs a decision.\n\nThe step:\nFix it.\n\n${meaning}`;
    const review = { ...asked, kind: 'escalation' as const, what, options: ['pass', 'retry', 'fail'] };
    expect(answersOf(review).map(({ label }) => label)).toEqual([
      'Let it continue',
      'Try again',
      'Fail the step',
    ]);
    expect(questionOf(review)).toEqual({
      title: 'The step "fix" needs a decision.',
      exact: 'The step:\nFix it.',
    });
  });
});

describe('the words of reviews', () => {
  const permission = (what: string, because: string) => ({
    ...asked,
    kind: 'permission' as const,
    what,
    because,
  });

  test.each([
    [permission('call tool "deploy"', ''), 'May coder call the tool deploy?', undefined],
    [permission('rm -r build', 'permissions: { shell }'), 'May coder run this command?', 'rm -r build'],
    [permission('GET https://a.example/', 'x'), 'May coder send this request?', 'GET https://a.example/'],
    [permission('write "../notes.md"', 'x'), 'May coder write "../notes.md"?', undefined],
    [
      permission('call tool "deploy"\nGET https://a.example/', 'a; b'),
      'May coder do this?',
      expect.any(String),
    ],
    [permission('change "agent.yml", which is loaded\n\n- a\n+ b', 'x'), expect.any(String), '- a\n+ b'],
    [{ ...asked, kind: 'approval' as const, what: 'Ship it?', workflow: 'w' }, 'Ship it?', undefined],
  ])('asks what a person would ask, and shows word for word what runs (%#)', (review, title, exact) => {
    expect(questionOf(review)).toEqual({ title, ...(exact === undefined ? {} : { exact }) });
  });

  test('says why it asks and what each answer leads to, for a session and for a run', () => {
    expect(
      reasonOf(permission('', 'approval: always of tool "deploy"; permissions: { network: { ask } }')),
    ).toBe(
      'The tool deploy needs approval each time (approval: always). The agent may not reach this host without approval (permissions.network.ask).',
    );
    expect(reasonOf({ kind: 'confirm', because: 'the step "ship" begins once a person confirms it' })).toBe(
      'The step "ship" begins once a person confirms it.',
    );
    const effects = (of: 'session' | 'run') =>
      answersOf({ ...asked, of, kind: 'permission', what: '' }).map(({ effect }) => effect);
    expect(effects('session')[1]).toContain('coder is told so');
    expect(effects('run')[1]).toContain('the step "d" fails');
  });
});

describe('moving through the inbox', () => {
  const inbox = { open: ['a', 'b', 'c'], answered: ['x', 'y'] };

  test('j and k go through what is open and then through what was answered, and stop at the ends', () => {
    expect(nextReview('j', undefined, inbox, undefined)).toBe('a');
    expect(nextReview('j', 'c', inbox, 2)).toBe('x');
    expect(nextReview('k', 'a', inbox, 0)).toBeUndefined();
  });

  test('from one that was just answered, j leads to what took its place', () => {
    expect(nextReview('j', 'x', inbox, 1)).toBe('b');
    expect(nextReview('k', 'x', inbox, 1)).toBe('a');
    expect(nextReview('j', 'x', inbox, 3)).toBe('c');
  });
});

describe('the shell', () => {
  test('g and a letter lead to a page, any other second key to nothing', () => {
    expect(readKey('g', undefined)).toBe('begins');
    expect(readKey('r', 'g')).toEqual({ kind: 'go', path: '/reviews' });
    expect(readKey('n', 'g')).toBeUndefined();
    expect(readKey('n', undefined)).toEqual({ kind: 'go', path: '/start' });
  });

  test('the title says how many reviews wait', () => {
    expect(titleOf('Sessions', 0)).toBe('Sessions – Telltale');
    expect(titleOf('Sessions', 2)).toBe('(2) Sessions – Telltale');
  });

  test('the page of a run belongs to workflows', () => {
    expect([homeOf('/runs/run_1'), homeOf('/sessions/ses_1'), homeOf('/')]).toEqual([
      '/workflows',
      '/sessions',
      '/',
    ]);
  });

  test('a role may do what the ones before it may', () => {
    expect([allows('run', 'read'), allows('run', 'admin'), allows('admin', 'admin')]).toEqual([
      true,
      false,
      true,
    ]);
  });
});
