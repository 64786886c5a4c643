import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { Session } from '../../src/agent/runtime-types.ts';
import { createChat } from '../../src/cli/chat/chat.ts';
import { readMessage } from '../../src/cli/chat/read-message.ts';
import { readTyped } from '../../src/cli/chat/read-typing.ts';
import type { Io } from '../../src/cli/io.ts';
import { main } from '../../src/cli/main.ts';
import { createRunView } from '../../src/cli/run/create-run-view.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { ObservedEvent } from '../../src/log/event.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { type RecordedIo, recordedIo } from './recorded-io.ts';
import { spawned } from './spawned.ts';

const PACE = 'tokens_per_second: 30\n';
const project = (turns: readonly string[], pace = '') =>
  temporaryProject({
    'agent.yml': 'kind: Agent\nname: talker\nmodel: scripted:./turns.yml\n',
    'turns.yml': `${pace}turns:\n${turns.map((turn) => `  - ${turn}\n`).join('')}`,
  });
const says = (text: string) => `<response final="true">${text}</response>`;

/** A person who says these, one after the other, whenever asked. */
async function chat(cwd: string, said: readonly (string | undefined)[], argv: readonly string[] = []) {
  const recorded = recordedIo({ cwd, lines: [] });
  const lines = [...said];
  const io: Io = {
    ...recorded,
    clock: createSystemClock(),
    stdin: { ...recorded.stdin, readMessage: async () => lines.shift() },
  };
  const code = await main(['chat', 'agent.yml', ...argv], io);
  return { code, out: recorded.out(), err: recorded.err() };
}

async function piped(cwd: string, stdin: string, argv: readonly string[]) {
  const io: RecordedIo = recordedIo({ cwd, stdin });
  const code = await main(['chat', 'agent.yml', ...argv], { ...io, clock: createSystemClock() });
  return { code, out: io.out(), err: io.err() };
}

const sessionIn = (text: string) => /ses_\w+/.exec(text)?.[0] ?? '';

describe('telltale chat', () => {
  it('is one session in which every message gets its answer', async () => {
    const cwd = project([says('Hello.'), says('Fine.')]);
    const { code, out, err } = await chat(cwd, ['Hi', 'How are you?']);
    expect({ code, err }).toEqual({ code: 0, err: expect.stringMatching(/^talker · scripted/) });
    expect(out.match(/^(response|message\.received|session\.waiting) .*/gm)).toEqual([
      'response          Hello.',
      'session.waiting   for message',
      'message.received  from user: How are you?',
      'response          Fine.',
      'session.waiting   for message',
    ]);
    expect(out).toContain('✓ completed  2 turns');
  });

  it('in a pipe takes a line as a message, and the end of the input as the end', async () => {
    const cwd = project([says('One.'), says('Two.')]);
    expect(await piped(cwd, 'a\r\n\n  \nb', ['--quiet'])).toEqual({
      code: 0,
      out: 'One.\nTwo.\n',
      err: '',
    });
  });

  it('on a terminal goes on behind a message that took more turns than allowed', async () => {
    const cwd = temporaryProject({
      'agent.yml': 'kind: Agent\nname: talker\nmodel: scripted:./turns.yml\nlimits: { turns: 1 }\n',
      'turns.yml': `turns: ['<response final="false">Hm.</response>', '${says('One.')}', '${says('Two.')}']\n`,
    });
    const { code, out, err } = await chat(cwd, ['Think.', 'Answer.', 'Again.']);
    expect(out.match(/^(?:response|session\.failed) .*/gm)).toEqual([
      'response          Hm.',
      expect.stringContaining('limit_turns'),
      'response          One.',
      'response          Two.',
    ]);
    expect({ code, failure: err.includes('[limit_turns]') }).toEqual({ code: 0, failure: true });
    expect((await chat(cwd, ['Think.', undefined])).code).toBe(1);
  });

  it('goes on when its script has no more turns, also after it was resumed', async () => {
    const cwd = project([says('One.')]);
    const ended = (turn: number) =>
      expect.stringContaining(`has 1 turn, but the session needs turn ${turn}. Add turn ${turn} to it`);
    const { code, out } = await piped(cwd, 'a\nb\nc\n', ['--quiet']);
    expect({ code, out: out.split('\n') }).toEqual({ code: 0, out: ['One.', ended(2), ended(3), ''] });
    const resumed = await piped(cwd, 'd\n', ['--resume', 'last', '--quiet']);
    expect(resumed).toEqual({ code: 0, out: ended(4), err: '' });
  });

  it('prints what it came to as JSON, and every event as it comes', async () => {
    const cwd = project([says('One.'), says('Two.')]);
    const { out } = await piped(cwd, 'a\nb\n', ['--json']);
    expect(JSON.parse(out)).toMatchObject({ status: 'completed', result: 'Two.', turns: 2 });
    const { out: lines } = await piped(project([says('One.')]), 'a\n', ['--events']);
    const types = lines
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).type);
    expect(types).toContain('session.waiting');
    expect(types.at(-1)).toBe('session.completed');
  });

  it('begins with the message on its command line', async () => {
    const cwd = project([says('One.')]);
    expect((await piped(cwd, '', ['Hi', '--quiet'])).out).toBe('One.\n');
  });

  it('starts no session where nothing is said', async () => {
    const cwd = project([says('One.')]);
    expect(await piped(cwd, '\n', [])).toMatchObject({
      code: 2,
      err: expect.stringContaining('Standard input is empty.'),
    });
    expect(await chat(cwd, [undefined])).toMatchObject({ code: 0 });
    const io = recordedIo({ cwd });
    await main(['sessions', '--json'], io);
    expect(JSON.parse(io.out())).toEqual([]);
  });

  it('answers /help, /status and what it does not know by itself', async () => {
    const cwd = project([says('One.')]);
    const { err, out } = await chat(cwd, ['/status', '/hlep', '/help', '', 'Hi', '/status', '/quit']);
    expect(err).toContain('Nothing was said yet.');
    expect(err).toContain('There is no /hlep. Did you mean "/help"?');
    expect(err).toContain('/quit     end the conversation');
    expect(err).toMatch(/ses_\w+ · 1 turn here/);
    expect(out).toContain('✓ completed');
  });

  it('refuses what run refuses', async () => {
    const cwd = project([says('One.')]);
    for (const [argv, message] of [
      [['--accept-changes'], "'--accept-changes' only works with --resume."],
      [['--resume', 'last', '--var', 'a=1'], "'--var' cannot change a session"],
      [['--json', '--quiet'], "'--json' and '--quiet'"],
      [[' '], 'The message is empty.'],
    ] as const) {
      const { code, out, err } = await piped(cwd, 'x', argv);
      expect({ code, said: (out + err).includes(message) }).toEqual({ code: 2, said: true });
    }
  });

  it.each(['chat', 'resume'])('goes on with %s where it was left', async (command) => {
    const cwd = project([says('One.'), says('Two.')]);
    const { out } = await piped(cwd, 'a\n', []);
    const session = sessionIn(out);
    const argv = command === 'chat' ? ['chat', 'agent.yml', '--resume', session] : ['resume', session];
    const io = recordedIo({ cwd, stdin: 'b\n' });
    expect(await main([...argv, '--quiet'], { ...io, clock: createSystemClock() })).toBe(0);
    expect(io.out()).toBe('Two.\n');
  });
});

describe('Ctrl-C in a chat', () => {
  /** Presses it when `at` is printed, and again when asked the next time if `twice`. */
  async function interrupted(cwd: string, twice: boolean) {
    const recorded = recordedIo({ cwd, lines: [] });
    let asked = 0;
    let pressed = false;
    const io: Io = {
      ...recorded,
      clock: createSystemClock(),
      stdout: {
        ...recorded.stdout,
        async write(text) {
          await recorded.stdout.write(text);
          if (pressed || !recorded.out().includes('thought ')) return;
          pressed = true;
          recorded.interrupt();
        },
      },
      stdin: {
        ...recorded.stdin,
        async readMessage(_prompt, signal) {
          asked++;
          if (asked === 1) return 'Hi';
          if (!twice) return asked === 2 ? 'Again' : undefined;
          recorded.interrupt();
          expect(signal.aborted).toBe(true);
          return undefined;
        },
      },
    };
    const code = await main(['chat', 'agent.yml'], io);
    return { code, out: recorded.out(), err: recorded.err() };
  }
  const turns = [
    '<thought>Hm.</thought><response final="true">A long, long, long answer.</response>',
    says('Ok'),
  ];

  it('breaks off the turn, and the conversation goes on', async () => {
    const { code, out } = await interrupted(project(turns, PACE), false);
    expect(code).toBe(0);
    expect(out).toContain('turn.failed       broken_off: The user broke off the turn.');
    expect(out).toContain('response          Ok');
    expect(out).not.toContain('A long, long, long answer.');
  });

  it.each(['live', 'quiet'] as const)(
    'says on a terminal that the turn stops, until it has: %s',
    async (mode) => {
      const io = recordedIo({ terminal: true, lines: [] });
      const view = await createRunView(mode, io);
      const chat = createChat(io, view);
      let brokenOff = 0;
      chat.lead({ breakOff: () => void brokenOff++ } as Session);
      const shown = async () => {
        const before = (io.out() + io.err()).length;
        await io.clock.advance(1000);
        return (io.out() + io.err()).slice(before);
      };
      const at = { at: io.clock.now(), session: 's', turn: 1, cause: { stream: 's', seq: 0, depth: 0 } };
      const started = { ...at, seq: 1, type: 'turn.started' } as ObservedEvent;
      await view.show(started);
      expect(await shown()).not.toContain('stopping');
      io.interrupt();
      expect(brokenOff).toBe(1);
      const stopping = await shown();
      expect(stopping).toContain('stopping the turn; press Ctrl-C again to leave');
      expect(stopping).not.toContain('the model is speaking');
      await view.show({ ...started, turn: 2 });
      expect(await shown()).not.toContain('stopping');
      await view.leave();
      await chat.end();
    },
  );

  it('twice leaves, and says how to go on', async () => {
    const { code, err, out } = await interrupted(project(turns, PACE), true);
    expect(code).toBe(130);
    expect(err).toContain(`Resume with: telltale chat agent.yml --resume ${sessionIn(out)}\n`);
  });
});

it('a chat that was killed goes on where its log ends', { timeout: 30_000 }, async () => {
  const cwd = project([says('One.'), '<thought>I begin</thought><response>Slow'], PACE);
  const first = spawned(['chat', 'agent.yml'], cwd, { stdin: 'pipe' });
  first.child.stdin?.write('a\n');
  await first.says('session.waiting');
  first.child.kill('SIGKILL');
  await first.ended;
  const io = recordedIo({ cwd, stdin: '' });
  const code = await main(['chat', 'agent.yml', '--resume', 'last', '--json'], {
    ...io,
    clock: createSystemClock(),
  });
  expect({ code, result: JSON.parse(io.out()) }).toMatchObject({
    code: 0,
    result: { status: 'completed', result: 'One.', turns: 1 },
  });
});

describe('a message on a terminal', () => {
  const ask = () => {
    const input = Object.assign(new PassThrough(), { isTTY: true });
    const written: string[] = [];
    const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
    output.on('data', (chunk) => written.push(String(chunk)));
    const abort = new AbortController();
    const history: string[] = [];
    let interrupts = 0;
    const read = () =>
      readMessage({
        input: input as never,
        output: output as never,
        prompt: '> ',
        history,
        signal: abort.signal,
        onInterrupt: () => void interrupts++,
      });
    return { input, read, abort, history, out: () => written.join(''), interrupts: () => interrupts };
  };

  it('can be edited, and fetched again with the arrow keys', async () => {
    const { input, read, history } = ask();
    const first = read();
    input.write('hallo\u007f\u007f\u007f\u007fello\r');
    expect(await first).toBe('hello');
    const second = read();
    input.write('\u001b[A!\r');
    expect(await second).toBe('hello!');
    expect(history).toEqual(['hello!', 'hello']);
  });

  it('is one where several lines are pasted', async () => {
    const { input, read } = ask();
    const message = read();
    input.write('one\rtwo\rthree');
    expect(await message).toBe('one\ntwo\nthree');
  });

  it('is dropped by Ctrl-C, and asked for again', async () => {
    const { input, read, interrupts, out } = ask();
    const message = read();
    input.write('wrong\u0003');
    while (interrupts() === 0) await new Promise((resolve) => setImmediate(resolve));
    input.write('right\r');
    expect(await message).toBe('right');
    expect(out().match(/> /g)?.length).toBeGreaterThan(1);
  });

  it('is none at Ctrl-D, and when nobody waits for it any more', async () => {
    const ended = ask();
    const message = ended.read();
    ended.input.write('\u0004');
    expect(await message).toBeUndefined();
    const put = ask();
    const waiting = put.read();
    put.abort.abort();
    expect(await waiting).toBeUndefined();
    expect(await put.read()).toBeUndefined();
  });
});

it('what begins with a slash is a message if it is no single word', () => {
  const read = (line: string) => readTyped(line, () => '').kind;
  expect(['/etc/hosts', '/help me', 'a', '/1'].map(read)).toEqual(Array(4).fill('message'));
  expect(['/help', ' /quit ', '/nosuch'].map(read)).toEqual(['answer', 'quit', 'answer']);
});
