import { execFileSync } from 'node:child_process';
import { lstat, mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { decodeSource } from '../../src/manifest/source-text.ts';
import type { Model } from '../../src/models/model.ts';
import { MODEL_FAILURES } from '../../src/models/model-errors.ts';
import { openModel } from '../../src/models/open-model.ts';
import { formatScript, recordModel, recordToFile } from '../../src/models/record.ts';
import { readScript } from '../../src/models/scripted/load-script.ts';
import type { Script } from '../../src/models/scripted/script.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { moreRuns } from '../more-runs.ts';
import { ask } from './collect.ts';

const clock = createSystemClock();
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'telltale-record-'));
});

/** From text to bytes and back, as a file would. */
function readBack(text: string): Script {
  const decoded = decodeSource('x.yml', new TextEncoder().encode(text));
  if (!decoded.ok) throw new Error(decoded.diagnostic.message);
  const read = readScript(decoded.source);
  if (!read.ok) throw new Error(`${read.diagnostics[0]?.message}\n${text}`);
  const { turns, ...rest } = read.script;
  return { ...rest, turns: turns.map(({ place: _place, ...turn }) => turn) };
}

const wild = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\n',
        '\n\n',
        ' ',
        '  ',
        '\t',
        '\r',
        '\r\n',
        '#',
        '- ',
        ': ',
        '---',
        '...',
        '|',
        '%',
        '&a',
        '*a',
      ),
      fc.constantFrom(
        '"',
        "'",
        '\\',
        '${HOME}',
        '<act>',
        '\ud800',
        '\udfff',
        '👍',
        '\u0000',
        '\u0085',
        '\u2028',
        '\ufeff',
        '\u007f',
      ),
      fc.string({ maxLength: 5 }),
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(''));

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const count = fc.integer({ min: 1, max: 1_000_000 });
const tokens = fc.nat(1_000_000);

const anyScript: fc.Arbitrary<Script> = fc
  .record({
    turns: fc.array(
      fc.record(
        {
          text: wild,
          reasoning: wild,
          tokensPerSecond: fc.double({ min: 0.1, max: 10_000, noNaN: true }),
          chunk: count,
          delayMs: tokens,
          expect: fc.array(
            fc.oneof(
              wild.filter((text) => text !== '').map((contains) => ({ contains })),
              wild.filter((text) => text !== '').map((notContains) => ({ notContains })),
            ),
            { maxLength: 3 },
          ),
          finish: fc.constantFrom('stop', 'length'),
          usage: fc.record(
            { input: tokens, output: tokens, cached: tokens, written: tokens },
            { requiredKeys: ['input', 'output'] },
          ),
          failing: fc.record({ failAfter: tokens, failWith: optional(fc.constantFrom(...MODEL_FAILURES)) }),
        },
        { requiredKeys: ['text'] },
      ),
      { minLength: 1, maxLength: 4 },
    ),
    firstTurn: optional(count),
    loop: optional(fc.boolean()),
    contextWindow: optional(count),
  })
  .map((script) => JSON.parse(JSON.stringify(flattened(script))) as Script);

/** Both or neither of what a failing turn says. */
const flattened = ({ turns, ...script }: { turns: readonly { failing?: object }[] }) => ({
  ...script,
  turns: turns.map(({ failing, ...turn }) => ({ ...turn, ...failing })),
});

describe('a script that is written down', () => {
  it('is read back as it was, whatever the texts hold', () => {
    fc.assert(
      fc.property(anyScript, (script) => {
        expect(readBack(formatScript(script, 'x'))).toEqual(script);
      }),
      { numRuns: moreRuns(200) },
    );
  });

  it('holds ordinary text as people would write it', () => {
    const text = '<think>a: b</think>\n\n  # no comment\n<respond>"x"</respond>\n';
    expect(
      formatScript({ turns: [{ text, delayMs: 12, usage: { input: 1, output: 2 } }] }, 'a/b\nc'),
    ).toBe(`# Recorded from a/b c.
turns:
  - text: |
      <think>a: b</think>

        # no comment
      <respond>"x"</respond>
    delay: 12ms
    usage: { input: 1, output: 2 }
`);
  });

  it('holds text that no block can hold in quotes', () => {
    const script = formatScript({
      turns: [{ text: 'a\r\nb' }, { text: '' }, { text: '\ud800' }, { text: ' \n' }],
    });
    expect(script.match(/text: .*/g)).toEqual([
      'text: "a\\r\\nb"',
      'text: ""',
      'text: "\\ud800"',
      'text: " \\n"',
    ]);
  });
});

describe('a recorded model', () => {
  /** Plays turns on the model, and says what came of each. */
  async function play(model: Model, turns: number) {
    const heard = [];
    for (let turn = 1; turn <= turns; turn++) {
      const { deltas, reasoning, end } = ask(model, { turn });
      const outcome = await end.catch((error: { code: string }) => error.code);
      heard.push({ text: deltas.join(''), reasoning: reasoning.join(''), outcome });
    }
    return heard;
  }

  it('says the same again when its file is played', async () => {
    const path = join(folder, 'new/folder/session.yml');
    const model = createScriptedModel({
      turns: [
        { text: 'one\n  two\t\r\n', reasoning: 'hm', usage: { input: 10, output: 3, cached: 2, written: 1 } },
        { text: 'abcdef', failAfter: 4 },
        { text: '', failAfter: 0, failWith: 'model_overloaded' },
        { text: '$x ${HOME} "quoted"', finish: 'length' },
      ],
    });
    const original = await play(recordToFile(model, path, clock), 4);
    const replayed = await play(await openModel(`scripted:${path}`, { env: {}, folder: '/', clock }), 4);
    expect(replayed).toEqual(original);
    expect(original[1]).toEqual({ text: 'abcd', reasoning: '', outcome: 'model_broke_off' });
    expect(await readdir(join(folder, 'new/folder'))).toEqual(['session.yml']);
  });

  it('is written after each turn, and a turn is over when it is written', async () => {
    const written: string[] = [];
    const model = recordModel(createScriptedModel({ id: 'a/b', turns: ['one', 'two'] }), {
      clock,
      write: async (script) => {
        await new Promise((resolve) => setImmediate(resolve));
        written.push(script);
      },
    });
    await ask(model, { turn: 1 }).end;
    expect(written.map((script) => readBack(script).turns.length)).toEqual([1]);
    await ask(model, { turn: 2 }).end;
    expect(written.map((script) => readBack(script).turns.length)).toEqual([1, 2]);
    expect(written[1]).toContain('# Recorded from a/b.');
  });

  it('keeps the pace it heard', async () => {
    const simulated = createSimulatedClock();
    let script = '';
    const model = recordModel(
      createScriptedModel({
        turns: [{ text: 'x'.repeat(400), tokensPerSecond: 20, delayMs: 700 }],
        clock: simulated,
      }),
      {
        clock: simulated,
        write: async (text) => {
          script = text;
        },
      },
    );
    const { end } = ask(model);
    await simulated.runAll();
    await end;
    const [turn] = readBack(script).turns;
    expect(turn?.delayMs).toBe(750);
    expect(turn?.tokensPerSecond).toBeCloseTo(20, 0);
  });

  it('says nothing of a pace where everything came at once', async () => {
    let script = '';
    const model = recordModel(createScriptedModel({ turns: ['one two three'] }), {
      clock: createSimulatedClock(),
      write: async (text) => {
        script = text;
      },
    });
    await ask(model).end;
    expect(readBack(script)).toEqual({ turns: [{ text: 'one two three' }] });
  });

  it('keeps a turn that was cancelled as far as it went', async () => {
    let script = '';
    const model = recordModel(createScriptedModel({ turns: ['abcdefgh'] }), {
      clock: createSimulatedClock(),
      write: async (text) => {
        script = text;
      },
    });
    const { error } = ask(model, { onText: (_delta, abort) => abort() });
    expect(await error).toMatchObject({ code: 'model_cancelled' });
    expect(readBack(script)).toEqual({ turns: [{ text: 'abcd', failAfter: 4 }] });
  });

  it('a turn that is asked for again replaces what it was', async () => {
    const path = join(folder, 'again.yml');
    let tries = 0;
    const flaky: Model = {
      id: 'flaky',
      stream: (request, sink) => {
        const turn = tries++ === 0 ? { text: '', failAfter: 0 } : { text: 'well' };
        return createScriptedModel({ turns: [turn] }).stream(request, sink);
      },
    };
    const model = recordToFile(flaky, path, createSimulatedClock());
    await ask(model).error;
    await ask(model).end;
    expect(readBack(await readFile(path, 'utf8'))).toEqual({ turns: [{ text: 'well' }] });
  });

  it('puts no file in the place of a device or a pipe, and asks no model first', async () => {
    const path = join(folder, 'pipe.yml');
    execFileSync('mkfifo', [path]);
    let asked = 0;
    const model: Model = {
      id: 'paid',
      stream: async () => {
        asked++;
        return { finish: 'stop' };
      },
    };
    const { error } = ask(recordToFile(model, path, createSimulatedClock()));
    expect(await error).toMatchObject({ code: 'record_failed' });
    expect(await error).toMatchObject({ message: expect.stringContaining('is not a file') });
    expect(asked).toBe(0);
    expect((await lstat(path)).isFIFO()).toBe(true);
  });

  it('of a session that goes on keeps what the file has of the turns before', async () => {
    const path = join(folder, 'on.yml');
    const turns = ['one', 'two', 'three'];
    const simulated = createSimulatedClock();
    const first = recordToFile(createScriptedModel({ turns }), path, simulated);
    for (const turn of [1, 2, 3]) await ask(first, { turn }).end;
    const second = recordToFile(createScriptedModel({ turns: ['-', 'TWO', 'THREE'] }), path, simulated);
    await ask(second, { turn: 2 }).end;
    expect(readBack(await readFile(path, 'utf8')).turns.map(({ text }) => text)).toEqual(['one', 'TWO']);
    await ask(second, { turn: 3 }).end;
    expect(readBack(await readFile(path, 'utf8')).turns.map(({ text }) => text)).toEqual([
      'one',
      'TWO',
      'THREE',
    ]);
  });

  it('of a session that goes on keeps what was said of a turn before it was cut short', async () => {
    const path = join(folder, 'cut.yml');
    const model = () =>
      recordToFile(createScriptedModel({ turns: ['zero', 'one two three'] }), path, simulated);
    const simulated = createSimulatedClock();
    const user = { role: 'user', text: 'go on' } as const;
    const messages = [
      user,
      { role: 'assistant', text: 'zero' },
      user,
      { role: 'assistant', text: 'one ' },
      user,
      { role: 'assistant', text: 'two ' },
      user,
    ] as const;
    await ask(model(), { turn: 2, said: 8, messages }).end;
    expect(readBack(await readFile(path, 'utf8')).turns).toEqual([{ text: 'one two three' }]);
    await ask(model(), { turn: 2, said: 7, messages }).end;
    expect(readBack(await readFile(path, 'utf8')).turns).toEqual([{ text: ' three' }]);
    const failing = createScriptedModel({ turns: ['', { text: 'one two three', failAfter: 10 }] });
    await ask(recordToFile(failing, path, simulated), { turn: 2, said: 8, messages }).error;
    expect(readBack(await readFile(path, 'utf8')).turns).toEqual([{ text: 'one two th', failAfter: 10 }]);
  });

  it('of a session that goes on without a file begins with the turn it heard', async () => {
    const path = join(folder, 'late.yml');
    const model = recordToFile(
      createScriptedModel({ turns: ['a', 'b', 'c', 'd'] }),
      path,
      createSimulatedClock(),
    );
    for (const turn of [2, 4]) await ask(model, { turn }).end;
    expect(readBack(await readFile(path, 'utf8'))).toEqual({
      firstTurn: 2,
      turns: [{ text: 'b' }, { text: '', failAfter: 0 }, { text: 'd' }],
    });
  });

  it('does not write over a file that is no script when a session goes on', async () => {
    const path = join(folder, 'notes.md');
    await writeFile(path, '# Notes\n');
    const { deltas, error } = ask(recordToFile(createScriptedModel({ turns: ['a', 'b'] }), path, clock), {
      turn: 2,
    });
    expect(await error).toMatchObject({ code: 'record_failed' });
    expect(deltas).toEqual([]);
    expect(await readFile(path, 'utf8')).toBe('# Notes\n');
  });

  it('that cannot be written says so, and leaves the file as it was', async () => {
    const path = join(folder, 'taken');
    await writeFile(path, 'x');
    expect(
      await ask(recordToFile(createScriptedModel({ turns: ['a'] }), join(path, 'x.yml'), clock)).error,
    ).toMatchObject({
      code: 'record_failed',
      retryable: false,
    });
  });

  it('says so as well where the file system makes no folder and says that it is not there', async () => {
    const path = '/proc/telltale/deep/x.yml';
    expect(await ask(recordToFile(createScriptedModel({ turns: ['a'] }), path, clock)).error).toMatchObject({
      code: 'record_failed',
    });
  });

  it('that cannot be written is not asked for at all', async () => {
    for (const path of [folder, join(folder, 'taken.d', 'x.yml')]) {
      await mkdir(join(folder, 'taken.d', 'x.yml'), { recursive: true });
      const { deltas, error } = ask(recordToFile(createScriptedModel({ turns: ['a'] }), path, clock));
      expect(await error).toMatchObject({
        code: 'record_failed',
        message: expect.stringContaining('folder'),
      });
      expect(deltas).toEqual([]);
    }
  });

  it('that was cut by the runtime and cannot be written says so', async () => {
    const model = recordModel(createScriptedModel({ turns: [{ text: 'abcd', chunk: 1 }] }), {
      clock,
      write: () => Promise.reject(new Error('disk full')),
    });
    const { error } = ask(model, { onText: (_, abort) => abort() });
    expect(await error).toMatchObject({
      code: 'record_failed',
      message: expect.stringContaining('disk full'),
    });
  });

  it('that fails and cannot be written fails as the model did', async () => {
    const model = recordModel(
      createScriptedModel({ turns: [{ text: 'a', failAfter: 0, failWith: 'model_timeout' }] }),
      {
        clock,
        write: () => Promise.reject(new Error('disk full')),
      },
    );
    expect(await ask(model).error).toMatchObject({ code: 'model_timeout' });
  });

  it('writes one script at a time when turns overlap', async () => {
    let writing = 0;
    let script = '';
    const model = recordModel(createScriptedModel({ turns: ['a', 'b', 'c', 'd'] }), {
      clock: createSimulatedClock(),
      write: async (text) => {
        expect(++writing).toBe(1);
        await new Promise((resolve) => setImmediate(resolve));
        script = text;
        writing--;
      },
    });
    await Promise.all([1, 2, 3, 4].map((turn) => ask(model, { turn }).end));
    expect(readBack(script).turns.map(({ text }) => text)).toEqual(['a', 'b', 'c', 'd']);
  });
});
