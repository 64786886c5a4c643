import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { RegisterCommand } from '../../src/cli/command.ts';
import { EXIT } from '../../src/cli/command.ts';
import { main } from '../../src/cli/main.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import { recordedIo } from './recorded-io.ts';

const greet: RegisterCommand = (program, { io, run }) => {
  program
    .command('greet')
    .description('says hello')
    .argument('<name>', 'whom to greet')
    .option('--json', 'as JSON')
    .option('--times <n>', 'how often')
    .action(
      run(async (name: string) => {
        if (name === 'nobody')
          throw new RuntimeError('nobody_there', 'There is nobody.', { hint: 'Name somebody.' });
        if (name === 'away')
          throw new RuntimeError('store_unreachable', 'It is away.', { hint: 'Look whether it runs.' });
        if (name === 'bug') throw new TypeError('x is not a function');
        await io.stdout.write(`Hello ${name}\n`);
        return name === 'stranger' ? EXIT.failed : EXIT.ok;
      }),
    );
};

const run = async (argv: readonly string[], options: Parameters<typeof recordedIo>[0] = {}) => {
  const io = recordedIo(options);
  const code = await main(argv, io, [greet]);
  return { code, out: io.out(), err: io.err() };
};

describe('main', () => {
  it('ends with the code the command returns', async () => {
    expect(await run(['greet', 'Ada'])).toEqual({ code: 0, out: 'Hello Ada\n', err: '' });
    expect((await run(['greet', 'stranger'])).code).toBe(1);
  });

  it('lets no argument steer the terminal', async () => {
    const { code, err } = await run(['gr\u001b[31m\u202eeet']);
    expect(code).toBe(2);
    expect(err).toContain('gr\ufffd[31m\ufffdeet');
    for (const steering of ['\u001b', '\u202e']) expect(err).not.toContain(steering);
  });

  it('prints the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    expect(await run(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' });
  });

  it('names the nearest command when help is asked for one that is not there', async () => {
    expect(await run(['help', 'gret'])).toEqual({
      code: 2,
      out: '',
      err: `error: There is no command 'gret'.\n  telltale help gret\n                ^^^^\n  → Did you mean "greet"?\n`,
    });
  });

  it('shows the help on stdout when asked and when nothing is asked', async () => {
    const asked = await run(['--help']);
    expect(asked).toMatchObject({ code: 0, err: '' });
    expect(asked.out).toContain('greet <name>    says hello');
    expect(asked.out).toContain('130 interrupted');
    expect(await run([])).toEqual(asked);
    expect((await run(['help', 'greet'])).out).toBe((await run(['greet', '--help'])).out);
  });

  it('lists eight commands first, by group, and all of them when asked', async () => {
    const help = async (...argv: readonly string[]) => {
      const io = recordedIo({});
      expect(await main(argv, io)).toBe(0);
      const lines = io.out().split('\n');
      const named = lines.flatMap((line) => /^ {2}([a-z]+)(?: \S+)* {2,}\S/.exec(line)?.[1] ?? []);
      return { groups: lines.filter((line) => /^[A-Z]\w+:$/.test(line)), named, text: io.out() };
    };
    const first = await help('--help');
    expect(first.named).toHaveLength(8);
    expect(first.groups).toEqual(['Options:', 'Build:', 'Run:', 'Watch:', 'Operate:']);
    expect(first.text).toContain('All commands:            telltale help all\n');
    const all = await help('help', 'all');
    expect(all.groups).toEqual(['Options:', 'Build:', 'Run:', 'Watch:', 'Operate:', 'Commands:']);
    expect(all.named).toEqual(expect.arrayContaining([...first.named, 'why', 'fork', 'token', 'validate']));
    expect(all.named.length).toBeGreaterThan(30);
  });

  it('points at an unknown option in the command line and names the nearest one', async () => {
    expect(await run(['greet', 'Ada', '--jsno'])).toEqual({
      code: 2,
      out: '',
      err: `error: Unknown option '--jsno'.
  telltale greet Ada --jsno
                     ^^^^^^
  → Did you mean --json?
`,
    });
  });

  it('points at an unknown command and names the nearest one', async () => {
    expect(await run(['great'])).toMatchObject({
      code: 2,
      err: "error: Unknown command 'great'.\n  telltale great\n           ^^^^^\n  → Did you mean greet?\n",
    });
  });

  it('says which help page to read when nothing is near', async () => {
    expect((await run(['xyzzy'])).err).toContain('→ To see all commands: telltale help all\n');
    expect((await run(['greet', 'Ada', '--xyzzy'])).err).toContain(
      '→ Run "telltale greet --help" for its options.',
    );
    expect((await run(['greet'])).err).toContain("Missing required argument 'name'.");
    expect((await run(['greet', 'a', 'b'])).code).toBe(2);
    expect((await run(['greet', 'a', '--times'])).code).toBe(2);
  });

  it('prints a command error in three lines and no stack trace', async () => {
    expect(await run(['greet', 'nobody'])).toEqual({
      code: 1,
      out: '',
      err: 'error: There is nobody.\n  telltale greet nobody\n  → Name somebody.\n',
    });
  });

  it('prints an error as one JSON value on stdout with --json', async () => {
    const failed = await run(['greet', 'nobody', '--json']);
    expect(failed).toMatchObject({ code: 1, err: '' });
    expect(JSON.parse(failed.out)).toEqual({
      ok: false,
      error: { code: 'nobody_there', message: 'There is nobody.', hint: 'Name somebody.', retryable: false },
    });
    const misspelt = await run(['greet', '--json', '--tmies', '3']);
    expect(misspelt.code).toBe(2);
    expect(JSON.parse(misspelt.out).error).toMatchObject({ code: 'usage', hint: 'Did you mean --times?' });
  });

  it('says what to do where a database is away: nothing is tried again once the command has ended', async () => {
    const { err } = await run(['greet', 'away']);
    expect(err).toContain('→ Look whether it runs. Then run the command again.');
  });

  it('takes --json behind -- for an argument', async () => {
    expect((await run(['greet', '--', '--json', 'x'])).err).toContain('Too many arguments');
  });

  it('shows the stack of a defect only when TELLTALE_DEBUG is set', async () => {
    const quiet = await run(['greet', 'bug']);
    expect(quiet).toMatchObject({ code: 1, out: '' });
    expect(quiet.err).not.toContain('main.test.ts');
    expect(quiet.err).toContain('→ Set TELLTALE_DEBUG=1 for the stack trace.');
    expect((await run(['greet', 'bug'], { env: { TELLTALE_DEBUG: '1' } })).err).toContain('main.test.ts');
  });

  it.each([
    ['that closes in order', undefined, 0, ''],
    ['that was broken off while it started', 'reason', 130, ''],
    ['whose closing fails', new RuntimeError('store_unreachable', 'Nobody answers.'), 1, 'Nobody answers.'],
    ['with a mistake of ours in it', new Error('Oh.'), 1, 'Oh.'],
  ])('ends a command %s when it is told to stop as it came to its end', async (_what, thrown, code, said) => {
    const io = recordedIo();
    const serving: RegisterCommand = (program, { run, endsWhenStopped }) => {
      program.command('stay').action(
        run(async () => {
          endsWhenStopped();
          io.interrupt();
          if (thrown !== undefined) throw thrown === 'reason' ? io.signal.reason : thrown;
          return EXIT.ok;
        }),
      );
    };
    expect(await main(['stay'], io, [serving])).toBe(code);
    if (said === '') expect(io.err()).toBe('');
    else expect(io.err()).toContain(said);
  });

  it('says that a store could not be closed, also where a person broke the command off', async () => {
    const io = recordedIo();
    const stopped: RegisterCommand = (program, { run }) => {
      program.command('stop').action(
        run(async () => {
          io.interrupt();
          throw new RuntimeError('store_full', 'The disk is full.');
        }),
      );
    };
    expect(await main(['stop'], io, [stopped])).toBe(1);
    expect(io.err()).toContain('The disk is full.');
  });

  it('ends with 130 after an interruption, whatever the command did with it', async () => {
    const io = recordedIo();
    const stopped: RegisterCommand = (program, { run }) => {
      program.command('stop').action(
        run(async () => {
          io.interrupt();
          throw io.signal.reason;
        }),
      );
    };
    expect(await main(['stop'], io, [stopped])).toBe(130);
    expect(io.err()).toBe('');
  });

  it('colors errors only where color is welcome', async () => {
    expect((await run(['greet', 'nobody'], { color: true })).err).toContain('\u001b[31m');
    expect((await run(['greet', 'nobody'])).err).not.toContain('\u001b[');
  });
});
