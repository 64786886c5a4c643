import { describe, expect, it } from 'vitest';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { runAgent, tool } from './run-agent.ts';

describe('a fork', () => {
  it('goes on with the model its parent was started with', async () => {
    const { result } = await runAgent({
      manifest: '',
      files: { 'other.yml': 'turns: [<response final="false">One.</response>, <response>Two.</response>]\n' },
      turns: [],
      start: { model: 'scripted:./other.yml' },
      after: async (id, runtime) => {
        const at = (await runtime.events(id)).find(({ type }) => type === 'turn.completed')?.seq ?? 0;
        const session = await runtime.resume(await runtime.fork(id, at));
        expect(await session.result).toMatchObject({ status: 'completed', result: 'Two.' });
      },
    });
    expect(result.result).toBe('Two.');
  });

  it('says where it branched off, is listed like its parent, and goes on from there', async () => {
    const input = 'Do it. '.repeat(100);
    const turns = ['<action id="a" mode="sync">{"name":"echo"}</action>', '<response>First.</response>'];
    await runAgent({
      manifest: 'import: { tools: [./tools/*.yml] }\n',
      files: tool('echo', 'return "echo";'),
      turns,
      start: { input },
      after: async (id, runtime) => {
        const at = (await runtime.events(id)).find(({ type }) => type === 'turn.completed')?.seq ?? 0;
        const fork = await runtime.fork(id, at);
        const [started] = await runtime.events(fork);
        expect(started).toMatchObject({ type: 'session.started', forked: { session: id, seq: at } });
        const titles = (await runtime.store.list()).map(({ title }) => title);
        expect(new Set(titles).size).toBe(1);
        const model = createScriptedModel({ turns: ['', '<response>Second: $a</response>'] });
        const session = await runtime.resume(fork, { model });
        expect(await session.result).toMatchObject({ status: 'completed', result: 'Second: echo' });
        expect((await runtime.state(id)).result).toBe('First.');
      },
    });
  });

  it('begins with another message in place of the one that the event is, or with a further one', async () => {
    await runAgent({
      manifest: '',
      turns: ['<response final="false">One.</response>', '<response>Two.</response>'],
      start: { input: 'Old words.' },
      after: async (id, runtime) => {
        const first = await runtime.fork(id, 1, { message: 'New words.' });
        expect(await runtime.state(first)).toMatchObject({
          input: 'New words.',
        });
        expect((await runtime.events(first))[0]).toMatchObject({ forked: { session: id, seq: 1 } });
        expect((await runtime.store.info(first))?.title).toBe('New words.');
        const at = (await runtime.events(id)).find(({ type }) => type === 'turn.completed')?.seq ?? 0;
        const second = await runtime.fork(id, at, { message: 'And shorter.' });
        const model = createScriptedModel({
          turns: ['', { expect: [{ contains: 'And shorter.' }], say: ['<response>Short.</response>'] }],
        });
        const session = await runtime.resume(second, { model });
        expect(await session.result).toMatchObject({ status: 'completed', result: 'Short.' });
        const said = (await runtime.events(second)).find(({ type }) => type === 'message.received');
        expect(said).toMatchObject({ from: 'steer', text: 'And shorter.' });
        // That message can be exchanged, too.
        const third = await runtime.fork(second, said?.seq ?? 0, { message: 'And longer.' });
        const texts = (await runtime.events(third)).flatMap((event) =>
          event.type === 'message.received' ? [event.text] : [],
        );
        expect(texts).toEqual(['And longer.']);
        await expect(runtime.fork(id, 1, { message: ' ' })).rejects.toMatchObject({ code: 'bad_option' });
      },
    });
  });

  it('goes on with another model and other variables, also when it is resumed without them', async () => {
    await runAgent({
      manifest: 'context_variables: { runtime: [{ name: level, type: number, default: 1 }] }\n',
      files: { 'other.yml': 'turns: ["", <response>Level $level and $mood.</response>]\n' },
      turns: ['<response final="false">One.</response>', '<response>Two.</response>'],
      after: async (id, runtime) => {
        const at = (await runtime.events(id)).find(({ type }) => type === 'turn.completed')?.seq ?? 0;
        const model = 'scripted:./other.yml';
        const fork = await runtime.fork(id, at, { model, vars: { level: 7, mood: 'calm' } });
        const state = await runtime.state(fork);
        expect(state.model).toBe(model);
        expect(state.variables.get('level')).toMatchObject({ value: 7, by: 'user' });
        const session = await runtime.resume(fork);
        expect(await session.result).toMatchObject({ result: 'Level 7 and calm.' });
        const before = (await runtime.store.list()).length;
        await expect(runtime.fork(id, at, { vars: { level: 'x' } })).rejects.toMatchObject({
          code: 'bad_parameters',
        });
        for (const wrong of ['scripted:./none.yml', 'nobody/knows', 'no model'])
          await expect(runtime.fork(id, at, { model: wrong }), wrong).rejects.toThrow();
        expect((await runtime.store.list()).length).toBe(before);
      },
    });
  });

  it('tells the model which of its actions it has asked for and the log does not hold yet', async () => {
    await runAgent({
      manifest: 'import: { tools: [./tools/*.yml] }\n',
      files: tool('echo', 'return [1, 2];'),
      turns: [
        '<action id="a" mode="sync">{"name":"echo"}</action><foreach in="$a"><action id="each">{"name":"echo"}</action></foreach><action id="z">{"name":"echo"}</action>',
        '<response>Done.</response>',
      ],
      after: async (id, runtime) => {
        const events = await runtime.events(id);
        const faultsFrom = async (seq: number) => {
          const fork = await runtime.fork(id, seq);
          const model = createScriptedModel({ turns: ['', '<response>Done.</response>'] });
          const session = await runtime.resume(fork, { model });
          expect((await session.result).status).toBe('completed');
          return (await runtime.events(fork)).flatMap((event) =>
            event.type === 'fault' ? [`${event.code} ${event.message.slice(0, 17)}`] : [],
          );
        };
        const said = events.filter(({ type }) => type === 'model.output').map(({ seq }) => seq);
        const told = await Promise.all(said.slice(0, 3).map(faultsFrom));
        expect(told).toEqual([
          ['not_run The action "a" of'],
          ['not_run The action "each"'],
          ['not_run The action "z" of'],
        ]);
        const begun = events.find(({ type, seq }) => type === 'action.declared' && seq > (said[1] ?? 0));
        expect(await faultsFrom(begun?.seq ?? 0)).toEqual([]);
      },
    });
  });

  it.each([
    ['tags', '<metadata>{"status":"BUSY","odd":1}</metadata><thought>Next.</thought>'],
    ['tools', { call: 'set_metadata', input: { status: 'BUSY', odd: 1 } }],
    ['step', { call: 'step', input: { thought: 'Next.', metadata: { status: 'BUSY', odd: 1 } } }],
  ])(
    'sets metadata whose text the log holds and whose event it does not, once (%s)',
    async (dialect, said) => {
      await runAgent({
        manifest: `dialect: ${dialect}\nmetadata: { fields: { status: { values: [IDLE, BUSY], default: IDLE } } }\n`,
        turns: [],
        model: createScriptedModel({ turns: [typeof said === 'string' ? said : { say: [said] }] }),
        after: async (id, runtime) => {
          const events = await runtime.events(id);
          const changed = events.findIndex(({ type }) => type === 'metadata.changed');
          expect(events[changed - 1]?.type).toBe('model.output');
          for (const { seq } of events.slice(changed - 1, changed + 2)) {
            const fork = await runtime.fork(id, seq);
            const session = await runtime.resume(fork, { model: createScriptedModel({ turns: [''] }) });
            await session.result;
            const set = (await runtime.events(fork)).flatMap((event) =>
              event.type === 'metadata.changed' && event.by === 'model' ? [event.changes] : [],
            );
            expect(set).toEqual([{ status: { from: 'IDLE', to: 'BUSY' } }]);
          }
        },
      });
    },
  );

  it('tells the model of its mistakes whose text the log holds and whose faults it does not, once', async () => {
    await runAgent({
      manifest: 'import: { tools: [./tools/*.yml] }\n',
      files: tool('echo', 'return 1;'),
      turns: [
        '<action>{"name": "echo", oops}</action><if test="nope"></if><thought>Hm.</thought>So it <action>{"name": "echo"}</action>',
        '<response>Done.</response>',
      ],
      after: async (id, runtime) => {
        const first = (await runtime.events(id)).filter(({ turn }) => turn === 1);
        const from = first.findIndex(({ type }) => type === 'model.output');
        const to = first.findIndex(({ type }) => type === 'action.declared');
        expect(to - from).toBeGreaterThan(4);
        for (const { seq } of first.slice(from, to)) {
          const fork = await runtime.fork(id, seq);
          const model = createScriptedModel({ turns: ['', '<response>Done.</response>'] });
          await (await runtime.resume(fork, { model })).result;
          const codes = (await runtime.events(fork)).flatMap((event) =>
            event.type === 'fault' && event.code !== 'not_run' ? [event.code] : [],
          );
          expect(codes).toEqual(['bad_json', 'bad_test']);
        }
      },
    });
  });
});
