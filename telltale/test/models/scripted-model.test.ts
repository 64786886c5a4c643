import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { ModelMessage } from '../../src/models/model.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { ask } from './collect.ts';

const anyText = fc
  .array(fc.constantFrom('a', 'é', '漢', '👍', '🏳️‍🌈', '\n'), { maxLength: 40 })
  .map((characters) => characters.join(''));

const user = (text: string): readonly ModelMessage[] => [{ role: 'user', text }];

describe('a scripted model', () => {
  it('turn N of the session says entry N, whatever was asked before', async () => {
    const model = createScriptedModel({ turns: ['one', 'two', 'three'] });
    for (const [turn, text] of [
      [3, 'three'],
      [1, 'one'],
      [2, 'two'],
      [2, 'two'],
    ] as const) {
      const { deltas, end } = ask(model, { turn });
      expect(await end).toEqual({ finish: 'stop' });
      expect(deltas.join('')).toBe(text);
    }
  });

  it('goes on behind what was said before a restart: no delay, reasoning or expectation a second time', async () => {
    const clock = createSimulatedClock();
    const model = createScriptedModel({
      clock,
      turns: [
        {
          text: 'abcdefgh',
          reasoning: 'hm',
          delayMs: 60_000,
          expect: [{ contains: 'nowhere' }],
        },
      ],
    });
    const { deltas, reasoning, end } = ask(model, { said: 3 });
    await end;
    expect(deltas.join('')).toBe('defgh');
    expect(reasoning).toEqual([]);
    const spent = ask(model, { said: 8 });
    expect(await spent.end).toEqual({ finish: 'stop' });
    expect(spent.deltas).toEqual([]);
  });

  it('fails after as many characters of the whole turn, however much of it was said before a restart', async () => {
    const model = createScriptedModel({ turns: [{ text: 'abcdefgh', failAfter: 5 }] });
    const { deltas, error } = ask(model, { said: 2 });
    expect(await error).toMatchObject({ code: 'model_broke_off' });
    expect(deltas.join('')).toBe('cde');
  });

  it('expects of all that the user said since the model last spoke', async () => {
    const model = createScriptedModel({ turns: [{ text: 'x', expect: [{ contains: 'task' }] }] });
    const messages: readonly ModelMessage[] = [
      { role: 'user', text: 'the task' },
      { role: 'user', text: 'you broke off' },
    ];
    const { end } = ask(model, { messages });
    expect(await end).toEqual({ finish: 'stop' });
    const late = ask(model, { messages: [...messages, { role: 'assistant', text: 'y' }, ...user('go on')] });
    expect(await late.error).toMatchObject({ code: 'script_expectation' });
  });

  it('gives text away four characters at a time, or as many as it says', async () => {
    const model = createScriptedModel({ chunk: 3, turns: ['abcdefgh', { text: 'abcdefgh', chunk: 5 }] });
    const first = ask(model);
    await first.end;
    expect(first.deltas).toEqual(['abc', 'def', 'gh']);
    const second = ask(model, { turn: 2 });
    await second.end;
    expect(second.deltas).toEqual(['abcde', 'fgh']);
    const plain = ask(createScriptedModel({ turns: ['abcdefgh'] }));
    await plain.end;
    expect(plain.deltas).toEqual(['abcd', 'efgh']);
  });

  it('never cuts a character in half, and loses nothing, at any size of chunk', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, fc.integer({ min: 1, max: 9 }), async (text, chunk) => {
        const { deltas, end } = ask(createScriptedModel({ turns: [text], chunk }));
        await end;
        expect(deltas.join('')).toBe(text);
        expect(deltas.filter((delta) => /\p{Surrogate}/u.test(delta))).toEqual([]);
      }),
    );
  });

  it('does not call the sink before stream has returned', async () => {
    const { deltas, end } = ask(createScriptedModel({ turns: ['hello'] }));
    expect(deltas).toEqual([]);
    await end;
    expect(deltas).toEqual(['hell', 'o']);
  });

  it('gives reasoning first, apart from the text', async () => {
    const { deltas, reasoning, end } = ask(
      createScriptedModel({ turns: [{ text: 'four', reasoning: '2 + 2' }] }),
    );
    await end;
    expect([reasoning.join(''), deltas.join('')]).toEqual(['2 + 2', 'four']);
  });

  it('reports the usage and the finish that the turn says', async () => {
    const usage = { input: 10, output: 2, cached: 5 };
    const { end } = ask(createScriptedModel({ turns: [{ text: 'x', usage, finish: 'length' }] }));
    expect(await end).toEqual({ finish: 'length', usage });
  });

  it('costs nothing, and has the context window it says', () => {
    const model = createScriptedModel({ id: 'scripted:x.yml', turns: ['x'], contextWindow: 900 });
    expect(model).toMatchObject({
      id: 'scripted:x.yml',
      price: { input: 0, output: 0 },
      contextWindow: 900,
    });
  });

  it('past its last turn it says how many it has', async () => {
    const model = createScriptedModel({ id: 'scripted:x.yml', turns: ['one', 'two'] });
    expect(await ask(model, { turn: 3 }).error).toMatchObject({
      code: 'script_ended',
      message: 'The script x.yml has 2 turns, but the session needs turn 3.',
      hint: 'Add turn 3 to it, end turn 2 with a final response, or set "loop: true".',
      retryable: false,
    });
  });

  it('a script of a later part of a session begins with the turn it says', async () => {
    const model = createScriptedModel({ turns: ['five', 'six'], firstTurn: 5 });
    const { deltas, end } = ask(model, { turn: 6 });
    await end;
    expect(deltas.join('')).toBe('six');
    expect(await ask(model, { turn: 4 }).error).toMatchObject({
      code: 'script_ended',
      message: 'The script starts with turn 5, but the session needs turn 4.',
    });
    expect(await ask(model, { turn: 7 }).error).toMatchObject({
      message: 'The script has 2 turns, from turn 5 on, but the session needs turn 7.',
    });
  });

  it('with loop it begins again after its last turn', async () => {
    const { deltas, end } = ask(createScriptedModel({ turns: ['one', 'two'], loop: true }), { turn: 6 });
    await end;
    expect(deltas.join('')).toBe('two');
  });
});

describe('a scripted turn that fails', () => {
  it('breaks off after so many characters, and what had come stays', async () => {
    const { deltas, error } = ask(createScriptedModel({ turns: [{ text: 'abcdefgh', failAfter: 6 }] }));
    expect(await error).toMatchObject({ code: 'model_broke_off', retryable: true });
    expect(deltas).toEqual(['abcd', 'ef']);
  });

  it('fails as it says, even before its first character', async () => {
    const turn = { text: 'abc', failAfter: 0, failWith: 'model_refused_key' } as const;
    const { deltas, error } = ask(createScriptedModel({ turns: [turn] }));
    expect(await error).toMatchObject({ code: 'model_refused_key', retryable: false });
    expect(deltas).toEqual([]);
  });
});

describe('what a script expects of the prompt', () => {
  const model = createScriptedModel({
    turns: [
      {
        text: 'ok',
        expect: [{ contains: '42' }, { notContains: 'password' }],
        place: 'x.yml:3',
      },
    ],
  });

  it('is looked for in the last message of the user only', async () => {
    await ask(model, { messages: user('the answer is 42') }).end;
    const earlier: ModelMessage[] = [
      { role: 'user', text: '42' },
      { role: 'assistant', text: '42' },
      { role: 'user', text: 'no' },
    ];
    const { deltas, error } = ask(model, { messages: earlier });
    expect(await error).toMatchObject({
      code: 'script_expectation',
      message: 'The script\'s turn 1 (x.yml:3) expects "42" in the last message of the user, which is: "no".',
      retryable: false,
    });
    expect(deltas).toEqual([]);
  });

  it('shows the place where something stands that must not', async () => {
    expect(await ask(model, { messages: user('42, my\npassword is x') }).error).toMatchObject({
      message:
        'The script\'s turn 1 (x.yml:3) expects no "password" in the last message of the user, which has it here: "42, my password is x".',
    });
  });

  it('shows the beginning and the end of a long message', async () => {
    const error = await ask(model, { messages: user(`begin${'x'.repeat(1000)}end`) }).error;
    expect((error as Error).message).toMatch(/"beginx+", 608 characters more, "x+end"\.$/);
  });

  it('fails where the user has said nothing', async () => {
    expect(await ask(model, { messages: [] }).error).toMatchObject({
      message: 'The script\'s turn 1 (x.yml:3) expects "42" in a user message, but there is none.',
    });
  });
});

describe('the pace of a scripted model', () => {
  it('a token is four characters: 8 characters at 2 tokens a second take a second', async () => {
    const clock = createSimulatedClock();
    const { deltas, end } = ask(createScriptedModel({ turns: ['abcdefgh'], tokensPerSecond: 2, clock }));
    await clock.advance(499);
    expect(deltas).toEqual([]);
    await clock.advance(1);
    expect(deltas).toEqual(['abcd']);
    await clock.advance(499);
    expect(deltas).toEqual(['abcd']);
    await clock.advance(1);
    expect(deltas).toEqual(['abcd', 'efgh']);
    await end;
  });

  it('waits for its delay before the first character', async () => {
    const clock = createSimulatedClock();
    const { deltas, end } = ask(createScriptedModel({ turns: [{ text: 'abcd', delayMs: 300 }], clock }));
    await clock.advance(299);
    expect(deltas).toEqual([]);
    await clock.advance(1);
    await end;
    expect(deltas).toEqual(['abcd']);
  });

  it('a late timer delays one piece, not all behind it', async () => {
    const clock = createSimulatedClock();
    let late = 0;
    const slow = {
      ...clock,
      after: (ms: number, fire: () => void) => clock.after(late++ === 0 ? ms + 1000 : ms, fire),
    };
    const { deltas, end } = ask(
      createScriptedModel({ turns: ['abcdefghijkl'], tokensPerSecond: 2, clock: slow }),
    );
    await clock.advance(1500);
    expect(deltas).toEqual(['abcd', 'efgh', 'ijkl']);
    await end;
  });
});

describe('an abort of a scripted model', () => {
  it('before it begins, nothing is said', async () => {
    const { deltas, error } = ask(createScriptedModel({ turns: ['abc'] }), { signal: AbortSignal.abort() });
    expect(await error).toMatchObject({ code: 'model_cancelled', retryable: false });
    expect(deltas).toEqual([]);
  });

  it('from inside the sink, the piece in hand is the last', async () => {
    const model = createScriptedModel({ turns: ['abcdefghijkl'] });
    const { deltas, error } = ask(model, { onText: (delta, abort) => delta === 'efgh' && abort() });
    expect(await error).toMatchObject({ code: 'model_cancelled' });
    expect(deltas).toEqual(['abcd', 'efgh']);
  });

  it('from outside, a long instant stream notices it, since it lets others have a turn', async () => {
    const { deltas, error, abort } = ask(createScriptedModel({ turns: ['x'.repeat(1_000_000)] }));
    setImmediate(abort);
    expect(await error).toMatchObject({ code: 'model_cancelled' });
    expect(deltas.length).toBeLessThan(250_000);
  });

  it('during a wait, it ends at once and leaves no timer behind', async () => {
    const clock = createSimulatedClock();
    for (const turn of [
      { text: 'abc', delayMs: 60_000 },
      { text: 'abc', tokensPerSecond: 0.001 },
    ]) {
      const { error, abort } = ask(createScriptedModel({ turns: [turn], clock }));
      await clock.advance(10);
      expect(clock.pending).toBe(1);
      abort();
      expect(await error).toMatchObject({ code: 'model_cancelled' });
      expect(clock.pending).toBe(0);
    }
  });
});
