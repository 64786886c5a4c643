import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { writtenId } from '../../src/log/action.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import { fold } from '../../src/log/reduce.ts';
import { resumeEverywhere } from '../../src/testing/crash.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { moreRuns } from '../more-runs.ts';
import { agentFolder, type RunOptions, runAgent, tool } from './run-agent.ts';
import { type Deed, speak } from './speak.ts';

const FILES = {
  ...tool('echo', 'return input.text ?? input;', 'idempotent: true\n'),
  ...tool('key', 'return context.idempotencyKey;'),
  ...tool('undo', 'return `undone ${input.what}`;', 'idempotent: true\n'),
  ...tool('fail', 'throw new Error("no such luck");'),
  ...tool('list', 'return ["x", "y"];'),
  ...tool('later', 'return new Promise((resolve) => setTimeout(resolve, 300, "late"));'),
  'helper.yml':
    'kind: Agent\nname: helper\nversion: 1.0.0\nmodel: scripted:./helper.json\ninstructions: Help.\n',
  'helper.json': JSON.stringify({ turns: ['<response>Helped.</response>'] }),
};
const IMPORTS = 'import: { tools: [./tools/*.yml], agents: [./helper.yml] }\n';

const run = async (options: Partial<RunOptions> & Pick<RunOptions, 'turns'>, more = '') => {
  // On this clock no time passes: a turn waits for its actions, however long they really take.
  const ran = await runAgent({
    files: FILES,
    clock: createSimulatedClock(),
    ...options,
    manifest: `${more}${IMPORTS}`,
  });
  return {
    ...ran,
    ids: ran.of('action.declared').map(({ action }) => action.id),
    inputs: new Map(ran.of('action.started').map(({ id, input }) => [id, input])),
    outputs: new Map(ran.of('action.completed').map(({ id, output }) => [id, output])),
    faults: ran.of('fault').map(({ code, message }) => `${code}: ${message}`),
  };
};

const echo = (id: string, text: string, more = {}): Deed => ({
  call: 'echo',
  input: { text },
  run: { id, ...more },
});

describe.each(['tags', 'tools', 'step'] as const)('in %s', (dialect) => {
  const say = (...turns: readonly (readonly Deed[])[]) => ({
    turns: turns.map((deeds) => speak(dialect, deeds)),
  });
  const inDialect = (...turns: readonly (readonly Deed[])[]) => run(say(...turns), `dialect: ${dialect}\n`);

  it('an id of an earlier turn is used again, costs no turn, and means the newest', async () => {
    const { ids, outputs, faults, result, prompts } = await inDialect(
      [echo('read', 'one')],
      [echo('read', 'two')],
      [echo('after', '$read', { depends_on: ['read'] })],
      [{ respond: '$read, $after' }],
    );
    expect(faults).toEqual([]);
    expect(ids).toEqual(['read', 'read@2', 'after']);
    expect(outputs).toEqual(
      new Map([
        ['read', 'one'],
        ['read@2', 'two'],
        ['after', 'two'],
      ]),
    );
    expect(result).toMatchObject({ status: 'completed', result: 'two, two', turns: 4 });
    expect(prompts.join('\n')).not.toContain('@2');
  });

  it('a turn behind a held final that repeats it does nothing twice', async () => {
    const turns = say(
      [echo('read', 'one'), { respond: 'I guess two.' }],
      [echo('read', 'one'), { respond: 'It is one.' }],
      [{ respond: 'It is one.' }],
    );
    const { outputs, faults, result } = await run(
      turns,
      `dialect: ${dialect}\nprotocol: { final_with_actions: held }\n`,
    );
    expect(outputs).toEqual(new Map([['read', 'one']]));
    expect(faults.filter((fault) => fault.startsWith('duplicate_id'))).toHaveLength(1);
    expect(result).toMatchObject({ status: 'completed', result: 'It is one.' });
  });

  it('what was bound to an older holder stays bound to it', async () => {
    const { outputs, faults } = await inDialect(
      [echo('read', 'one')],
      [
        echo('before', '$read'),
        echo('inside', 'as {{read}} says', { depends_on: ['read'] }),
        echo('read', 'of $read: {{read}}'),
        echo('after', '{{read}}!'),
      ],
      [echo('read', '$read')],
      [{ respond: 'Done.' }],
    );
    expect(faults).toEqual([]);
    expect(Object.fromEntries(outputs)).toEqual({
      read: 'one',
      before: 'one',
      inside: 'as one says',
      'read@2': 'of $read: one',
      after: 'of $read: one!',
      'read@3': 'of $read: one',
    });
  });

  it('an id whose action has not ended is taken, and the message names both', async () => {
    const { ids, faults } = await run(
      {
        ...say(
          [{ call: 'later', run: { id: 'job', mode: 'background' } }],
          [echo('job', 'x')],
          [{ respond: '$job' }],
        ),
        clock: createSystemClock(),
      },
      `dialect: ${dialect}\n`,
    );
    expect(ids).toEqual(['job']);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(/^duplicate_id: .*"job".*"echo".*"later" of turn 1.*has not ended/);
  });

  it('an id that came twice in one turn is taken', async () => {
    const { ids, faults } = await inDialect(
      [echo('one', 'x')],
      [echo('one', 'y'), echo('one', 'z')],
      [{ respond: '$one' }],
    );
    expect(ids).toEqual(['one', 'one@2']);
    expect(faults[0]).toMatch(/^duplicate_id: /);
  });

  it('ids that nobody wrote are those of no other action of the session', async () => {
    const plain: Deed = { call: 'echo' };
    const { ids } = await inDialect([plain, plain], [echo('a1', 'x'), plain], [plain], [{ respond: '.' }]);
    expect(ids).toEqual(['a1', 'a2', 'a1@2', 'a3', 'a4']);
  });

  it('each action has an idempotency key, and a sub-agent a session, of its own', async () => {
    const { outputs, result } = await inDialect(
      [
        { call: 'key', run: { id: 'k' } },
        { call: 'helper', type: 'agent', input: { input: 'Go.' }, run: { id: 'h' } },
      ],
      [
        { call: 'key', run: { id: 'k' } },
        { call: 'helper', type: 'agent', input: { input: 'Go.' }, run: { id: 'h' } },
      ],
      [{ respond: 'Done.' }],
    );
    expect([outputs.get('k'), outputs.get('k@2')]).toEqual([`${result.session}:k`, `${result.session}:k@2`]);
    expect([outputs.get('h'), outputs.get('h@2')]).toEqual(['Helped.', 'Helped.']);
  });

  it('internal actions mean the newest, and an older one by its turn', async () => {
    const internal = (call: string, input: Record<string, string>, id: string): Deed => ({
      call,
      type: 'internal',
      input,
      run: { id },
    });
    const kept = (text: string): Deed =>
      echo('w', text, { compensate: { name: 'undo', parameters: { what: '$w' } } });
    const { outputs, of } = await inDialect(
      [kept('one')],
      [kept('two')],
      [
        internal('read_output', { id: 'w' }, 'new'),
        internal('read_output', { id: 'w@1' }, 'old'),
        internal('list_actions', { status: 'completed' }, 'all'),
      ],
      [internal('rollback', { to: 'w' }, 'back')],
      [internal('rollback', { to: 'w@1' }, 'further')],
      [{ respond: 'Done.' }],
    );
    expect(outputs.get('new')).toMatchObject({ text: 'two' });
    expect(outputs.get('old')).toMatchObject({ text: 'one' });
    const { actions } = outputs.get('all') as { actions: { id: string }[] };
    expect(actions.map(({ id }) => id)).toEqual(expect.arrayContaining(['w@1', 'w']));
    expect(outputs.get('back')).toEqual({ undone: ['w'] });
    expect(outputs.get('further')).toEqual({ undone: ['w@1'] });
    expect([outputs.get('undo_w@2'), outputs.get('undo_w')]).toEqual(['undone two', 'undone one']);
    expect(of('action.compensated').map(({ id }) => id)).toEqual(['w@2', 'w']);
  });

  it('a turn that goes on with a broken one does nothing twice', async () => {
    const first = speak(dialect, [echo('read', 'one'), echo('other', 'two')]);
    const cut = dialect === 'step' ? first.length - 3 : first.length;
    const { ids, faults, result } = await run(
      {
        turns: [],
        clock: createSystemClock(), // it waits before it asks again
        model: scripted(
          [
            { text: first.slice(0, cut), failAfter: cut } as never,
            first,
            speak(dialect, [echo('more', 'two and a half')]),
            speak(dialect, [echo('read', 'three')]),
            speak(dialect, [{ respond: '$read' }]),
          ],
          { id: 'scripted:test' },
        ),
      },
      `dialect: ${dialect}\n`,
    );
    expect(ids).toEqual(['read', 'other', 'more', 'read@4']);
    expect(faults.filter((fault) => fault.startsWith('duplicate_id'))).toEqual([
      expect.stringMatching(
        /"read".*turn 1.*(?:has not ended|has run already: completed, with the result one)/,
      ),
      expect.stringMatching(
        /"other".*turn 1.*(?:has not ended|has run already: completed, with the result two)/,
      ),
    ]);
    expect(result.result).toBe('three');
  });
});

describe('in tags', () => {
  it('a <parallel> and a <foreach> may have the ids of earlier ones', async () => {
    const turn = (
      text: string,
    ) => `<parallel id="g"><action id="p">{"name":"echo","parameters":{"text":"${text}"}}</action></parallel>
<foreach in="$list"><action id="each">{"name":"echo","parameters":{"text":"{{item}}${text}"}}</action><action id="twin">{"name":"echo","depends_on":["each"],"parameters":{"text":"$each"}}</action></foreach>
<action id="all">{"name":"echo","depends_on":["g","each"],"parameters":{"text":"$twin"}}</action>`;
    const { ids, outputs, faults, result } = await run({
      turns: [turn('1'), turn('2'), '<response>$all $each</response>'],
      start: { vars: { list: ['x', 'y'] } },
    });
    expect(faults).toEqual([]);
    expect(ids.filter((id) => id.includes('@'))).toEqual([
      'p@2',
      'each@2[0]',
      'twin@2[0]',
      'each@2[1]',
      'twin@2[1]',
      'all@2',
    ]);
    expect(outputs.get('all')).toEqual(['x1', 'y1']);
    expect(outputs.get('all@2')).toEqual(['x2', 'y2']);
    expect(result.result).toBe('["x2","y2"] ["x2","y2"]');
  });

  it('the test of an action sees the newest', async () => {
    const { outputs, of } = await run({
      turns: [
        '<action id="t">{"name":"fail"}</action>',
        '<action id="t">{"name":"echo","parameters":{"text":"well"}}</action>',
        `<action id="yes">{"name":"echo","if":"actions.t.status == 'completed'"}</action>`,
        '<response>Done.</response>',
      ],
    });
    expect(of('action.failed').map(({ id }) => id)).toEqual(['t']);
    expect(outputs.has('yes')).toBe(true);
  });

  it('a <parallel> whose actions have not ended keeps its id', async () => {
    const { faults, of } = await run({
      turns: [
        '<foreach in="$list"><action id="g" mode="background">{"name":"later"}</action></foreach>',
        '<parallel id="g"><action id="q">{"name":"echo"}</action></parallel>',
        '<response>$g</response>',
      ],
      clock: createSystemClock(),
      start: { vars: { list: [1] } },
    });
    expect(faults[0]).toMatch(/^duplicate_id: .*"g".*has not ended/);
    expect(of('action.declared').find(({ action }) => action.id === 'q')?.action.group).not.toBe('g');
  });

  it('a turn behind a reminder shares the ids of the turns before it that it may repeat', async () => {
    const text = '<action id="read">{"name":"echo","parameters":{"text":"one"}}</action>';
    const { ids, faults } = await run({
      turns: [],
      clock: createSystemClock(),
      model: scripted(
        [
          { text, failAfter: text.length } as never,
          '<thought>I think.</thought>',
          text,
          '<response>Done.</response>',
        ],
        { id: 'scripted:test' },
      ),
    });
    expect(ids).toEqual(['read']);
    expect(faults.filter((fault) => fault.startsWith('duplicate_id'))).toEqual([
      expect.stringMatching(/"read".*turn 1.*has run already: completed, with the result one/),
    ]);
  });

  it('a turn behind a reminder that follows a whole turn may use its ids again', async () => {
    const text = '<action id="read">{"name":"echo"}</action>';
    const { ids } = await run({
      turns: [text, '<thought>I think.</thought>', text, '<response>Done.</response>'],
    });
    expect(ids).toEqual(['read', 'read@3']);
  });
});

/** What a model does in one turn with ids of earlier turns; each id once in a turn. */
const turn = fc.uniqueArray(fc.constantFrom('x', 'y', 'z'), { minLength: 1, maxLength: 3 }).chain((ids) =>
  fc.tuple(
    ...ids.map((id) =>
      fc.record({
        id: fc.constant(id),
        text: fc.constantFrom('one', '$x', '$y', 'of {{x}} and {{z}}', '$$x'),
        needs: fc.constantFrom(undefined, 'x', 'y'),
        undone: fc.boolean(),
      }),
    ),
  ),
);

it('a session that uses ids again comes to the same end, wherever it was killed', async () => {
  const folder = agentFolder(IMPORTS, FILES);
  const declared = (events: readonly SessionEvent[]) =>
    events.flatMap((event) => (event.type === 'action.declared' ? [event.action] : []));
  const outcome = (events: readonly SessionEvent[], result: unknown) => {
    const { actions } = fold(events);
    const done = declared(events).map(({ id }) => {
      const { status, input, output } = actions.get(id) ?? {};
      return { id: writtenId(id), status, input, output };
    });
    // What goes on with a turn that was cut short is a turn of its own: the numbers differ.
    return JSON.stringify({ done, result }).replaceAll(/@\d+/g, '');
  };
  const property = fc.asyncProperty(
    fc.constantFrom('tags' as const, 'tools' as const),
    fc.array(turn, { minLength: 2, maxLength: 4 }),
    async (dialect, plan) => {
      const turns = plan.map((acts) =>
        speak(
          dialect,
          acts.map(({ id, text, needs, undone }) => ({
            call: 'echo',
            input: { text },
            run: {
              id,
              mode: 'sync',
              ...(needs === undefined || needs === id ? {} : { depends_on: [needs] }),
              ...(undone ? { compensate: { name: 'undo', parameters: { what: `$${id}` } } } : {}),
            },
          })),
        ),
      );
      const back: Deed = { call: 'rollback', type: 'internal', run: { id: 'back', mode: 'sync' } };
      const all = [...turns, speak(dialect, [back]), speak(dialect, [{ respond: '$x, $y and $z' }])];
      const files = { 'agent.yml': `kind: Agent\nname: tester\ndialect: ${dialect}\n${IMPORTS}` };
      for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
      const agent = await loadAgent('agent.yml', { cwd: folder });
      const options = { model: scripted(all, { id: 'scripted:test' }) };
      const whole = await run({ turns: all }, `dialect: ${dialect}\n`);
      const expected = outcome(whole.events, whole.result.result);
      await resumeEverywhere(
        {
          setUp: () => ({ agent }),
          input: 'Do it.',
          start: options,
          resume: options,
          runtime: { cwd: folder },
        },
        ({ events, result }) => expect(outcome(events, result.result)).toEqual(expected),
      );
    },
  );
  await fc.assert(property, { numRuns: moreRuns(5) });
});
