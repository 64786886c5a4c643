import { describe, expect, it } from 'vitest';
import { causeLines, closingLines } from '../../../src/cli/view/closing-lines.ts';
import { describeEvent } from '../../../src/cli/view/describe-event.ts';
import { createEventLines, createPlainLines } from '../../../src/cli/view/plain-lines.ts';
import { stateJson, stateLines } from '../../../src/cli/view/state-lines.ts';
import { tableLines } from '../../../src/cli/view/text-width.ts';
import { frameOf } from '../../../src/lib/calls.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import type { EventBody } from '../../../src/log/event.ts';
import { fold } from '../../../src/log/reduce.ts';
import { displayWidth, plainPalette as paint } from '../../../src/manifest/format-diagnostic.ts';
import {
  actionStarted,
  completed,
  declared,
  eventList,
  SESSION,
  SHORT_RUN,
  started,
  turnStarted,
} from '../event-list.ts';

const fired = (fields: JsonObject): EventBody => ({
  type: 'trigger.fired',
  trigger: 'docs#0',
  workflow: 'docs',
  run: 'run_1',
  seen: { type: 'metadata_match', trigger: 'docs#0', workflow: 'docs', at: 0, as: 'enter', fields },
  chain: ['docs'],
});

describe('a log', () => {
  it('is a line for each event: seq, seconds, type, what it says', () => {
    const line = createEventLines({ columns: 100, paint });
    expect(SHORT_RUN.map(line)).toEqual([
      '    1     +0.000  session.started     fixer with scripted:turns.yml: Fix the test',
      '    2     +0.000  turn.started        turn 1, a prompt of 900 tokens',
      '    3     +0.200  model.output        <thought>Look first.',
      '    4     +0.250  thought             Look first. Then mend.',
      '    5     +0.300  action.declared     a1 run_tests path=src/x.ts flags=["-v"]',
      '    6     +0.301  action.started      a1 run_tests',
      '    7     +0.400  metadata.changed    status IDLE → CODING',
      '    8     +0.500  fault               stray_close, the model is told: There was a </b>.',
      '    9     +1.000  turn.completed      900 + 120 tokens, 1.0 s, $0.0031',
      '   10     +1.101  action.completed    a1 run_tests in 800 ms: 12 passed',
      '   11     +1.102  response            All **12** pass.',
      '   12     +1.103  session.completed   All **12** pass.',
    ]);
  });

  it('shows where a native call begins and ends', () => {
    const text = frameOf({ id: 'call_1', name: 'search', input: '{"q": "x"}' });
    const [event] = eventList([[0, { type: 'model.output', offset: 0, text }]]);
    expect(event === undefined ? '' : describeEvent(event, 100)).toBe(
      '␞{"id":"call_1","name":"search"} {"q": "x"}␞',
    );
  });

  it('says something in a narrow terminal, too', () => {
    const lines = SHORT_RUN.filter((event) => 'seq' in event).map(createEventLines({ columns: 40, paint }));
    expect(lines[0]).toBe('    1  session.started  fixer with scr…');
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(40);
  });

  it('never takes two lines for an event, nor more columns than there are', () => {
    const line = createEventLines({ columns: 60, paint });
    const events = eventList([
      [0, started({ input: 'a\nb'.repeat(500) })],
      [0, { type: 'response', text: '日本語\n'.repeat(500), final: false }],
      [
        0,
        {
          type: 'action.failed',
          id: 'x',
          error: { code: 'c', message: 'm\n'.repeat(90), retryable: true },
          ms: 4,
          attempts: 3,
        },
      ],
    ]);
    for (const text of events.map(line)) {
      expect(text).not.toContain('\n');
      expect(displayWidth(text)).toBeLessThanOrEqual(60);
    }
  });
});

describe('an event in words', () => {
  const error = { code: 'timeout', message: 'It took too long.', retryable: true };
  it.each<[string, EventBody]>([
    ['timeout: It took too long.', { type: 'session.failed', error }],
    ['timeout: It took too long.', { type: 'session.stalled', error }],
    ['by user: asked to', { type: 'session.cancelled', reason: 'asked to', by: 'user' }],
    ['by user', { type: 'session.resumed', by: 'user' }],
    ['for review 3', { type: 'session.waiting', for: 'review 3' }],
    ['timeout: It took too long; next try in 250 ms', { type: 'turn.failed', error, retry_in: 250 }],
    ['(not final) Hm.', { type: 'response', text: 'Hm.', final: false }],
    ['from steer: Stop that', { type: 'message.received', from: 'steer', text: 'Stop that' }],
    ['ann: approved', { type: 'audit', who: 'ann', what: 'approved' }],
    [
      'a2 llm sum sync after a1 text=x1',
      declared('a2', {
        kind: 'llm',
        name: 'sum',
        mode: 'sync',
        depends_on: ['a1'],
        parameters: { text: 'x1' },
      }),
    ],
    ['a1, try 2 n=1', { type: 'action.started', id: 'a1', attempt: 2, input: { n: 1 } }],
    [
      'a1 after 4 ms and 3 tries: timeout: It took too long.',
      { type: 'action.failed', id: 'a1', error, ms: 4, attempts: 3 },
    ],
    ['a1: dependency (a0)', { type: 'action.skipped', id: 'a1', reason: 'dependency', because: 'a0' }],
    [
      'a1, try 2 in 500 ms: timeout: It took too long.',
      { type: 'action.retrying', id: 'a1', attempt: 2, error, delay_ms: 500 },
    ],
    ['a1: over', { type: 'action.cancelled', id: 'a1', reason: 'over' }],
    ['a1 in try 1', { type: 'action.interrupted', id: 'a1', attempt: 1 }],
    ['a1 by a9', { type: 'action.compensated', id: 'a1', by: 'a9' }],
    [
      '$n 1 → 2 (derived, by trigger)',
      { type: 'variable.changed', name: 'n', class: 'derived', from: 1, to: 2, by: 'trigger' },
    ],
    [
      'status: no',
      {
        type: 'metadata.rejected',
        errors: [{ field: 'status', code: 'c', sent: 1, message: 'no', allowed: '' }],
        by: 'model',
      },
    ],
    [
      'vars.n > 1 could not be decided: n is unknown',
      { type: 'if.decided', test: 'vars.n > 1', held: false, problem: 'n is unknown' },
    ],
    ['2 for the turn, 8 left', { type: 'budget.charged', what: 'turn', amount: 2, balance: 8 }],
    ['turns up to 4: short', { type: 'prompt.compacted', through: 4, summary: 'short' }],
    ['t, due 1970-01-01T00:00:01.000Z', { type: 'timer.set', id: 't', due: 1000 }],
    ['t, due 1e+300', { type: 'timer.set', id: 't', due: 1e300 }],
    ['t', { type: 'timer.fired', id: 't' }],
    [
      'docs#0 starts run_1: status IDLE → CODING, context null → {"phase":"x"}',
      fired({
        status: { from: 'IDLE', to: 'CODING' },
        urgent: { from: false, to: false },
        context: { from: null, to: { phase: 'x' } },
        tags: { from: ['a'], to: ['a'] },
      }),
    ],
    [
      'docs#0 starts run_1: status CODING, context {"phase":"x"}',
      fired({
        status: { from: 'CODING', to: 'CODING' },
        context: { from: { phase: 'x' }, to: { phase: 'x' } },
      }),
    ],
    ['note {"a":1}', { type: 'custom', name: 'note', data: { a: 1 } }],
    ['notify: All is well.', { type: 'custom', name: 'notify', data: { message: 'All is well.' } }],
    [
      'notify ann: Fire! data={"floor":3}',
      { type: 'custom', name: 'notify', data: { message: 'Fire!', to: 'ann', data: { floor: 3 } } },
    ],
    ['notify {"message":1}', { type: 'custom', name: 'notify', data: { message: 1 } }],
  ])('says "%s"', (said, body) => {
    expect(describeEvent(eventList([[0, body]])[0] as never, 100)).toBe(said);
  });
});

describe('a run in a pipe', () => {
  it('is lines that begin with the type, whole texts among them', () => {
    const lines = createPlainLines();
    expect(SHORT_RUN.flatMap(lines)).toEqual([
      `session.started   ${SESSION} fixer with scripted:turns.yml: Fix the test`,
      'turn.started      turn 1, a prompt of 900 tokens',
      'thought           Look first.',
      '                  Then mend.',
      'action.declared   a1 run_tests path=src/x.ts flags=["-v"]',
      'metadata.changed  status IDLE → CODING',
      'fault             The model closed a tag that was not open. [stray_close]',
      'turn.completed    900 + 120 tokens, 1.0 s, $0.0031',
      'action.completed  a1 run_tests in 800 ms: 12 passed',
      'response          All **12** pass.',
    ]);
  });

  it('keeps the longest type apart from what it says', () => {
    const [, ...lines] = eventList([
      [0, started()],
      [1, { type: 'action.interrupted', id: 'a1', attempt: 1 }],
    ]).flatMap(createPlainLines());
    expect(lines).toEqual(['action.interrupted a1 in try 1']);
  });
});

describe('a message for the model', () => {
  const events = eventList([
    [0, { type: 'message.received', from: 'runtime', text: 'Call complete_step.' }],
    [1, { type: 'fault', code: 'step_open', message: 'End it with complete_step.' }],
    [2, { type: 'task.answered', task: 't', nth: 1, by: 'runtime', text: 'Complete it again.' }],
  ]);

  it('is not printed to people by a run', () => {
    const lines = events.flatMap(createPlainLines());
    expect(lines).toHaveLength(3);
    expect(lines.join('\n')).not.toMatch(/complete_step|Complete it/);
  });

  it('is shown by logs as what the model was told', () => {
    const lines = events.map(createEventLines({ columns: 100, paint }));
    for (const line of lines) expect(line).toContain('the model is told: ');
    expect(lines[1]).toContain('step_open, the model is told: End it with complete_step.');
  });
});

describe('the last lines of a run', () => {
  const times = { workedMs: 64_000, saved: { early: 0, savedMs: 0 } };
  const result = {
    session: SESSION,
    turns: 1,
    usage: { input: 1200, output: 1, estimated: true as const },
    cost_usd: 0,
  };
  it('say how it ended and what it took', () => {
    expect(closingLines({ ...result, status: 'completed' }, times, paint)).toEqual([
      '✓ completed  1 turn · about 1,200 + 1 token · 1 min 4 s',
    ]);
    expect(closingLines({ ...result, status: 'failed', cost_usd: 1.5 }, times, paint)[0]).toContain(
      '✗ failed  1 turn · about 1,200 + 1 token · $1.50',
    );
  });
});

it('a chat that was left between two messages is paused, and what was not used is not counted', () => {
  const result = {
    session: SESSION,
    status: 'interrupted' as const,
    turns: 0,
    usage: { input: 0, output: 0 },
    cost_usd: 0,
  };
  const took = (isIdle: boolean) =>
    closingLines(result, { workedMs: 10, saved: { early: 0, savedMs: 0 }, isIdle }, paint);
  expect(took(true)).toEqual(['– paused  10 ms']);
  expect(took(false)).toEqual(['– interrupted  10 ms']);
});

describe('a state', () => {
  it('is what a person asks of a session', () => {
    const events = eventList([
      [0, started({ vars: { tone: 'dry' } })],
      [0, turnStarted],
      [10, declared('a1')],
      [20, actionStarted('a1')],
      [30, completed('a1', 10, { passed: 12 })],
      [40, declared('a2', { name: 'deploy' })],
      [50, { type: 'action.skipped', id: 'a2', reason: 'if' }],
      [60, declared('a3', { name: 'wait' })],
      [61, declared('a4', { name: 'deploy' })],
      [62, actionStarted('a4')],
      [63, { type: 'action.interrupted', id: 'a4', attempt: 1 }],
      [64, declared('a5', { name: 'deploy' })],
      [65, { type: 'action.cancelled', id: 'a5', reason: 'not needed' }],
      [66, declared('a6', { name: 'deploy' })],
      [67, { type: 'action.skipped', id: 'a6', reason: 'dependency', because: 'a4' }],
      [70, { type: 'metadata.changed', changes: { status: { from: null, to: 'CODING' } }, by: 'model' }],
      [80, { type: 'response', text: 'So far.\nSo good.', final: false }],
    ]);
    expect(stateLines(fold(events), { columns: 100, paint, status: 'running', pid: 42 })).toEqual([
      `session    ${SESSION}`,
      'agent      fixer (/p/agent.yml)',
      'model      scripted:turns.yml',
      'status     running, process 42',
      'input      Fix the test',
      'started    2026-01-01T12:00:00.000Z, last event 80 ms later',
      'event      17',
      'totals     0 turns · 0 + 0 tokens',
      '',
      'Metadata',
      '  status: CODING',
      '',
      'Variables',
      '  $tone = dry (runtime, by start)',
      '',
      'Actions',
      '  ✓ a1 run_tests  10 ms  {"passed":12}',
      '  – a2 deploy  skipped: if',
      '  ○ a3 wait',
      '  ! a4 deploy  interrupted: whether it took effect is not known',
      '  – a5 deploy  cancelled: not needed',
      '  – a6 deploy  skipped: dependency (a4)',
      '',
      'Last response (not final)',
      '  So far.',
      '  So good.',
    ]);
  });

  it('has the feeds as the log knows them: values with their age, failures, those that came and went', () => {
    const error = { code: 'not_found', message: 'No such file.', retryable: false };
    const updated = {
      type: 'feed.updated',
      id: 'tide',
      tokens: 2,
      loaded_at: Date.UTC(2026, 0, 1, 12),
    } as const;
    const events = eventList([
      [0, started()],
      [0, { ...updated, value: 'low', told: true }],
      [1, { ...updated, id: 'builtin:memory', value: 'a.ts', told: true }],
      [5, { type: 'feed.failed', id: 'log', error, times: 1 }],
      [6, { type: 'feed.added', id: 'mine', feed: { id: 'mine' }, by: 'model' }],
      [7, { type: 'feed.removed', id: 'old', by: 'model', declared: true }],
      [8, { type: 'feed.removed', id: 'builtin:news', by: 'runtime' }],
      [1000, { type: 'feed.failed', id: 'tide', error, times: 1 }],
    ]);
    const state = fold(events);
    const lines = stateLines(state, { columns: 100, paint, status: 'running' });
    expect(lines.slice(lines.indexOf('Feeds'))).toEqual([
      'Feeds',
      '  $tide = low (2 tokens, loaded 1.0 s before) fails: not_found: No such file.',
      '  builtin:memory = a.ts (2 tokens, loaded 1.0 s before)',
      '  $log (no value yet) fails: not_found: No such file.',
      '  $mine (no value yet, by model)',
      '  $old (removed)',
      '  builtin:news (switched off)',
    ]);
    expect(stateJson(state, { status: 'running' })).toMatchObject({
      feeds: [
        {
          id: 'tide',
          value: 'low',
          tokens: 2,
          loaded: '2026-01-01T12:00:00.000Z',
          failing: { error, times: 1 },
        },
        { id: 'builtin:memory', value: 'a.ts' },
        { id: 'log', failing: { error } },
        { id: 'mine', definition: { id: 'mine' }, by: 'model' },
        { id: 'old', removed: true },
      ],
      feeds_off: ['builtin:news'],
    });
  });

  it('of a huge session is not the whole of it', () => {
    const many = Array.from({ length: 500 }, (_, index) => [index, declared(`a${index}`)] as const);
    const events = eventList([
      [0, started()],
      ...many,
      [999, { type: 'response', text: 'x\n'.repeat(1000), final: true }],
    ]);
    const lines = stateLines(fold(events), { columns: 80, paint, status: 'completed' });
    expect(lines.length).toBeLessThan(120);
    expect(lines).toContain('  … 450 older actions: --json shows all');
    expect(lines.at(-1)).toBe('  … 961 more lines: --json shows all');
  });
});

describe('a chain of causes', () => {
  it('names a stream where it enters it, and says where it begins', () => {
    const [child] = eventList([
      [0, { type: 'fault', code: 'c', message: 'm' }, { stream: 'ses_parent', seq: 1, depth: 1 }],
    ]);
    const [parent] = eventList([[0, started()]], 'ses_parent');
    const events = [child, parent].filter((event) => event !== undefined);
    expect(causeLines({ events }, { columns: 100, paint })).toEqual([
      '1 fault  c, the model is told: m',
      '  └ because ses_parent 1 session.started  fixer with scripted:turns.yml: Fix the test',
      '    └ from outside: started by a person or a program',
    ]);
    const lost = { stream: 'ses_gone', seq: 7, depth: 0 };
    expect(causeLines({ events, lost }, { columns: 100, paint }).at(-1)).toContain(
      'because of event 7 of ses_gone, which is no longer in this store',
    );
  });
});

describe('a table', () => {
  it('lines up wide characters, and shortens the column that gives way', () => {
    const head = [
      { title: 'A' },
      { title: 'N', align: 'right' as const },
      { title: 'TEXT', gives: true as const },
    ];
    const rows = [
      ['日本', '1', 'short'],
      ['x', '200', 'a text that is too long'],
    ];
    expect(tableLines(head, rows, { columns: 24 })).toEqual([
      'A       N  TEXT',
      '日本    1  short',
      'x     200  a text that…',
    ]);
    expect(tableLines(head, rows, {})[2]).toBe('x     200  a text that is too long');
  });

  it('gives that column rows of its own where too little is left for it', () => {
    const head = [{ title: 'REVIEW' }, { title: 'QUESTION', gives: true as const }, { title: 'BY' }];
    const rows = [
      ['rev_01m7v4t2b7dj2nd3yyr4z9hkf4', 'May the agent publish version 1.4.0 of the package?', 'ann'],
    ];
    expect(tableLines(head, rows, { columns: 44 })).toEqual([
      'REVIEW                          BY',
      'rev_01m7v4t2b7dj2nd3yyr4z9hkf4  ann',
      '    May the agent publish version 1.4.0 of…',
    ]);
  });
});
