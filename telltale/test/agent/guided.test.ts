import { describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../src/agent/log/read-log.ts';
import { causeChain } from '../../src/agent/log/read-log.ts';
import { reduce } from '../../src/log/reduce.ts';
import { emptyState } from '../../src/log/state.ts';
import type { Dialect } from '../../src/parser/dialect-parser.ts';
import { renderSummary } from '../../src/prompt/conversation.ts';
import type { StreamInfo } from '../../src/store/store.ts';
import { checkNotes } from '../../src/workflows/guided/check-claim.ts';
import { runAgent, tool } from './run-agent.ts';
import { type Deed, speak } from './speak.ts';

const IMPORTS =
  'import: { tools: [./tools/*.yml], workflows: [./flows/*.yml], agents: [./agents/*.yml] }\nworkflow: lead\n';

const flow = (...steps: readonly string[]) => ({
  'flows/lead.yml': `kind: Workflow\nname: lead\nsteps:\n${steps.map((step) => `  - ${step}\n`).join('')}`,
});

const echo = tool('echo', 'return { said: input.text ?? null };');
const fails = tool('fails', "throw new Error('no luck');");
const slow = tool('slow', 'await new Promise((done) => setTimeout(done, 30)); return { slow: true };');

const NOTES = (what: string) =>
  `I looked at ${what} with care and wrote down all that there was to find about it.`;

const helper = {
  'agents/helper.yml': 'kind: Agent\nname: helper\nmodel: scripted:../turns/helper.yml\n',
  'turns/helper.yml': `turns:\n${[speak('tags', [{ complete: NOTES('theirs') }]), '<response>I cannot.</response>'].map((text) => `  - text: ${JSON.stringify(text)}\n`).join('')}`,
};

const led = (
  steps: readonly string[],
  turns: readonly (readonly Deed[])[],
  {
    dialect = 'tags',
    manifest = '',
    ...more
  }: { dialect?: Dialect; manifest?: string } & Partial<Parameters<typeof runAgent>[0]> = {},
) =>
  runAgent({
    manifest: `${IMPORTS}dialect: ${dialect}\n${manifest}`,
    files: { ...flow(...steps), ...echo, ...fails, ...slow, ...helper },
    turns: turns.map((deeds) => speak(dialect, deeds)),
    ...more,
  });

const FIVE = ['one', 'two', 'three', 'four', 'five'];

describe.each(['tags', 'tools', 'step'] as const)('an agent that is led, in the dialect %s', (dialect) => {
  it('needs one model call a step, and sees one step at a time', async () => {
    const { result, prompts, of } = await led(
      FIVE.map((name) => `{ name: step_${name}, type: task, prompt: "Do the ${name} thing." }`),
      FIVE.map((name) => [{ complete: NOTES(`the ${name} thing`) }]),
      { dialect },
    );
    expect(result).toMatchObject({ status: 'completed', turns: 5, result: NOTES('the five thing') });
    expect(of('task.given')).toHaveLength(5);
    expect(of('task.claimed').map(({ notes }) => notes)).toEqual(
      FIVE.map((name) => NOTES(`the ${name} thing`)),
    );
    for (const [at, prompt] of prompts.entries()) {
      expect(prompt).toContain(`Do the ${FIVE[at]} thing.`);
      for (const other of FIVE.filter((_, index) => index !== at))
        expect(prompt).not.toContain(`Do the ${other}`);
      expect(prompt).not.toContain('step_');
    }
  });

  it('is told why its notes were refused, and stays where it is', async () => {
    const { result, prompts, of } = await led(
      ['{ name: look, type: task, prompt: "Look." }', '{ name: tell, type: task, prompt: "Tell." }'],
      [
        [{ complete: 'done' }],
        [{ complete: 'done done done done done done done done done done done done done done' }],
        [{ complete: NOTES('it') }],
        [{ complete: NOTES('what I tell') }],
      ],
      { dialect },
    );
    expect(result).toMatchObject({ status: 'completed', turns: 4 });
    expect(prompts[1]).toContain('at least 50');
    expect(prompts[1]).not.toContain('Tell.');
    expect(prompts[2]).toContain('placeholder');
    expect(prompts[3]).toContain('Tell.');
    expect(of('task.claimed')).toHaveLength(2);
  });

  it('ends its running actions first, and does not complete where one of them failed unseen', async () => {
    const { result, of, prompts } = await led(
      ['{ name: look, type: task, prompt: "Look." }'],
      [[{ call: 'slow', run: { id: 's1' } }, { complete: NOTES('slow') }]],
      { dialect },
    );
    expect(result.status).toBe('completed');
    const seq = (type: 'action.completed' | 'task.claimed', id?: string) =>
      of(type).find((event) => id === undefined || ('id' in event && event.id === id))?.seq ?? 0;
    expect(seq('action.completed', 's1')).toBeLessThan(seq('task.claimed'));
    expect(prompts).toHaveLength(1);
    const failed = await led(
      ['{ name: look, type: task, prompt: "Look." }'],
      [
        [{ call: 'fails', run: { id: 'f1' } }, { complete: NOTES('failure') }],
        [{ complete: NOTES('why it failed') }],
      ],
      { dialect },
    );
    expect(failed.prompts[1]).toContain('which you had not seen');
    expect(failed.of('task.claimed')).toHaveLength(1);
  });
});

describe('the end of a led session', () => {
  it.each([
    ['fails', ['session.failed', 'workflow.failed', 'step.failed', 'step.started']],
    ['echo', ['session.completed', 'workflow.completed', 'step.completed', 'step.started']],
  ])('leads to the step of the run that brought it about (%s)', async (target, chain) => {
    let why: readonly StreamEvent[] = [];
    await led([`{ name: look, type: tool, target: ${target}, parameters: {} }`], [], {
      async after(session, { store }) {
        const { head } = (await store.info(session)) as StreamInfo;
        why = (await causeChain(store, session, head, head)).events;
      },
    });
    expect(why.map(({ type }) => type)).toEqual([...chain, 'workflow.started', 'session.started']);
  });
});

describe('what a step asks for', () => {
  it('is proof by actions of this step that succeeded, whatever the words', async () => {
    const { result, of, prompts } = await led(
      [
        '{ name: try, type: task, prompt: "Try.", evidence: [echo] }',
        '{ name: again, type: task, prompt: "Try again.", evidence: [echo] }',
      ],
      [
        [{ complete: NOTES('nothing') }],
        [{ call: 'fails', run: { id: 'f1', mode: 'sync' } }],
        [{ complete: NOTES('a failure'), evidence: ['f1'] }],
        [
          { call: 'echo', run: { id: 'e1' } },
          { complete: NOTES('echo'), evidence: ['e1'] },
        ],
        [{ complete: NOTES('an old echo'), evidence: ['e1'] }],
        [{ complete: NOTES('a wrong id'), evidence: ['e9'] }],
        [
          { call: 'echo', run: { id: 'e2' } },
          { complete: NOTES('a new echo'), evidence: ['e2'] },
        ],
      ],
    );
    expect(result).toMatchObject({ status: 'completed', turns: 7 });
    expect(prompts[0]).toContain('"evidence" must name');
    expect(prompts[1]).toContain('None has succeeded in this step yet');
    expect(prompts[3]).toContain('did not succeed');
    expect(prompts[5]).toContain('was not done in this step');
    expect(prompts[6]).toContain('No action has the id');
    expect(of('task.claimed').map(({ evidence }) => evidence)).toEqual([['e1'], ['e2']]);
  });

  it('is told with its schema, and what nobody asked for is refused', async () => {
    const { result, prompts, of } = await led(
      ['{ name: rate, type: task, prompt: "Rate it.", requires: { risk: { enum: [low, high] } } }'],
      [
        [{ complete: NOTES('no risk') }],
        [{ complete: NOTES('a strange risk'), updates: { risk: 'huge' } }],
        [{ complete: NOTES('a strange key'), updates: { risk: 'low', rsk: 1 } }],
        [{ complete: NOTES('a low risk'), updates: { risk: 'low' } }],
      ],
    );
    expect(result.status).toBe('completed');
    expect(prompts[0]).toContain('"risk" ({"enum":["low","high"]})');
    expect(prompts[1]).toContain('lacks "risk"');
    expect(prompts[2]).toContain('"/risk" is "huge", which is not an allowed value. Allowed: low, high.');
    expect(prompts[3]).toContain('"rsk"');
    expect(of('task.claimed')[0]?.context_updates).toEqual({ risk: 'low' });
  });
});

describe('out of turn', () => {
  const LOOK = 'Look at the files in the folder and tell me what is wrong with each of them.';
  const LESEN =
    '请阅读这个文件并且总结它的内容然后写下来每一个重要的细节以及你发现的所有问题和可能的解决办法都写清楚吧谢谢你';

  it.each([
    ['spaces between few words', `I did it, all is fine now.${' '.repeat(40)}ok`],
    ['characters that show nothing', `I did it, all is fine now${'\u200b'.repeat(40)}.`],
    ['signs', '!@#$%^&*()_+-=[]{}|;:,.<>?/~`!@#$%^&*()_+-=[]{}|;:,.<>?/~`'],
    ['pictures', '🎉🎊✨🚀🔥💯👍👏🙌✅🎯🏆🥇🌟⭐💪🤝🙏🎉🎊✨🚀🔥💯👍👏🙌✅'],
    ['numbers', '1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22'],
    ['the alphabet', 'abcdefghijklmnopqrstuvwxyz abcdefghijklmnopqrstuvwxyz'],
    ['one sentence again and again', 'I have now completed the step. '.repeat(4)],
    ['one sentence again and again, in Chinese', '这个步骤已经完成了一切都很好没有问题。'.repeat(4)],
    ['the step with invisible characters', LOOK.replaceAll(/\b(\w)/g, '$1\u200b')],
    [
      'the step in wide letters',
      LOOK.replaceAll(/[a-z]/gi, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0)),
    ],
    ['the step in Chinese', LESEN],
  ])('notes that are %s are none', (_, notes) => {
    expect(checkNotes(notes, `${LOOK}\n${LESEN}`)?.code).toBe('notes_refused');
  });

  it.each([
    'Ich habe beide Dateien gelesen; in der zweiten fehlt die Prüfung auf null, das habe ich ergänzt.',
    '二つのファイルを読み、二番目の関数で空の値が確認されていないことを見つけました。確認を追加し、テストが全部通ることを確かめました。',
    'मैंने दोनों फ़ाइलें पढ़ीं, दूसरी में खाली मान की जाँच नहीं थी, इसलिए मैंने उसे जोड़ा और परीक्षण चलाए।',
    'ผมอ่านไฟล์ทั้งสองแล้วพบว่าฟังก์ชันที่สองไม่ได้ตรวจสอบค่าว่าง จึงเพิ่มการตรวจสอบและทดสอบผ่านทั้งหมด',
  ])('notes in any language are read: %s', (notes) => {
    expect(checkNotes(notes, `${LOOK}\n${LESEN}`)).toBeUndefined();
  });

  it.each([
    ['could not be read', '<action id="f">{"name": "echo", oops</action>'],
    ['was no action', '<action id="f">{"name": "echo", "on_error": "perhaps"}</action>'],
    ['had a broken "if"', '<action id="f">{"name": "echo", "if": "metdata.x"}</action>'],
    [
      'stood in an <if> that was broken',
      '<if test="metdata.x"><action id="f">{"name": "echo"}</action></if>',
    ],
    ['waited for nothing', '<action id="f">{"name": "echo", "depends_on": ["nobody"]}</action>'],
  ])('complete_step is refused where something before it in its turn %s', async (_, before) => {
    const { result, of, prompts } = await led(['{ name: look, type: task, prompt: "Look." }'], [], {
      turns: [
        `${before}\n${speak('tags', [{ complete: NOTES('all') }])}`,
        speak('tags', [{ complete: NOTES('what went wrong') }]),
      ],
    });
    expect(result).toMatchObject({ status: 'completed', turns: 2, result: NOTES('what went wrong') });
    expect(prompts[1]).toContain('which you had not seen');
    expect(of('task.claimed')).toHaveLength(1);
  });

  it.each([
    ['an id that nobody has', '{"name": "echo", "depends_on": ["nobody"]}', 'mode="sync"', ['', '']],
    ['the end of the turn', '{"name": "late"}', 'mode="sync"', ['', '']],
    [
      'an id that nobody has',
      '{"name": "echo", "depends_on": ["nobody"]}',
      '',
      ['<parallel>', '</parallel>'],
    ],
  ])(
    'complete_step does not hold up its turn for what waits for %s: %s %s',
    async (_, asked, mode, [open, close]) => {
      const complete = speak('tags', [{ complete: NOTES('all') }]).replace('<action', `<action ${mode}`);
      const { result, prompts } = await led(['{ name: look, type: task, prompt: "Look." }'], [], {
        turns: [
          `<action id="f">${asked}</action>${open}${complete}${close}`,
          speak('tags', [{ complete: NOTES('what went wrong') }]),
        ],
        files: {
          ...flow('{ name: look, type: task, prompt: "Look." }'),
          ...tool('late', 'return 1;', 'start: on_turn_end\n'),
        },
      });
      expect(result).toMatchObject({ status: 'completed', turns: 2, result: NOTES('what went wrong') });
      expect(prompts[1]).toContain('The action "f" waits for what comes behind this one');
    },
  );

  it('is let go of while complete_step waits for what a person has to approve', async () => {
    const { result, types } = await led(['{ name: look, type: task, prompt: "Look." }'], [], {
      turns: [`<action id="a">{"name": "ask"}</action>${speak('tags', [{ complete: NOTES('it') }])}`],
      files: {
        ...flow('{ name: look, type: task, prompt: "Look." }'),
        ...tool('ask', 'return 1;', 'approval: always\n'),
      },
    });
    expect(result).toMatchObject({ status: 'waiting', reviews: [{ action: 'a' }] });
    expect(types).not.toContain('task.claimed');
  });

  const claim = speak('tags', [{ complete: NOTES('it') }]);
  it.each([
    ['complete_step', claim],
    // What was said behind it is said again, to the message.
    [
      'a sync complete_step',
      `${claim.replace('<action', '<action mode="sync"')}<response final="false">Soon.</response>`,
    ],
    ['a complete_step that depends on it', claim.replace('"name"', '"depends_on": ["a"], "name"')],
  ])(
    'is spoken to while %s waits for a person: it answers, and completes the step later',
    async (_, ends) => {
      const { result, of, prompts } = await led(['{ name: look, type: task, prompt: "Look." }'], [], {
        turns: [
          `<action id="a">{"name": "ask"}</action>${ends}`,
          '<response final="false">Soon.</response>',
          speak('tags', [{ complete: NOTES('all of it') }]),
        ],
        runtime: { onWaiting: 'hold' },
        files: {
          ...flow('{ name: look, type: task, prompt: "Look." }'),
          ...tool('ask', 'return 1;', 'approval: always\n'),
        },
        during: async (session, runtime) => {
          let steered = false;
          for await (const event of session.events) {
            if (event.type === 'session.waiting' && !steered) {
              steered = true;
              await session.steer('How long?');
            }
            if (event.type !== 'response') continue;
            const [review] = await runtime.reviews();
            if (review !== undefined) await runtime.answer(review.review, { approved: true, by: 'ann' });
          }
        },
      });
      expect(prompts[1]).toContain('How long?');
      expect(prompts[1]).toContain('The step is not completed: a message came in');
      expect(of('task.claimed').map(({ notes }) => notes)).toEqual([NOTES('all of it')]);
      expect(result).toMatchObject({ status: 'completed', result: NOTES('all of it') });
    },
  );

  it('its turn waits for complete_step, whatever mode it asks for', async () => {
    const { result, of } = await led(
      ['{ name: look, type: task, prompt: "Look." }', '{ name: tell, type: task, prompt: "Tell." }'],
      [],
      {
        turns: [
          `<action>{"name": "slow"}</action>${speak('tags', [{ complete: NOTES('it') }]).replace('<action', '<action mode="fire_and_forget"')}`,
          speak('tags', [{ complete: NOTES('the rest') }]),
        ],
        files: {
          ...flow(
            '{ name: look, type: task, prompt: "Look." }',
            '{ name: tell, type: task, prompt: "Tell." }',
          ),
          ...tool('slow', 'await new Promise((done) => setTimeout(done, 200)); return { slow: true };'),
        },
        manifest: '',
      },
    );
    expect(result).toMatchObject({ status: 'completed', turns: 2, result: NOTES('the rest') });
    expect(of('task.claimed').map(({ turn }) => turn)).toEqual([1, 2]);
  });

  it('nothing that follows complete_step in its turn is begun', async () => {
    const { result, of, prompts } = await led(
      ['{ name: a, type: task, prompt: "First." }', '{ name: b, type: task, prompt: "Second." }'],
      [
        [
          { complete: NOTES('the first') },
          { call: 'echo', run: { id: 'late' } },
          { complete: NOTES('the first once more') },
        ],
        [{ complete: NOTES('the second') }],
      ],
    );
    expect(result).toMatchObject({ status: 'completed', turns: 2 });
    expect(of('action.declared').map(({ action }) => action.id)).not.toContain('late');
    expect(of('fault').map(({ code }) => code)).toEqual(['after_step']);
    expect(prompts[1]).toContain('after_step');
  });

  it('a final response does not end a step, nor the work', async () => {
    const { result, prompts, of } = await led(
      ['{ name: a, type: task, prompt: "First." }'],
      [[{ respond: 'All done.' }], [{ complete: NOTES('the first') }, { respond: 'Really done.' }]],
    );
    expect(prompts[1]).toContain('step_open');
    expect(of('response').map(({ text, final }) => [text, final])).toEqual([
      ['All done.', false],
      ['Really done.', false],
    ]);
    expect(result).toMatchObject({ status: 'completed', result: 'Really done.' });
  });

  it('a session that nobody leads has no step to complete', async () => {
    const { of, result } = await runAgent({
      turns: [speak('tags', [{ complete: NOTES('nothing') }]), speak('tags', [{ respond: 'Then not.' }])],
    });
    expect(of('action.failed').map(({ error }) => error.code)).toEqual(['no_step']);
    expect(result.result).toBe('Then not.');
  });

  it('a sub-agent cannot complete the step of who called it', async () => {
    const { result, prompts } = await led(
      ['{ name: a, type: task, prompt: "First." }', '{ name: b, type: task, prompt: "Second." }'],
      [
        [{ call: 'helper', type: 'agent', input: { input: 'Help.' }, run: { id: 'h1' } }],
        [{ complete: NOTES('the first') }],
        [{ complete: NOTES('the second') }],
      ],
    );
    expect(result).toMatchObject({ status: 'completed', turns: 3 });
    expect(prompts[1]).not.toContain('Second.');
  });
});

describe('an agent that does not come further', () => {
  const STUCK = ['{ name: a, type: task, prompt: "First.", max_turns: 20 }'];
  const ECHO: readonly Deed[] = [{ call: 'echo', input: { text: 'again' } }];

  it('is told what it repeats; then a report is made', async () => {
    const { of, prompts } = await led(STUCK, [ECHO, ECHO, ECHO, [{ complete: NOTES('the way out') }]]);
    expect(of('task.stuck').map(({ why, nth }) => [why, nth])).toEqual([
      ['You have called tool "echo" with the same input 3 times in this step.', undefined],
    ]);
    expect(prompts[3]).toContain('3 times in this step');
  });

  it('counts turns that change nothing', async () => {
    const { of, result } = await led(STUCK, [
      ...Array.from({ length: 5 }, (): readonly Deed[] => [{ think: 'Hm.' }]),
      [{ complete: NOTES('the way out') }],
    ]);
    expect(of('task.stuck').map(({ why }) => why)).toEqual([
      'The last 5 turns of this step have changed nothing.',
    ]);
    expect(result.status).toBe('completed');
  });

  it('fails the step after max_turns', async () => {
    const { result } = await led(
      ['{ name: a, type: task, prompt: "First.", max_turns: 2 }'],
      [ECHO, [{ call: 'echo', input: { text: 'more' } }], ECHO],
    );
    expect(result.status).toBe('failed');
    expect(result.turns).toBe(2);
    expect(result.error?.message).toContain('within 2 turns');
  });
});

describe('around a step', () => {
  it('what somebody says while it is worked on comes with the next turn', async () => {
    const { prompts, result } = await led(
      ['{ name: a, type: task, prompt: "First." }'],
      [[{ call: 'slow' }], [{ complete: NOTES('what was said') }]],
      {
        async during(session) {
          for await (const event of session.events)
            if (event.type === 'action.started') {
              await session.steer('Mind the gap.');
              return;
            }
        },
      },
    );
    expect(result.status).toBe('completed');
    expect(prompts[1]).toContain('Mind the gap.');
  });

  it('its time-out takes it from the agent, which goes on with the next', async () => {
    const { result, of, prompts } = await led(
      [
        '{ name: a, type: task, prompt: "First.", timeout: 20ms, on_error: continue }',
        '{ name: b, type: task, prompt: "Second." }',
      ],
      [[{ call: 'slow', run: { mode: 'sync' } }], [{ complete: NOTES('the second') }]],
    );
    expect(result).toMatchObject({ status: 'completed', turns: 2 });
    expect(of('task.claimed')).toHaveLength(1);
    expect(prompts[1]).toContain('Second.');
  });

  it('it is told again where the turn that it came with was compacted', () => {
    const state = emptyState();
    const at = { at: 0, session: 's', cause: { stream: 's', seq: 0, depth: 0 } };
    reduce(state, { type: 'task.given', task: 'r:a#1', prompt: 'Do the thing.', seq: 1, turn: 0, ...at });
    for (const turn of [1, 2, 3])
      reduce(state, {
        type: 'turn.started',
        prompt: { tokens: 1, reused_prefix: 1 },
        seq: 1 + turn,
        turn,
        ...at,
      });
    reduce(state, {
      type: 'prompt.compacted',
      through: 2,
      summary: 'Things happened.',
      seq: 5,
      turn: 3,
      ...at,
    });
    const summary = renderSummary(state, { safe: (text) => text, dialect: 'tags' });
    expect(summary).toContain('The step in hand:\nDo the thing.');
    expect(summary).not.toContain('r:a#1');
  });

  it('a conversation is refused: a workflow leads', async () => {
    await expect(
      led(['{ name: a, type: task, prompt: "First." }'], [], { start: { chat: true } }),
    ).rejects.toMatchObject({ code: 'bad_option' });
  });
});
