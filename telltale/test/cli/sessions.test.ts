import { userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { signer } from '../../src/cli/program.ts';
import { streamToResume } from '../../src/cli/session/find-session.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import {
  actionStarted,
  declared,
  eventList,
  SESSION,
  SHORT_RUN,
  started,
  turnStarted,
} from './event-list.ts';
import { type FakeOptions, fakeRuntime } from './fake-runtime.ts';
import { recordedIo } from './recorded-io.ts';
import { begin, command } from './run-command.ts';

const OTHER = 'ses_01jc0000000000000000000xyz';
const RUNNING = eventList(
  [
    [-60_000, started({ input: 'Write\ndocs' })],
    [-59_000, turnStarted],
  ],
  OTHER,
);
const BOTH: FakeOptions = {
  logs: [SHORT_RUN, RUNNING],
  infos: { [OTHER]: { owner: { pid: 4711, startedAt: 0, epoch: 1 } } },
};
/** The same, but the process that worked on the second is gone. */
const LEFT: FakeOptions = { logs: [SHORT_RUN, RUNNING] };

describe('telltale sessions', () => {
  it('lists them, newest first, with who works on them', async () => {
    const { code, out } = await command(['sessions'], BOTH);
    expect(code).toBe(0);
    expect(
      out.split('\n').map((line) => line.replace(/ {2,}/g, '|').replace(/\d+ \w+ ago|just now/, 'AGO')),
    ).toEqual([
      'SESSION|AGENT|STATUS|STARTED|EVENTS|PID|INPUT',
      expect.stringMatching(`${SESSION}\\|fixer\\|completed\\|.*\\|12\\|Fix the test`),
      expect.stringMatching(`${OTHER}\\|fixer\\|running\\|.*\\|2\\|4711\\|Write docs`),
      '',
    ]);
  });

  it('calls interrupted what would go on if somebody worked on it', async () => {
    const { out } = await command(['sessions', '--status', 'interrupted', '--json'], LEFT);
    expect(JSON.parse(out)).toMatchObject([{ session: OTHER, status: 'interrupted', pid: null, events: 2 }]);
    expect((await command(['sessions', '--status', 'running'], LEFT)).out).toContain('No sessions');
  });

  it('says that there are more than the limit', async () => {
    expect((await command(['sessions', '--limit', '1'], BOTH)).out).toContain(
      'There are more: --limit N shows them.',
    );
    expect(JSON.parse((await command(['sessions', '--limit', '1', '--json'], BOTH)).out)).toHaveLength(1);
  });

  it('names the statuses when asked for one that is not there', async () => {
    const { code, err } = await command(['sessions', '--status', 'complete'], BOTH);
    expect(code).toBe(2);
    expect(err).toContain('→ Did you mean "completed"?');
  });

  it('makes no store only to find it empty', async () => {
    const { code, out, runtime } = await command(['sessions'], {}, { env: {}, cwd: temporaryProject() });
    expect(code).toBe(0);
    expect(out).toContain('No sessions in sqlite:.telltale/telltale.db.');
    expect(runtime.calls).toEqual([]);
  });
});

describe('the argument SESSION', () => {
  const shown = async (asked: string, fake = BOTH) => {
    const { code, out, err } = await command(['show', asked, '--json'], fake);
    return code === 0 ? JSON.parse(out).session : JSON.parse(out || err).error;
  };

  it('may be a whole id, its end, its beginning, or "last"', async () => {
    expect(await shown(SESSION)).toBe(SESSION);
    expect(await shown('xyz')).toBe(OTHER);
    expect(await shown('ses_01jc0000000000000000000a')).toBe(SESSION);
    expect(await shown('last')).toBe(SESSION);
  });

  it('is never guessed', async () => {
    expect(await shown('ses_')).toMatchObject({
      code: 'session_ambiguous',
      message: "'ses_' may be any of 2 sessions.",
      hint: expect.stringContaining(`${SESSION}, ${OTHER}`),
    });
    expect(await shown('')).toMatchObject({ code: 'session_unknown' });
  });

  it('that fits none is answered with the nearest, and how to find one', async () => {
    expect(await shown(`${SESSION}d`)).toMatchObject({
      message: `There is no session '${SESSION}d'.`,
      hint: `Did you mean "${SESSION}"? "telltale sessions" lists them; "last" is the newest.`,
    });
    expect(await shown('last', {})).toMatchObject({
      code: 'session_unknown',
      hint: expect.stringContaining('telltale run'),
    });
  });

  it('"last" is no session that another one started', async () => {
    const child = eventList(
      [[9, started({ parent: { session: SESSION, action: 'a1', agents: ['fixer'] } })]],
      'ses_child',
    );
    const fake: FakeOptions = { logs: [SHORT_RUN, child], infos: { ses_child: { parent: SESSION } } };
    expect(await shown('last', fake)).toBe(SESSION);
  });
});

describe('telltale show', () => {
  it('shows the whole result of an action, and of the session', async () => {
    const show = (...argv: string[]) => command(['show', SESSION, ...argv], BOTH);
    expect(await show('--action', 'a1')).toMatchObject({ code: 0, out: '12 passed\n' });
    expect((await show('--action', 'a1', '--json')).out).toBe('"12 passed"\n');
    expect((await show('--result')).out).toBe('All **12** pass.\n');
    const unknown = await show('--action', 'a2');
    expect(unknown.code).toBe(1);
    expect(unknown.err).toContain('There is no action or step "a2".');
    expect(unknown.err).toContain('Did you mean "a1"?');
    expect((await command(['show', OTHER, '--result'], BOTH)).err).toContain('has no result yet');
  });

  it('shows a session as it is, and as it was after an event', async () => {
    const now = await command(['show', 'last'], BOTH);
    expect(now.out).toContain('status     completed\n');
    expect(now.out).toContain('  ✓ a1 run_tests');
    const then = await command(['show', 'last', '--seq', '6'], BOTH);
    expect(then.out).toContain('status     running\n');
    expect(then.out).toContain('  ▶ a1 run_tests');
    expect((await command(['show', 'xyz'], BOTH)).out).toContain('status     running, process 4711\n');
  });

  it('gives all of it as JSON', async () => {
    const state = JSON.parse((await command(['show', 'last', '--json'], BOTH)).out);
    expect(state).toMatchObject({
      session: SESSION,
      status: 'completed',
      turns: 1,
      metadata: { status: 'CODING' },
      actions: [{ action: { id: 'a1' }, status: 'completed', output: '12 passed' }],
      response: { final: true },
    });
  });

  it('says how far the log goes', async () => {
    const { code, err } = await command(['show', 'last', '--seq', '99'], BOTH);
    expect(code).toBe(1);
    expect(err).toContain(`${SESSION} has no event 99. Its last event is 12.`);
  });
});

describe('telltale logs', () => {
  it('prints a line for each event, from any on, of any types', async () => {
    expect((await command(['logs', 'last'], BOTH)).out.trimEnd().split('\n')).toHaveLength(12);
    const some = await command(['logs', 'last', '--from', '6', '--type', 'fault,action'], BOTH);
    expect(some.out.trimEnd().split('\n')).toEqual([
      '    6     +0.301  action.started      a1 run_tests',
      '    8     +0.500  fault               stray_close, the model is told: There was a </b>.',
      '   10     +1.101  action.completed    a1 run_tests in 800 ms: 12 passed',
    ]);
    const typed = async (type: string) => (await command(['logs', 'last', '--type', type], BOTH)).err;
    expect(await typed('actoin')).toContain('There is no type of event');
    expect(await typed('stepp')).toContain('→ Did you mean "step"?');
    expect(await typed('nonsense')).toContain('→ Groups of types: session, turn, ');
  });

  it('from an event that is not there says where the log ends, and fails', async () => {
    for (const more of [[], ['-f'], ['--type', 'fault']]) {
      const { code, out, err } = await command(['logs', 'last', '--from', '13', ...more], BOTH);
      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(err).toContain(`${SESSION} has no event 13. Its last event is 12.`);
    }
    const json = await command(['logs', 'last', '--from', '13', '--json'], BOTH);
    expect(JSON.parse(json.out)).toMatchObject({ ok: false, error: { code: 'event_unknown' } });
    const { code, err } = await command(['logs', 'last', '--from', '12', '--type', 'fault'], BOTH);
    expect({ code, err }).toEqual({ code: 0, err: '' });
  });

  it('with -f waits for one that may still come, and says so; where it never does, the log’s end is said', async () => {
    for (const [from, code] of [
      [12, 0],
      [13, 1],
    ]) {
      const logs = [SHORT_RUN.slice(0, 6)];
      const asked = begin(['logs', 'last', '-f', '--from', `${from}`], { ...BOTH, logs });
      const waiting = `${SESSION} has no event ${from} yet. Its last event is 6. Waiting.`;
      while (!asked.io.err().includes(waiting)) await new Promise((resolve) => setImmediate(resolve));
      asked.runtime.commit(SHORT_RUN.slice(6));
      const outcome = await asked.outcome;
      expect(outcome.code).toBe(code);
      expect(outcome.out.trimEnd().split('\n')[0]).toMatch(code === 0 ? /^ +12 .*session.completed/ : /^$/);
      expect(outcome.err.includes('has no event 13. Its last event is 12.')).toBe(code === 1);
    }
  });

  it('with --json prints the very lines of run --events', async () => {
    const { out } = await command(['logs', 'last', '--json'], BOTH);
    const live = await command(['run', 'a.yml', 'x', '--events'], {
      live: () => ({ events: SHORT_RUN, result: {} }),
    });
    expect(out).toBe(live.out);
  });

  it('with -f goes on until the session ends, whoever writes it', async () => {
    const { io, runtime, outcome } = begin(['logs', 'last', '-f'], {
      ...BOTH,
      logs: [SHORT_RUN.slice(0, 6)],
    });
    const seen = async (text: string) => {
      while (!io.out().includes(text)) await new Promise((resolve) => setImmediate(resolve));
    };
    await seen('action.started');
    runtime.commit(SHORT_RUN.slice(6, 8));
    await seen('stray_close');
    runtime.commit(SHORT_RUN.slice(8));
    const { code, out } = await outcome;
    expect(code).toBe(0);
    expect(out.trimEnd().split('\n')).toHaveLength(12);
  });

  it('with -f says below the log that nobody works on it, and ends at Ctrl-C', async () => {
    const io = recordedIo({ env: { TELLTALE_STORE: import.meta.filename } });
    let shownBefore = '';
    const write = async (text: string) => {
      shownBefore = io.out();
      await io.stderr.write(text);
    };
    const stderr = { ...io.stderr, write };
    const ended = main(['logs', 'xyz', '-f'], { ...io, stderr }, undefined, fakeRuntime(LEFT));
    while (!io.err().includes('No process works on')) await new Promise((resolve) => setImmediate(resolve));
    expect(shownBefore).toContain('turn.started');
    io.interrupt();
    expect(await ended).toBe(130);
  });
});

describe('telltale why', () => {
  it('walks from an event to the start', async () => {
    const { out } = await command(['why', 'last', '10'], BOTH);
    expect(out.split('\n')).toEqual([
      '10 action.completed  a1 in 800 ms: 12 passed',
      '  └ because 2 turn.started  turn 1, a prompt of 900 tokens',
      '    └ because 1 session.started  fixer with scripted:turns.yml: Fix the test',
      '      └ from outside: started by a person or a program',
      '',
    ]);
    const json = JSON.parse((await command(['why', 'last', '10', '--json'], BOTH)).out);
    expect(json.map(({ seq }: { seq: number }) => seq)).toEqual([10, 2, 1]);
  });

  it('crosses into other sessions', async () => {
    const child = eventList([[9, started(), { stream: SESSION, seq: 5, depth: 2 }]], 'ses_child');
    const { out } = await command(['why', 'child', '1'], { logs: [SHORT_RUN, child] });
    expect(out).toContain(`because ${SESSION} 5 action.declared`);
  });

  it('does not walk in a circle', async () => {
    const circle = eventList(
      [
        [0, started(), { stream: 'ses_c', seq: 2, depth: 1 }],
        [0, turnStarted, { stream: 'ses_c', seq: 1, depth: 1 }],
      ],
      'ses_c',
    );
    const { code, err } = await command(['why', 'ses_c', '2'], { logs: [circle] });
    expect(code).toBe(1);
    expect(err).toContain('they go in a circle');
  });

  it('says how far the log goes', async () => {
    expect((await command(['why', 'last', '99'], BOTH)).err).toContain('has no event 99');
    expect((await command(['why', 'last', 'x'], BOTH)).code).toBe(2);
  });
});

describe('telltale fork', () => {
  it('names the new session and how to go on with it', async () => {
    const { out, runtime } = await command(['fork', 'last', '4'], BOTH);
    expect(runtime.calls).toContainEqual(['fork', SESSION, 4]);
    expect(out).toBe(
      `ses_forked\nIt starts with a copy of ${SESSION} up to event 4.\nResume with: telltale resume ses_forked\n`,
    );
    expect(JSON.parse((await command(['fork', 'last', '4', '--json'], BOTH)).out)).toEqual({
      session: 'ses_forked',
      from: SESSION,
      seq: 4,
    });
    const changed = [
      'fork',
      'last',
      '1',
      '--message',
      'New words.',
      '--model',
      'openai/gpt-5',
      '--var',
      'n=3',
    ];
    expect((await command(changed, BOTH)).runtime.calls).toContainEqual([
      'fork',
      SESSION,
      1,
      { message: 'New words.', model: 'openai/gpt-5', vars: { n: 3 } },
    ]);
    expect((await command(['fork', 'last', '99'], BOTH)).err).toContain('has no event 99');
  });
});

describe('telltale steer', () => {
  it('says which process got the message', async () => {
    const { out, runtime } = await command(['steer', 'xyz', 'Stop that'], BOTH);
    expect(runtime.sent).toEqual([
      [OTHER, { kind: 'steer', from: `user:${userInfo().username}`, body: 'Stop that' }],
    ]);
    expect(out).toContain('Delivered to process 4711');
  });

  it('says that the message waits where nobody works on the session', async () => {
    const { out } = await command(['steer', 'xyz', '-'], LEFT, {
      env: { TELLTALE_STORE: import.meta.filename },
      stdin: 'Stop\n',
    });
    expect(out).toContain(`waits until you resume it.\nResume with: telltale resume ${OTHER}\n`);
    expect(JSON.parse((await command(['steer', 'xyz', 'x', '--json'], LEFT)).out)).toEqual({
      session: OTHER,
      delivered: false,
      pid: null,
    });
  });

  it('refuses a session that nobody will ever work on again', async () => {
    const { code, err, runtime } = await command(['steer', 'abc', 'x'], BOTH);
    expect(code).toBe(1);
    expect(err).toContain('has ended, so the agent would not read the message.');
    expect(runtime.sent).toEqual([]);
  });
});

describe('telltale cancel', () => {
  it('is delivered to the process that works on the session', async () => {
    const { out, runtime } = await command(['cancel', 'xyz', '--reason', 'enough'], BOTH);
    expect(runtime.sent).toEqual([[OTHER, { kind: 'cancel', from: signer(), body: 'enough' }]]);
    expect(out).toContain('Delivered to process 4711');
    expect(runtime.appended).toEqual([]);
  });

  it('ends at once what nobody works on, and closes what was open', async () => {
    const open = eventList(
      [
        [0, started()],
        [0, turnStarted],
        [1, declared('a1')],
        [1, actionStarted('a1')],
      ],
      OTHER,
    );
    const { out, runtime } = await command(['cancel', 'xyz'], { logs: [open] });
    expect(out).toBe(`No process worked on ${OTHER}. It is cancelled now.\n`);
    const [append] = runtime.appended;
    expect(append).toMatchObject({ expectedSeq: 4, status: 'cancelled' });
    expect(append?.events.map((line) => JSON.parse(line)).map(({ seq, type }) => [seq, type])).toEqual([
      [5, 'action.cancelled'],
      [6, 'turn.failed'],
      [7, 'session.cancelled'],
    ]);
    expect(runtime.calls).toContainEqual(['release']);
  });

  it('is content with what has ended already', async () => {
    const { code, out } = await command(['cancel', 'abc', '--json'], BOTH);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({ session: SESSION, outcome: 'ended_before', pid: null });
  });
});

describe('telltale replay', () => {
  it('in a pipe prints it all at once', async () => {
    const { out, code } = await command(['replay', 'last', '--to', '7'], BOTH);
    expect(code).toBe(0);
    expect(out.trimEnd().split('\n').slice(-2)).toEqual([
      'metadata.changed  status IDLE → CODING',
      'event 7 of 12 turn 1 · running · status=CODING',
    ]);
    expect((await command(['replay', 'last', '--json'], BOTH)).out).toBe(
      (await command(['logs', 'last', '--json'], BOTH)).out,
    );
  });

  it('on a terminal takes the time it took, scaled', async () => {
    const { io, outcome } = begin(['replay', 'last', '--speed', '2'], BOTH, { terminal: true });
    let isOver = false;
    const over = outcome.then((result) => {
      isOver = true;
      return result;
    });
    const began = io.clock.monotonic();
    for (let turn = 0; !isOver; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (turn % 5 === 0) await io.clock.advance(10);
    }
    expect((await over).out).toContain('✓ a1 run_tests');
    expect(io.clock.monotonic() - began).toBeGreaterThanOrEqual(1103 / 2);
    expect(io.clock.pending).toBe(0);
  });

  it('with --step waits for Enter before each event, and leaves at q', async () => {
    const lines = ['', '', '', 'q'];
    const { code, out } = await command(['replay', 'last', '--step'], BOTH, {
      terminal: true,
      lines,
      env: { TELLTALE_STORE: import.meta.filename },
    });
    expect(code).toBe(0);
    expect(out).toContain('event 4 of 12 turn 1 · running Enter: next, q and Enter: leave');
    expect(out).not.toContain('a1 run_tests');
  });

  it.each([
    [['--speed', '0'], "--speed '0' is not a number above 0."],
    [['--step'], "'--step' needs a terminal."],
    [['--step', '--instant'], "'--step' and '--instant' cannot be used together."],
    [['--to', '99'], 'has no event 99'],
  ])('refuses %j', async (argv, message) => {
    const isTerminal = argv[0] === '--speed';
    expect((await command(['replay', 'last', ...argv], BOTH, { terminal: isTerminal })).err).toContain(
      message,
    );
  });
});

describe('what has to be resumed', () => {
  const streams = {
    ses_1: { stream: 'ses_1', kind: 'session' },
    'ses_1~lead': { stream: 'ses_1~lead', kind: 'run', parent: 'ses_1' },
    run_1: { stream: 'run_1', kind: 'run', parent: 'ses_1' },
    'run_1~ann': { stream: 'run_1~ann', kind: 'session', parent: 'run_1' },
  } as const;
  const store = { info: async (id: string) => streams[id as keyof typeof streams] as never };

  it.each([
    ['ses_1~lead', 'telltale resume ses_1'],
    ['run_1', 'telltale workflow resume run_1'],
    ['run_1~ann', 'telltale workflow resume run_1'],
  ] as const)('%s: %s', async (id, command) => {
    expect(await streamToResume(store, streams[id], recordedIo())).toBe(command);
  });
});
