import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { shellWord } from '../../src/cli/options.ts';
import { signer } from '../../src/cli/program.ts';
import { createTerminalView } from '../../src/cli/run/terminal-view.ts';
import { describeRunEvent } from '../../src/cli/view/describe-run-event.ts';
import { createRunScreen } from '../../src/cli/view/run-screen.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { RunEvent, RunEventBody } from '../../src/log/run-event.ts';
import { displayWidth, plainPalette as paint } from '../../src/manifest/format-diagnostic.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { BEGAN, eventList, SESSION, SHORT_RUN, started, turnStarted } from './event-list.ts';
import { type FakeOptions, RUN } from './fake-runtime.ts';
import { recordedIo } from './recorded-io.ts';
import { begin, command } from './run-command.ts';
import { runEventList, runStarted, stepCompleted, stepStarted, WAITING_RUN } from './run-event-list.ts';

const DONE = runEventList([
  [0, runStarted()],
  [1, stepStarted('build', { target: 'all' })],
  [41, stepCompleted('build', 'built')],
  [42, { type: 'workflow.completed', output: { ok: true } }],
]);
const WAITS = { status: 'waiting', waiting: { for: 'review rev_1', due: BEGAN + 60_000 } } as const;
const LIVE: FakeOptions = { workflow: () => ({ events: DONE, result: { output: { ok: true } } }) };

describe('telltale workflow run', () => {
  it('prints a line for each thing that happens in a pipe, then what came of it', async () => {
    const { code, out, err, runtime } = await command(['workflow', 'run', 'agent.yml', 'release'], LIVE);
    expect(code).toBe(0);
    expect(err).toBe('');
    expect(out.replace(/\d+ ms$/m, 'N ms').split('\n')).toEqual([
      `workflow.started  ${RUN} release for fixer version=1.2.0`,
      'step.started      build target=all',
      'step.completed    build in 40 ms: built',
      '✓ completed  1 step · N ms',
      '{',
      '  "ok": true',
      '}',
      '',
    ]);
    expect(runtime.calls).toContainEqual(['loadWorkflow', 'agent.yml', 'release', undefined]);
  });

  it('takes its input as JSON, from a file or from standard input, and variables beside it', async () => {
    const cwd = temporaryProject({ 'input.json': '{"a": [1]}' });
    const given = async (input: string, stdin = '') => {
      const argv = ['workflow', 'run', 'a.yml', '--input', input, '--var', 'n=3', '--wait', '--json'];
      const { runtime } = await command(argv, LIVE, { env: {}, cwd, stdin });
      return runtime.calls.find(([name]) => name === 'workflows.start')?.[1];
    };
    const others = { vars: { n: 3 }, onWaiting: 'hold' };
    expect(await given('{"a": [1]}')).toEqual({ input: { a: [1] }, ...others });
    expect(await given('@input.json')).toEqual({ input: { a: [1] }, ...others });
    expect(await given('@-', '{"b": 2}')).toEqual({ input: { b: 2 }, ...others });
  });

  it('takes the id of the run, and names the command that has the help where it takes no such option', async () => {
    const { runtime } = await command(['workflow', 'run', 'a.yml', '--id', 'monday', '--json'], LIVE);
    expect(runtime.calls.find(([name]) => name === 'workflows.start')?.[1]).toEqual({ id: 'monday' });
    for (const id of ['', 'last', '../x', 'a b', '-x', 'x'.repeat(101)]) {
      const { code, err, runtime } = await command(['workflow', 'run', 'a.yml', `--id=${id}`], LIVE);
      expect([code, runtime.calls]).toEqual([2, []]);
      expect(err).toContain(`error: --id '${id}' is not a valid run id.`);
    }
    expect((await command(['workflow', 'run', 'a.yml', '--nonsense'], LIVE)).err).toContain(
      '→ Run "telltale workflow run --help" for its options.',
    );
  });

  it('says in whose name a workflow runs, where the file is the workflow’s own', async () => {
    const cwd = temporaryProject({
      'w.yml': 'kind: Workflow\nname: w\nsteps: [{ name: a, type: wait, for: 1s }]\n',
    });
    const loadError = new RuntimeError('no_agent', 'w.yml holds no Agent.');
    const { code, err } = await command(['workflow', 'run', 'w.yml'], { ...LIVE, loadError }, { cwd });
    expect(code).toBe(2);
    expect(err).toContain('→ Name the manifest of an agent that imports the workflow');
  });

  it('shows which version decided, and with --debug invoke what that took and cost', async () => {
    const decided = runEventList([
      [0, runStarted()],
      [
        1,
        {
          type: 'invoke',
          where: 'step gate: if',
          artifact: 'gate',
          version: 2,
          method: 'may',
          args: ['x'.repeat(500)],
          result: true,
          cached: false,
          ms: 2,
          cost: 0.5,
        },
      ],
      [2, { type: 'workflow.completed', output: null }],
    ]);
    const fake: FakeOptions = { workflow: () => ({ events: decided, result: {} }) };
    const line = async (...more: readonly string[]) => {
      const { out } = await command(['workflow', 'run', 'a.yml', ...more], fake);
      return out.split('\n').find((each) => each.startsWith('invoke'));
    };
    expect(await line()).toMatch(/gate@2\.may\(x+…\) = true$/);
    expect(await line('--debug', 'invoke')).toMatch(/ = true \[2 ms, cost 0\.5\]$/);
  });

  it('says what is wrong with an input', async () => {
    const cwd = temporaryProject();
    writeFileSync(join(cwd, 'bad.json'), '{');
    const wrong = async (input: string) =>
      command(['workflow', 'run', 'a.yml', '--input', input], LIVE, { cwd });
    expect((await wrong('[1]')).err).toContain('error: --input is not a JSON object.');
    expect((await wrong('{"a": }')).err).toContain('error: --input is not JSON: ');
    expect((await wrong('@bad.json')).err).toContain("error: 'bad.json' is not JSON: ");
    const none = await wrong('@none.json');
    expect(none.err).toContain("There is no file 'none.json'.");
    expect(none.err).toContain('→ Name a file with JSON, or "-" for standard input.');
    expect((await wrong('[1]')).code).toBe(2);
  });

  it('prints one JSON event a line with --events, and only the output with --quiet', async () => {
    const { out } = await command(['workflow', 'run', 'a.yml', '--events'], LIVE);
    const lines = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ seq, run, type }) => [seq, run, type])).toEqual(
      DONE.map(({ seq, run, type }) => [seq, run, type]),
    );
    expect((await command(['workflow', 'run', 'a.yml', '-q'], LIVE)).out).toBe('{\n  "ok": true\n}\n');
    const json = await command(['workflow', 'run', 'a.yml', '--json'], LIVE);
    expect(JSON.parse(json.out)).toEqual({ run: RUN, status: 'completed', output: { ok: true } });
  });

  it('ends with 3 where the run waits: for what, until when, and how to go on', async () => {
    const waiting: FakeOptions = {
      runs: [WAITING_RUN],
      workflow: () => ({ events: WAITING_RUN, result: WAITS }),
    };
    const { code, err } = await command(['workflow', 'run', 'a.yml'], waiting);
    expect(code).toBe(3);
    expect(err.split('\n')).toEqual([
      'waiting: The run is waiting for a person, until 2026-01-01T12:01:00.000Z.',
      '  review@1/ask asks: Release it? [approve / reject]',
      '  → telltale reviews approve rev_1   (or: reject)',
      `Resume with: telltale workflow resume ${RUN}`,
      '',
    ]);
  });

  it.each([
    [{ event: 'custom', match: { name: 'payment' } }, `payment '{}'`],
    [{ event: 'custom', match: { name: 'payment', 'data.amount': 12 } }, `payment '{"amount":12}'`],
    [{ event: 'paid', match: { amount: 12, by: { in: ['ann'] } } }, `paid '{"amount":12}'`],
    [{ event: "it's" }, `'it'\\''s' '{}'`],
  ])('says how to send the event that a run waits for: %j', async (input, sent) => {
    const waits = { for: `event ${input.event}` };
    const events = runEventList([
      [0, runStarted()],
      [1, { type: 'step.started', step: 'paid', attempt: 1, repeatable: true, input }],
      [2, { type: 'workflow.waiting', ...waits }],
    ]);
    const { err } = await command(['workflow', 'run', 'a.yml'], {
      runs: [events],
      workflow: () => ({ events, result: { status: 'waiting', waiting: waits } }),
    });
    expect(err).toContain(`  → telltale workflow signal ${RUN} ${sent}\n`);
  });

  it('ends with 1 where the run fails, in three lines', async () => {
    const error = { code: 'exit_code', message: 'make ended with 2.', hint: 'Fix it.', retryable: false };
    const { code, err } = await command(['workflow', 'run', 'a.yml', '--store', import.meta.filename], {
      workflow: () => ({ events: DONE.slice(0, 2), result: { status: 'failed', error } }),
    });
    expect(code).toBe(1);
    expect(err.split('\n')).toEqual([
      'failed: make ended with 2. [exit_code]',
      `  run ${RUN}`,
      `  → See: telltale workflow show ${RUN} --store ${shellWord(import.meta.filename)}`,
      '  → Fix it.',
      '',
    ]);
  });

  it('lets go of the run at Ctrl-C, says what was running, and ends with 130', async () => {
    const { io, outcome, runtime } = begin(['workflow', 'run', 'a.yml'], {
      workflow: () => ({ events: DONE.slice(0, 2), result: new Promise(() => {}) }),
    });
    while (!io.out().includes('step.started')) await new Promise((resolve) => setImmediate(resolve));
    io.interrupt();
    const { code, err } = await outcome;
    expect(code).toBe(130);
    expect(runtime.calls).toContainEqual(['interrupt']);
    expect(err).toMatch(/^interrupted while running: build \(.*\)\nResume with: telltale workflow resume /);
  });

  it('refuses a folder, and says what is wrong with a manifest as validate does', async () => {
    const cwd = temporaryProject({ 'agent.yml': 'kind: Agent\nnames: a\n' });
    expect((await command(['workflow', 'run', '.'], LIVE, { cwd })).err).toContain("'.' is a folder.");
    const loadError = new RuntimeError('bad_manifest', 'agent.yml has 1 error');
    const { code, err } = await command(['workflow', 'run', 'agent.yml'], { ...LIVE, loadError }, { cwd });
    expect(code).toBe(2);
    expect(err).toContain('agent.yml:');
  });

  it('shows steps as they come on a terminal, and leaves how they ended', async () => {
    const { code, out } = await command(['workflow', 'run', 'a.yml'], LIVE, { terminal: true });
    expect(code).toBe(0);
    expect(out).toContain('  ✓ build  target=all  40 ms  built\n');
    expect(out).toMatch(/✓ completed {2}1 step · \d+ ms/);
  });
});

describe('the live view of a run', () => {
  it('keeps what still changes at the bottom, and lines of other things where they came', () => {
    const screen = createRunScreen({ paint, size: () => ({ columns: 70, rows: 20 }) });
    for (const event of WAITING_RUN.slice(0, 6)) screen.show(event);
    const { done, live } = screen.frame(BEGAN + 100);
    expect(done).toEqual([
      `  release · fixer · ${RUN}`,
      '  ◆ review (initial)',
      '  ✓ review@1/build  target=all  40 ms  built',
      '  ⚖ step gate: condition: gate.may(3) = false (fallback, threw: no)',
    ]);
    expect(live).toEqual(['  ▶ review@1/ask  56 ms', '⠙ state review · 1 step running · 100 ms']);
    for (const event of WAITING_RUN.slice(6)) screen.show(event);
    expect(screen.finish(BEGAN + 100).at(-1)).toBe(
      '  waits for review rev_1, until 2026-01-01T12:01:00.000Z',
    );
  });

  it('shows nothing again of what was seen before', () => {
    const screen = createRunScreen({ paint, size: () => ({ columns: 70, rows: 20 }) });
    for (const event of WAITING_RUN) screen.recall(event);
    const [resumed] = runEventList([[99, stepCompleted('review@1/ask', 'approve')]]);
    if (resumed !== undefined) screen.show(resumed);
    expect(screen.finish(BEGAN + 100)).toEqual(['  ✓ review@1/ask  40 ms  approve']);
  });
});

describe('what an event of a run says', () => {
  const HOSTILE = 'x\u001b[31m\u202e\n'.repeat(80);
  const error = { code: HOSTILE, message: HOSTILE, hint: HOSTILE, retryable: false };
  const ALL: readonly RunEventBody[] = [
    runStarted({
      workflow: HOSTILE,
      input: { [HOSTILE]: HOSTILE },
      origin: { agents: [], chain: [], action: HOSTILE, session: { id: HOSTILE, seq: 1 } },
    }),
    { type: 'workflow.resumed', by: HOSTILE },
    { type: 'workflow.waiting', for: HOSTILE, due: Number.MAX_VALUE },
    { type: 'workflow.completed', output: HOSTILE },
    { type: 'workflow.failed', error, step: HOSTILE },
    { type: 'workflow.cancelled', reason: HOSTILE, by: HOSTILE },
    { type: 'state.entered', state: HOSTILE, from: HOSTILE, by: HOSTILE, visit: 2 },
    stepStarted(HOSTILE, { a: HOSTILE }),
    stepCompleted(HOSTILE, HOSTILE),
    { type: 'step.retrying', step: HOSTILE, attempt: 2, error, due: 1 },
    { type: 'step.failed', step: HOSTILE, error, ms: 1, attempts: 2, policy: 'continue' },
    { type: 'step.skipped', step: HOSTILE, reason: 'if', because: HOSTILE },
    { type: 'step.cancelled', step: HOSTILE, reason: HOSTILE },
    { type: 'step.interrupted', step: HOSTILE, attempt: 1 },
    { type: 'step.compensated', step: HOSTILE, error },
    { type: 'if.decided', at_step: HOSTILE, test: HOSTILE, held: true, problem: HOSTILE },
    { type: 'component.injected', component: HOSTILE, step: HOSTILE, because: HOSTILE },
    { type: 'timer.set', id: HOSTILE, due: 1 },
    { type: 'signal.received', event: HOSTILE, data: { a: HOSTILE }, from: HOSTILE },
    { type: 'variable.changed', name: HOSTILE, from: HOSTILE, to: HOSTILE, by: HOSTILE },
    { type: 'review.requested', review: HOSTILE, step: HOSTILE, prompt: HOSTILE, options: [HOSTILE] },
    { type: 'review.resolved', review: HOSTILE, answer: 'approved', choice: HOSTILE, by: HOSTILE },
    { type: 'audit', who: HOSTILE, what: HOSTILE },
    { type: 'custom', name: HOSTILE, data: HOSTILE },
  ];

  it('is one line that fits and steers no terminal, whatever stands in it', () => {
    for (const event of runEventList(ALL.map((body) => [0, body] as const))) {
      const line = describeRunEvent(event, 60);
      expect(displayWidth(line), event.type).toBeLessThanOrEqual(60);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: their absence is the point
      expect(line).not.toMatch(/[\u0000-\u001f\u202e]/);
    }
  });
});

describe('telltale workflow list', () => {
  const BOTH: FakeOptions = {
    logs: [SHORT_RUN],
    runs: [
      WAITING_RUN,
      runEventList(
        [[5, runStarted({ origin: { agents: [], chain: [], session: { id: SESSION, seq: 7 } } })]],
        'run_b',
      ),
    ],
  };

  it('lists runs, newest first, with whose they are', async () => {
    const { out } = await command(['workflow', 'list'], BOTH);
    const rows = out
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(/ {2,}/g, '|').replace(/just now|\d+ \w+ ago/, 'AGO'));
    expect(rows).toEqual([
      'RUN|WORKFLOW|STATUS|STARTED|EVENTS|PID|OF',
      `run_b|release|interrupted|AGO|1|${SESSION}`,
      `${RUN}|release|waiting|AGO|8`,
    ]);
    expect((await command(['workflow'], BOTH)).out).toBe(out);
  });

  it('takes those of a status, or of a session', async () => {
    const listed = async (...argv: string[]) =>
      JSON.parse((await command(['workflow', 'list', '--json', ...argv], BOTH)).out).map(
        (each: { run: string }) => each.run,
      );
    expect(await listed('--status', 'waiting')).toEqual([RUN]);
    expect(await listed('--of', SESSION)).toEqual(['run_b']);
    const wrong = await command(['workflow', 'list', '--status', 'stalled'], BOTH);
    expect(wrong.code).toBe(2);
  });

  it('knows its commands', async () => {
    const { code, err } = await command(['workflow', 'lits'], BOTH);
    expect(code).toBe(2);
    expect(err).toContain('Did you mean "list"?');
  });
});

describe('a run beside sessions', () => {
  const fired = { stream: SESSION, seq: 2, depth: 1 };
  const OF_SESSION = runEventList([
    [
      0,
      runStarted({
        origin: {
          agents: [],
          chain: ['release'],
          session: { id: SESSION, seq: 2 },
          trigger: { id: 'release#0', seen: {} },
        },
      }),
      fired,
    ],
    [1, stepStarted('build')],
    [
      9,
      { type: 'workflow.failed', error: { code: 'x', message: 'No.', retryable: false }, step: 'build' },
      { stream: RUN, seq: 2, depth: 3 },
    ],
  ]);
  const SET_OFF = eventList([
    [0, started()],
    [
      1,
      {
        type: 'trigger.fired',
        trigger: 'release#0',
        workflow: 'release',
        run: RUN,
        seen: { status: 'DONE' },
        chain: ['release'],
      },
      { stream: SESSION, seq: 1, depth: 1 },
    ],
  ]);
  const FAKE: FakeOptions = { logs: [SET_OFF], runs: [OF_SESSION] };

  it('is shown by show, logs and why as a session is', async () => {
    const { out } = await command(['show', RUN], { runs: [WAITING_RUN] });
    expect(out).toContain('status     waiting\nwaits for  review rev_1, until 2026-01-01T12:01:00.000Z\n');
    expect(out).toContain('state      review\n');
    expect(out).toContain('  ✓ review@1/build  target=all  built\n  ▶ review@1/ask');
    expect(out).toContain('Reviews\n  rev_1: review@1/ask asks: Release it? [approve / reject]\n');
    expect((await command(['workflow', 'show', 'last'], { runs: [WAITING_RUN] })).out).toBe(out);
    expect(
      JSON.parse((await command(['show', RUN, '--json', '--seq', '4'], { runs: [WAITING_RUN] })).out),
    ).toMatchObject({
      run: RUN,
      seq: 4,
      status: 'running',
      state: 'review',
      steps: [{ step: 'review@1/build', status: 'completed' }],
    });
    const logs = await command(['logs', RUN, '--type', 'step'], FAKE);
    expect(logs.out).toBe('    2     +0.001  step.started        build\n');
  });

  it('is explained across logs, up to the session that set it off', async () => {
    const { out } = await command(['why', RUN, '3'], FAKE);
    expect(out.split('\n')).toEqual([
      '3 workflow.failed  build: x: No.',
      '  └ because 2 step.started  build',
      `    └ because 1 workflow.started  release for fixer, triggered by release#0 of ${SESSION} version=1.2.0`,
      `      └ because ${SESSION} 2 trigger.fired  release#0 starts ${RUN}: status=DONE`,
      '        └ because 1 session.started  fixer with scripted:turns.yml: Fix the test',
      '          └ from outside: started by a person or a program',
      '',
    ]);
  });

  it('is listed by the session that set it off', async () => {
    expect((await command(['show', SESSION], FAKE)).out).toContain(`Workflows\n  release  failed  ${RUN}\n`);
    const { out } = await command(['sessions', '--runs'], FAKE);
    expect(out).toMatch(new RegExp(`^${SESSION}.*\\n└ ${RUN} +release +failed`, 'm'));
    expect((await command(['sessions'], FAKE)).out).not.toContain(RUN);
  });

  it('is no session: what only a session can do says so', async () => {
    for (const argv of [
      ['resume', RUN],
      ['steer', RUN, 'x'],
      ['fork', RUN, '1'],
      ['replay', RUN],
    ]) {
      const { code, err } = await command(argv, FAKE);
      expect(code).toBe(1);
      expect(err).toContain(`'${RUN}' is a workflow run, not a session.`);
    }
    expect((await command(['workflow', 'show', SESSION], FAKE)).err).toContain(
      'is a session, not a workflow run.',
    );
  });

  it('still at work when the session ends is waited for, and what came of it is said', async () => {
    const live = () => ({ events: SET_OFF, result: {} });
    const { out, code } = await command(['run', 'a.yml', 'Go'], {
      live,
      runs: [WAITING_RUN],
      working: { runs: [RUN], idle: Promise.resolve() },
    });
    expect(code).toBe(0);
    expect(out).toContain('1 workflow still running: release\n');
    expect(out).toContain(
      `⚙ … release waits for review rev_1, until 2026-01-01T12:01:00.000Z; continue with: telltale workflow resume ${RUN}\n`,
    );
  });

  it('whose result is long says it in one row of a terminal', async () => {
    const live = () => ({ events: SET_OFF, result: {} });
    const done = runEventList([
      [0, runStarted()],
      [1, { type: 'workflow.completed', output: 'x'.repeat(300) }],
    ]);
    const fake = { live, runs: [done], working: { runs: [RUN], idle: Promise.resolve() } };
    const { out } = await command(['run', 'a.yml', 'Go'], fake, { terminal: true, columns: 80 });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colors are left out.
    const rows = out.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '').split('\n');
    const row = rows.find((line) => line.includes('⚙ ✓ release completed: xxx'));
    expect(row).toHaveLength(79);
    expect(row).toMatch(/x…$/);
  });

  it('shows each decision of the session and of its runs with --debug invoke', async () => {
    const asked = WAITING_RUN.find(({ type }) => type === 'invoke');
    const { seq: _seq, at: _at, run: _run, cause: _cause, ...body } = asked ?? DONE[0]!;
    const decided = runEventList([
      [0, runStarted({ origin: { agents: [], chain: [], session: { id: SESSION, seq: 1 } } })],
      [1, body as RunEventBody],
      [2, { type: 'workflow.completed', output: null }],
    ]);
    const events = eventList([
      [0, started()],
      [1, turnStarted],
      [2, body as never],
    ]);
    const fake: FakeOptions = { live: () => ({ events, result: {} }), runs: [decided] };
    const { out } = await command(['run', 'a.yml', 'Go', '--debug', 'invoke'], fake);
    expect(out).toContain(
      'invoke            step gate: condition: gate.may(3) = false (fallback, threw: no)\n',
    );
    expect(out).toContain(`invoke            ${RUN} step gate: condition: gate.may(3) = false`);
    expect((await command(['run', 'a.yml', 'Go'], fake)).out).not.toContain('gate.may');
  });

  it('shows decisions on a terminal also when the session, and with it its screen, is over', async () => {
    const io = recordedIo({ terminal: true });
    const view = createTerminalView(io, { debug: { invoke: true } });
    const usage = { input: 0, output: 0 };
    const times = { workedMs: 0, saved: { early: 0, savedMs: 0 } };
    await view.end({ session: SESSION, status: 'completed', turns: 1, usage, cost_usd: 0 }, times);
    for (const event of WAITING_RUN) if (event.type === 'invoke') await view.showRunEvent(event);
    expect(io.out().split('✓ completed')[1]).toContain(
      '⚖ step gate: condition: gate.may(3) = false (fallback, threw: no)',
    );
  });
});

describe('telltale workflow resume, signal and cancel', () => {
  const FAKE: FakeOptions = { runs: [WAITING_RUN] };
  const OWNED: FakeOptions = { ...FAKE, infos: { [RUN]: { owner: { pid: 4711, startedAt: 0, epoch: 1 } } } };

  it('resume goes on, and shows only what is new', async () => {
    const events = [
      ...WAITING_RUN,
      ...runEventList([[99, stepCompleted('review@1/ask', 'approve')]]).map((event) => ({
        ...event,
        seq: 9,
      })),
    ];
    const { out, runtime } = await command(['workflow', 'resume', 'last', '--accept-changes'], {
      ...FAKE,
      workflow: () => ({ events, result: {} }),
    });
    expect(runtime.calls).toContainEqual(['workflows.resume', RUN, { by: signer(), acceptChanges: true }]);
    expect(out.split('\n')[0]).toBe('step.completed    review@1/ask in 40 ms: approve');
  });

  it('signal puts an event on the log of a run that nobody works on, else into its inbox, and says so', async () => {
    const kept = await command(['workflow', 'signal', RUN, 'paid', '{"amount": 3}'], FAKE);
    expect(kept.runtime.sent).toEqual([]);
    expect(JSON.parse(kept.runtime.appended[0]?.events[0] ?? '{}')).toMatchObject({
      type: 'signal.received',
      event: 'paid',
      data: { amount: 3 },
      from: signer(),
    });
    expect(kept.out).toContain(`telltale workflow resume ${RUN}`);
    expect(kept.out).toContain('A process that waits with --wait continues by itself');
    const delivered = await command(['workflow', 'signal', RUN, 'paid', '--json', '--from', 'ann'], OWNED);
    expect(JSON.parse(delivered.out)).toEqual({ run: RUN, event: 'paid', outcome: 'delivered', pid: 4711 });
    expect(delivered.runtime.sent).toEqual([
      [RUN, { kind: 'signal', from: `${signer()} (for ann)`, body: { event: 'paid', data: {} } }],
    ]);
    const late = await command(['workflow', 'signal', RUN, 'paid'], { runs: [DONE] });
    expect(late.code).toBe(1);
    expect(late.err).toContain('nothing waits there');
  });

  it('cancel is delivered to the process that works on the run', async () => {
    const { out, runtime } = await command(['cancel', RUN, '--reason', 'enough'], OWNED);
    expect(runtime.sent).toEqual([[RUN, { kind: 'cancel', from: signer(), body: 'enough' }]]);
    expect(out).toContain('Delivered to process 4711');
  });

  it('cancel takes up a run whose steps may have to be undone', async () => {
    const { out, runtime } = await command(['workflow', 'cancel', RUN], FAKE);
    expect(runtime.sent).toEqual([[RUN, { kind: 'cancel', from: signer(), body: 'asked to' }]]);
    expect(runtime.calls).toContainEqual(['workflows.resume', RUN, undefined]);
    expect(out).toBe(`No process worked on ${RUN}. It is cancelled now.\n`);
  });

  it('cancel is delivered where another process takes the run up first', async () => {
    const owned = new RuntimeError('stream_owned', `Stream "${RUN}" is being written by process 9.`);
    const workflow = () => ({ events: [], result: Promise.reject(owned) });
    const { code, out, runtime } = await command(['workflow', 'cancel', RUN], { ...FAKE, workflow });
    expect([code, out]).toEqual([
      0,
      `Delivered to the process that works on ${RUN}. It stops all running actions, then ends.\n`,
    ]);
    expect(runtime.sent).toHaveLength(1);
  });

  it('cancel --force ends it at once: questions withdrawn, steps cancelled, the session told', async () => {
    const first = runStarted({
      origin: { agents: [], chain: [], session: { id: SESSION, seq: 2 }, trigger: { id: 't#0', seen: {} } },
    });
    const log = WAITING_RUN.map(
      (event): RunEvent => (event.seq === 1 ? ({ ...event, ...first } as RunEvent) : event),
    );
    const running = eventList([
      [0, started()],
      [1, turnStarted],
    ]);
    const { out, runtime } = await command(['workflow', 'cancel', RUN, '--force', '--json'], {
      logs: [running],
      runs: [log],
    });
    expect(JSON.parse(out)).toEqual({ run: RUN, outcome: 'cancelled', pid: null });
    const [append] = runtime.appended;
    expect(append).toMatchObject({
      expectedSeq: 8,
      status: 'cancelled',
      writes: [{ key: 'rev_1' }, { key: 'rev_1' }],
    });
    expect(append?.events.map((line) => JSON.parse(line).type ?? line)).toHaveLength(3);
    expect(append?.events.join()).toMatch(/review\.resolved.*step\.cancelled.*workflow\.cancelled/s);
  });

  it('cancel is content with what has ended already', async () => {
    const { out } = await command(['workflow', 'cancel', RUN, '--json'], { runs: [DONE] });
    expect(JSON.parse(out)).toEqual({ run: RUN, outcome: 'ended_before', pid: null });
  });
});

describe('cancel of what waits for a person, with nobody at work', { timeout: 60_000 }, () => {
  const CLAIM =
    '<action type="internal">{"name": "complete_step", "parameters": {"notes": "I looked at all of it with care and wrote down what there was to find."}}</action>';
  const led = () =>
    temporaryProject({
      'agent.yml':
        'kind: Agent\nname: led\nmodel: scripted:./turns.yml\nimport: { workflows: [./asks.yml] }\nworkflow: asks\n',
      'boss.yml':
        'kind: Agent\nname: boss\nmodel: scripted:./turns.yml\nimport: { workflows: [./first.yml] }\n',
      'asks.yml':
        'kind: Workflow\nname: asks\nsteps:\n  - { name: a, type: task, prompt: Do a. }\n  - { name: ask, type: approval, prompt: Go on? }\n',
      'first.yml':
        'kind: Workflow\nname: first\nsteps:\n  - { name: a, type: task, prompt: Do a., verify: { command: [node, -e, "process.exit(1)"], max_retries: 0 } }\n',
      'turns.yml': `turns:\n  - ${JSON.stringify(CLAIM)}\n`,
    });
  const say = async (cwd: string, ...argv: readonly string[]) => {
    const io = recordedIo({ cwd });
    const code = await main([...argv], { ...io, clock: createSystemClock() });
    return { code, out: io.out() };
  };
  const statuses = async (cwd: string, ...argv: readonly string[]) =>
    JSON.parse((await say(cwd, ...argv, '--json')).out).map(({ status }: { status: string }) => status);

  it.each([
    ['the session', ['cancel'], ''],
    ['the session, at once', ['cancel', '--force'], ''],
    ['the run that leads it', ['workflow', 'cancel'], '~lead'],
  ])('of %s ends both, and withdraws the question', async (_, argv, which) => {
    const cwd = led();
    expect((await say(cwd, 'run', 'agent.yml', 'Go.')).code).toBe(3);
    const [{ session }] = JSON.parse((await say(cwd, 'sessions', '--json')).out);
    expect(await say(cwd, ...argv, `${session}${which}`)).toMatchObject({ code: 0 });
    expect(await statuses(cwd, 'sessions')).toEqual(['cancelled']);
    expect(await statuses(cwd, 'workflow', 'list')).toEqual(['cancelled']);
    expect(JSON.parse((await say(cwd, 'reviews', '--json')).out)).toEqual([]);
  });

  it('of a run ends the sessions of the agents that work for it', async () => {
    const cwd = led();
    expect((await say(cwd, 'workflow', 'run', 'boss.yml', 'first')).code).toBe(3);
    expect(await statuses(cwd, 'sessions')).toEqual(['waiting']);
    expect(await say(cwd, 'workflow', 'cancel', 'last')).toMatchObject({ code: 0 });
    expect(await statuses(cwd, 'sessions')).toEqual(['cancelled']);
    expect(await statuses(cwd, 'workflow', 'list')).toEqual(['cancelled']);
  });
});
