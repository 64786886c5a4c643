import { createColors } from 'picocolors';
import { describe, expect, it } from 'vitest';
import { signer } from '../../src/cli/program.ts';
// Loaded here, so that no test has to wait for it.
import '../../src/manifest/validate-manifests.ts';
import type { SessionResult } from '../../src/agent/runtime-types.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { ObservedEvent } from '../../src/log/event.ts';
import type { Approve } from '../../src/tools/target.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { eventList, SESSION, SHORT_RUN, started } from './event-list.ts';
import type { FakeOptions } from './fake-runtime.ts';
import type { RecordedIoOptions } from './recorded-io.ts';
import { begin, command } from './run-command.ts';

const SHORT: FakeOptions = { live: () => ({ events: SHORT_RUN, result: { result: 'All **12** pass.' } }) };
const ending = (result: Partial<SessionResult>, events: readonly ObservedEvent[] = []): FakeOptions => ({
  live: () => ({ events, result }),
});

describe('telltale run', () => {
  it('gives the agent its input, its variables and its limits', async () => {
    const { code, runtime } = await command(
      [
        'run',
        'agent.yml',
        'Do it',
        '--var',
        'n=3',
        '--var',
        'who=Ann',
        '--var',
        '__proto__={"a":1}',
        '--model',
        'scripted:x',
        '--record',
        'r.yml',
        '--max-turns',
        '7',
        '--durability',
        'process',
        '--store',
        'a.db',
      ],
      SHORT,
      { cwd: '/w' },
    );
    expect(code).toBe(0);
    expect(runtime.calls).toEqual([
      ['loadAgent', 'agent.yml', undefined],
      ['createRuntime', 'sqlite:a.db', 'process'],
      [
        'start',
        {
          input: 'Do it',
          vars: Object.fromEntries([
            ['n', 3],
            ['who', 'Ann'],
            ['__proto__', { a: 1 }],
          ]),
          model: 'scripted:x',
          record: '/w/r.yml',
          maxTurns: 7,
        },
      ],
      ['close'],
    ]);
  });

  it.each([
    [[], {}, 'sqlite:.telltale/telltale.db'],
    [[], { TELLTALE_STORE: 'x.db' }, 'sqlite:x.db'],
    [['--store', 'memory'], { TELLTALE_STORE: 'x.db' }, 'memory'],
    [['--store', 'postgres://h/d'], {}, 'postgres://h/d'],
    [['--store', 'C:\\x.db'], {}, 'sqlite:C:\\x.db'],
  ])('with %j and %j keeps its sessions in %s', async (argv, env, store) => {
    const { runtime } = await command(['run', 'a.yml', 'x', ...argv], SHORT, { env });
    expect(runtime.calls[1]?.[1]).toBe(store);
  });

  it('in a pipe prints plain lines and a last one', async () => {
    const { code, out, err } = await command(['run', 'a.yml', 'x'], SHORT);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out.split('\n').slice(-5)).toEqual([
      'action.completed  a1 run_tests in 800 ms: 12 passed',
      'response          All **12** pass.',
      '✓ completed  1 turn · 900 + 120 tokens · $0.0031 · 1.1 s',
      'Starting 1 action before the response ended saved 699 ms.',
      '',
    ]);
  });

  it('with --quiet prints the response alone, with --json the result alone', async () => {
    expect((await command(['run', 'a.yml', 'x', '-q'], SHORT)).out).toBe('All **12** pass.\n');
    expect((await command(['run', 'a.yml', 'x', '-q'], ending({ result: { n: 1 } }))).out).toBe(
      '{\n  "n": 1\n}\n',
    );
    const { out, err } = await command(['run', 'a.yml', 'x', '--json'], SHORT);
    expect(err).toBe('');
    expect(JSON.parse(out)).toEqual({
      session: SESSION,
      status: 'completed',
      turns: 1,
      usage: { input: 900, output: 120 },
      cost_usd: 0.0031,
      result: 'All **12** pass.',
    });
  });

  it('with --events prints every event, its place first, a line each', async () => {
    const delta = { type: 'thought.delta', text: 'Lo', depth: 0, session: SESSION, turn: 1 } as const;
    const { out } = await command(['run', 'a.yml', 'x', '--events'], {
      live: () => ({ events: [...SHORT_RUN.slice(0, 1), delta, ...SHORT_RUN.slice(-1)], result: {} }),
    });
    const lines = out.trimEnd().split('\n');
    expect(lines.map((line) => Object.keys(JSON.parse(line)))).toEqual([
      ['seq', 'at', 'session', 'turn', 'type', 'agent', 'input', 'manifest', 'model', 'cause'],
      ['session', 'turn', 'type', 'text', 'depth'],
      ['seq', 'at', 'session', 'turn', 'type', 'result', 'cause'],
    ]);
    expect(JSON.parse(lines.at(-1) ?? '').type).toBe('session.completed');
  });

  it.each([
    ['completed', 0],
    ['failed', 1],
    ['cancelled', 1],
    ['stalled', 3],
    ['waiting', 3],
    ['interrupted', 130],
  ] as const)('that ends as %s ends with %i', async (status, code) => {
    expect((await command(['run', 'a.yml', 'x'], ending({ status }))).code).toBe(code);
  });

  it('says what went wrong, where, and what to do', async () => {
    const error = {
      code: 'limit_turns',
      message: 'Too many\u001b[2J turns.',
      hint: 'Raise "limits.turns".',
      retryable: false,
    };
    const { code, err } = await command(
      ['run', 'a.yml', 'x'],
      ending({ status: 'failed', error, turns: 0 }, SHORT_RUN.slice(0, 6)),
    );
    expect(code).toBe(1);
    expect(err).toBe(
      `failed: Too many turns. [limit_turns]\n  session ${SESSION}, turn 1\n  → See: telltale logs ${SESSION}\n  → Raise "limits.turns".\n`,
    );
    expect((await command(['run', 'a.yml', 'x', '--events'], ending({ status: 'failed', error }))).err).toBe(
      '',
    );
  });

  it('hands on what the runtime refuses', async () => {
    const refused = Promise.reject(
      new RuntimeError('no_model', 'The agent names no model.', { hint: 'Give --model.' }),
    );
    refused.catch(() => undefined); // it is looked at later
    const { code, err, runtime } = await command(['run', 'a.yml', 'x'], {
      live: () => ({ events: [], result: refused }),
    });
    expect({ code, err }).toEqual({
      code: 1,
      err: 'error: The agent names no model.\n  telltale run a.yml x\n  → Give --model.\n',
    });
    expect(runtime.calls.at(-1)).toEqual(['close']);
  });

  it('reads its input from a pipe, without the last line break', async () => {
    const piped = await command(['run', 'a.yml'], SHORT, { stdin: 'Fix\nthis\n' });
    expect(piped.runtime.calls[2]).toEqual(['start', { input: 'Fix\nthis' }]);
    expect((await command(['run', 'a.yml', '-'], SHORT, { stdin: 'x' })).runtime.calls[2]).toEqual([
      'start',
      { input: 'x' },
    ]);
  });

  it('refuses to run an agent that is told nothing', async () => {
    const empty = await command(['run', 'a.yml'], SHORT, { stdin: '\n' });
    expect(empty).toMatchObject({ code: 2, out: '' });
    expect(empty.err).toContain('Standard input is empty.');
    const typed = await command(['run', 'a.yml'], SHORT, { lines: [] });
    expect(typed.err).toContain('→ Add a task after the manifest: telltale run a.yml "what to do"');
    const blank = await command(['run', 'a.yml', ' '], SHORT);
    expect(blank).toMatchObject({ code: 2, out: '' });
    expect(blank.err).toContain('The input is empty.');
    const spaced = await command(['run', 'my bots/a.yml', ''], SHORT);
    expect(spaced.err).toContain(`telltale run 'my bots/a.yml' "what to do"`);
  });

  it.each([
    [['--var', 'x'], "--var 'x' is not name=value."],
    [['--var', '1=x'], "--var '1=x' is not name=value."],
    [['--var', 'a=1', '--var', 'a=2'], 'sets a a second time'],
    [['--max-turns', '0'], "--max-turns '0' is not a whole number of at least 1."],
    [['--max-turns', '1.5'], 'is not a whole number'],
    [['--json', '--events'], "'--events' and '--json' cannot be used together."],
    [['--durability', 'none'], "'none' is invalid"],
    [['--store', ''], '--store names no store.'],
    [['--accept-changes'], "'--accept-changes' only works with --resume."],
    [['--resume', 'last', '--var', 'a=1'], "'--var' cannot change a session"],
  ])('refuses %j and runs nothing', async (argv, message) => {
    const { code, out, err, runtime } = await command(['run', 'a.yml', 'x', ...argv], SHORT);
    expect(code).toBe(2);
    expect(out + err).toContain(argv.includes('--json') ? '"ok": false' : message);
    expect(runtime.calls.some(([call]) => call === 'start')).toBe(false);
  });

  it('shows all mistakes of a manifest as validate does, and ends with 2', async () => {
    const cwd = temporaryProject({ 'a.yml': 'kind: Agent\nname: a\ndialct: x\n' });
    const loadError = new RuntimeError('bad_manifest', 'a.yml has 1 error');
    const plain = await command(['run', 'a.yml', 'x'], { loadError }, { cwd });
    expect(plain).toMatchObject({ code: 2, out: '' });
    expect(plain.err).toContain('a.yml:3:1\n    dialct: x\n    ^^^^^^\n');
    const json = await command(['run', 'a.yml', 'x', '--json'], { loadError }, { cwd });
    expect(json).toMatchObject({ code: 2, err: '' });
    expect(JSON.parse(json.out)).toMatchObject({ ok: false, errors: 1, diagnostics: [{ line: 3 }] });
  });

  it('wants a file, not a folder', async () => {
    const cwd = temporaryProject({ 'bots/a.yml': 'kind: Agent\nname: a\n' });
    const { code, err, runtime } = await command(['run', 'bots', 'x'], SHORT, { cwd });
    expect(code).toBe(2);
    expect(err).toMatch(/^error: 'bots' is a folder\.\n.*\n +\^{4}\n {2}→ .*bots\/agent\.yml/);
    expect(runtime.calls).toEqual([]);
  });

  it('ends with 1 where the log was lost, says why, and does not say it twice when closing fails', async () => {
    const error = { code: 'store_full', message: 'No space left.', hint: 'Make room.', retryable: true };
    const fake = {
      ...ending({ status: 'interrupted', error }),
      closeError: new RuntimeError('store_full', 'No space left.'),
    };
    const { code, err } = await command(['run', 'a.yml', 'x', '--store', 'b.db'], fake);
    expect(code).toBe(1);
    expect(err).toBe(
      `lost: No space left.\n  → Make room.\ninterrupted before its first turn\nResume with: telltale resume ${SESSION} --store b.db\n`,
    );
    expect(await command(['run', 'a.yml', 'x'], { ...SHORT, closeError: fake.closeError })).toMatchObject({
      code: 1,
    });
  });

  it('names the store in the commands that an error recommends', async () => {
    const id = 'ses_01m7f35x1cr735e59caq6zj1h0';
    const error = {
      code: 'stalled',
      message: 'It did nothing.',
      hint: `Try: telltale steer ${id} "…"`,
      retryable: false,
    };
    const argv = ['run', 'a.yml', 'x', '--store', 'b.db'];
    expect((await command(argv, ending({ status: 'stalled', error }))).err).toContain(
      `→ Try: telltale steer ${id} --store b.db "…"`,
    );
    const loadError = new RuntimeError('manifest_changed', 'It has changed.', {
      hint: `telltale resume ${id} -x`,
    });
    const cwd = temporaryProject({ 'a.yml': 'kind: Agent\nname: a\n' });
    expect((await command(argv, { loadError }, { cwd })).err).toContain(
      `→ telltale resume ${id} --store b.db -x`,
    );
  });

  it('ends with 2 where a sound file holds no agent', async () => {
    const cwd = temporaryProject({ 't.yml': 'kind: Tool\nname: t\nimplementation: { command: [ls] }\n' });
    const loadError = new RuntimeError('no_agent', 't.yml has no Agent.');
    expect(await command(['run', 't.yml', 'x'], { loadError }, { cwd })).toMatchObject({ code: 2 });
    const unknown = new RuntimeError('provider_unknown', 'There is no provider "x".');
    expect(await command(['run', 't.yml', 'x'], { loadError: unknown }, { cwd })).toMatchObject({ code: 2 });
  });

  it('with --quiet on a terminal renders the response, and in a pipe leaves every character of it', async () => {
    const { bold, cyan, yellow } = createColors(true);
    const terminal = { terminal: true, color: true };
    const quiet = (result: unknown, io: object = {}) =>
      command(['run', 'a.yml', 'x', '-q'], ending({ result: result as string }), io);
    expect((await quiet('# All\n**12** `pass`', terminal)).out).toContain(
      `${bold(cyan('All'))}\n${bold('12')} ${cyan('pass')}\n`,
    );
    expect((await quiet({ n: 1 }, terminal)).out).toContain(`{${cyan('"n"')}:${yellow('1')}}\n`);
    expect((await quiet('# All\n**12** `pass`')).out).toBe('# All\n**12** `pass`\n');
  });

  it('draws a live view on a terminal, and leaves the whole run behind on it', async () => {
    const { io, outcome } = begin(['run', 'a.yml', 'x'], SHORT, { terminal: true });
    const { code, out } = await outcome;
    expect(code).toBe(0);
    expect(out).toContain('  ✓ a1 run_tests');
    expect(out).toContain('✓ completed  1 turn');
    expect(io.clock.pending).toBe(0);
  });
});

describe('a session that somebody else cancels', () => {
  it('says who did, and why', async () => {
    const events = eventList([
      [0, started()],
      [5, { type: 'session.cancelled', by: 'user', reason: 'the branch\nis gone' }],
    ]);
    const { code, err } = await command(
      ['run', 'a.yml', 'x', '--quiet'],
      ending({ status: 'cancelled' }, events),
    );
    expect(code).toBe(1);
    expect(err).toBe(
      `cancelled: The session ${SESSION} was cancelled by user: the branch is gone\nSee: telltale logs ${SESSION}\n`,
    );
  });
});

describe('Ctrl-C', () => {
  /** A session that starts an action and then waits to be stopped. */
  const endless = () => {
    let release = () => {};
    const stopped = new Promise<void>((resolve) => {
      release = resolve;
    });
    const fake: FakeOptions = {
      live: () => ({
        events: (async function* () {
          yield* SHORT_RUN.slice(0, 6);
          await stopped;
        })(),
        result: new Promise(() => {}),
        onInterrupt: release,
      }),
    };
    return fake;
  };
  const interrupted = async (argv: readonly string[]) => {
    const { io, runtime, outcome } = begin(argv, endless());
    for (
      let round = 0;
      round < 200 && !io.out().includes('a1') && !runtime.calls.some(([call]) => call === 'start');
      round++
    )
      await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    io.interrupt();
    return { ...(await outcome), runtime };
  };

  it('lets go of the session, and says what was running and how to go on', async () => {
    const { code, err, runtime } = await interrupted(['run', 'a.yml', 'x']);
    expect(code).toBe(130);
    expect(err).toMatch(
      /^interrupted in turn 1 while running: a1 run_tests \(.*\)\nResume with: telltale resume ses_/,
    );
    expect(runtime.calls.filter(([call]) => call === 'interrupt')).toHaveLength(1);
    expect(runtime.calls.at(-1)).toEqual(['close']);
  });

  it('names the store where it has to be named, and says so where nothing is left', async () => {
    expect((await interrupted(['run', 'a.yml', 'x', '--store', 'b.db'])).err).toContain(
      `resume ${SESSION} --store b.db\n`,
    );
    expect((await interrupted(['run', 'a.yml', 'x', '--store', 'memory'])).err).toContain(
      'it cannot be resumed',
    );
  });

  /** A session whose tool takes its time to end. */
  const slowly = async (options: readonly string[], given: RecordedIoOptions = {}) => {
    let release = () => {};
    const ended = new Promise<void>((resolve) => {
      release = resolve;
    });
    const events = async function* () {
      yield* SHORT_RUN.slice(0, 6);
      await ended;
    };
    const live = () => ({ events: events(), result: new Promise<never>(() => {}) });
    const { io, runtime, outcome } = begin(['run', 'a.yml', 'x', ...options], { live }, given);
    while (!runtime.calls.some(([call]) => call === 'start'))
      await new Promise((resolve) => setImmediate(resolve));
    io.interrupt();
    while (!runtime.calls.some(([call]) => call === 'interrupt'))
      await new Promise((resolve) => setImmediate(resolve));
    await io.clock.advance(2000);
    const meanwhile = io.err();
    release();
    await outcome;
    return { meanwhile, pending: io.clock.pending };
  };

  it.each([
    { options: [], said: /^Stopping\. .* Press Ctrl-C again to stop at once\.\n$/ },
    { options: ['--quiet'], said: /^Stopping\. .* Press Ctrl-C again to stop at once\.\n$/ },
    { options: ['--json'], said: /^$/ },
    { options: ['--events'], said: /^$/ },
  ])('says in a pipe that it stops, where that takes its time: $options', async ({ options, said }) => {
    const { meanwhile, pending } = await slowly(options);
    expect(meanwhile).toMatch(said);
    expect(pending).toBe(0);
  });

  it('says so in the line of progress on a terminal', async () => {
    const { meanwhile } = await slowly(['--quiet'], { terminal: true });
    expect(meanwhile).toContain('stopping; press Ctrl-C again to stop at once');
  });

  it('says it in JSON where JSON was asked for', async () => {
    const { code, out, err } = await interrupted(['run', 'a.yml', 'x', '--json']);
    expect({ code, err }).toEqual({ code: 130, err: '' });
    expect(JSON.parse(out)).toMatchObject({ status: 'interrupted', session: SESSION });
  });
});

describe('telltale resume', () => {
  const RESUMED: FakeOptions = {
    logs: [SHORT_RUN.slice(0, 9)],
    live: () => ({ events: SHORT_RUN, result: { result: 'ok' } }),
  };

  it('goes on with the agent of the log, and shows only what is new', async () => {
    const { code, out, runtime } = await command(['resume', 'last'], RESUMED);
    expect(code).toBe(0);
    expect(runtime.calls).toContainEqual(['loadAgent', '/p/agent.yml', 'fixer']);
    expect(runtime.calls).toContainEqual(['resume', SESSION, { by: signer(), agent: expect.anything() }]);
    expect(out.split('\n')[0]).toBe('action.completed  a1 run_tests in 800 ms: 12 passed');
  });

  it('may allow the session more turns', async () => {
    const { runtime } = await command(['resume', 'last', '--max-turns', '9'], RESUMED);
    expect(runtime.calls).toContainEqual([
      'resume',
      SESSION,
      { by: signer(), agent: expect.anything(), maxTurns: 9 },
    ]);
  });

  it('is also run --resume, where an input is a message to the agent', async () => {
    const { runtime } = await command(
      ['run', 'b.yml', 'Go on', '--resume', 'abc', '--accept-changes'],
      RESUMED,
    );
    expect(runtime.calls[0]).toEqual(['loadAgent', 'b.yml', undefined]);
    expect(runtime.sent).toEqual([[SESSION, { kind: 'steer', from: signer(), body: 'Go on' }]]);
    expect(runtime.calls).toContainEqual([
      'resume',
      SESSION,
      { by: signer(), agent: expect.anything(), acceptChanges: true, first: expect.any(Function) },
    ]);
  });

  it('makes no store where there is none', async () => {
    const { code, err, runtime } = await command(
      ['resume', 'last'],
      {},
      { env: {}, cwd: temporaryProject() },
    );
    expect(code).toBe(1);
    expect(err).toContain('There is no store at sqlite:.telltale/telltale.db.');
    expect(runtime.calls).toEqual([]);
  });
});

describe('a permission that asks', () => {
  const asking = (
    questions: readonly Partial<Parameters<Approve>[0]>[],
    answers: (boolean | string | undefined)[],
  ): FakeOptions => ({
    live: (_start, { approve }) => ({
      events: (async function* () {
        yield* eventList([[0, started()]]);
        const given = await Promise.all(
          questions.map((question) =>
            approve?.({
              what: 'run it',
              target: 'shell',
              input: {},
              signal: new AbortController().signal,
              ...question,
            }),
          ),
        );
        answers.push(
          ...given.map((answer) =>
            typeof answer === 'object'
              ? answer.always === true
                ? 'always'
                : (answer.note ?? answer.approved)
              : answer,
          ),
        );
      })(),
      result: {},
    }),
  });
  const ask = async (
    questions: readonly Partial<Parameters<Approve>[0]>[],
    lines?: readonly string[],
    terminal = true,
  ) => {
    const answers: (boolean | string | undefined)[] = [];
    const { err } = await command(['run', 'a.yml', 'x'], asking(questions, answers), {
      terminal,
      ...(lines === undefined ? {} : { lines }),
    });
    return { answers, err };
  };

  it('asks a person, one question after the other; only yes is yes', async () => {
    const questions = [
      { what: 'rm -rf build', input: { command: 'rm -rf build' } },
      { target: 'http' },
      {},
      {},
    ];
    const { answers, err } = await ask(questions, ['y', 'n', '', 'YES ']);
    expect(answers).toEqual([true, false, false, true]);
    expect(err).toContain('? shell asks for permission:\n    rm -rf build\n  Allow it? [y/N] ');
  });

  it('asks again after an answer that it does not know, and shows all parameters that it has not shown', async () => {
    const input = { command: 'ls', cwd: 'src' };
    const { answers, err } = await ask(
      [{ what: 'ls', input }, {}],
      ['count the files', 'y', 'yep', 'n: too early'],
    );
    expect(answers).toEqual([true, 'too early']);
    expect(err).toContain(
      '    ls\n    {\n      "command": "ls",\n      "cwd": "src"\n    }\n  Allow it? [y/N] ',
    );
    expect(err.split('Type y or n. To tell the agent why not, type n and the reason.').length).toBe(3);
  });

  it('offers "always for this session" with what it covers, and only where the question does', async () => {
    const always = 'every call of tool "deploy"';
    const { answers, err } = await ask([{ always }, { always }, { always }, {}], ['a', ' Always', 'y', 'a']);
    expect(answers).toEqual(['always', 'always', true, false]);
    expect(err).toContain(
      '    "always" allows, until the session ends: every call of tool "deploy"\n  Allow it? [y]es / [N]o / [a]lways for this session ',
    );
    expect(err).toContain('    run it\n  Allow it? [y/N]   Type y or n.');
  });

  it('spells out what a terminal would hide', async () => {
    const { err } = await ask([{ what: 'ls\u001b[8m; rm -rf /', input: { x: '\u202eabc' } }], ['n']);
    expect(err).toContain('ls\\u{001B}[8m; rm -rf /');
    expect(err).toContain('"x": "\\u{202E}abc"');
  });

  it('refuses what is too long to be read, and what nobody answers', async () => {
    const { answers, err } = await ask([{ what: 'x'.repeat(20_000) }], ['y']);
    expect(answers).toEqual(['it is too long for a person to check']);
    expect(err).toContain('refused: shell is too long to show here');
    expect((await ask([{}], [])).answers).toEqual([false]);
  });

  it('is not put to anybody where there is no terminal', async () => {
    expect((await ask([{}], undefined)).answers).toEqual([undefined]);
    expect((await ask([{}], ['y'], false)).answers).toEqual([undefined]);
  });
});

describe('a run that takes long', () => {
  it('shows on a terminal that something goes on, even where only the result is wanted', async () => {
    let finish = () => {};
    const done = new Promise<object>((resolve) => {
      finish = () => resolve({ result: 'ok' });
    });
    const live = () => ({ events: SHORT_RUN.slice(0, 2), result: done });
    const { io, outcome } = begin(['run', 'a.yml', 'x', '-q'], { live }, { terminal: true });
    while (!io.err().includes('Turn 1: waiting for the model…')) {
      await new Promise((resolve) => setImmediate(resolve));
      await io.clock.advance(200);
    }
    finish();
    expect(await outcome).toMatchObject({ code: 0, out: 'ok\n' });
    expect(io.err().endsWith('\r\u001b[K')).toBe(true);
    expect(io.clock.pending).toBe(0);
  });

  it('leaves no timer behind when it breaks', async () => {
    const broken = () => ({
      events: SHORT_RUN.slice(0, 6),
      result: new Promise<object>((_, reject) =>
        setImmediate(() => reject(new RuntimeError('store_full', 'Full.'))),
      ),
    });
    for (const argv of [[], ['-q']]) {
      const { io, outcome } = begin(['run', 'a.yml', 'x', ...argv], { live: broken }, { terminal: true });
      expect(await outcome).toMatchObject({ code: 1, err: expect.stringContaining('Full.') });
      expect(io.clock.pending).toBe(0);
    }
  });
});
