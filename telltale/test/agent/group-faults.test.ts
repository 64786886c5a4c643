import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/agent/define/definitions.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import type { Model } from '../../src/models/model.ts';
import { busyMs } from '../manifest/schema/busy-ms.ts';
import { call, endsOf, lived, seen } from './taken-up-stage.ts';

const good = call('b', 'echo');
const after = '<action id="d">{"name":"echo","depends_on":["g"]}</action>';
const REST = '<response>All done.</response>';
const AFTER = [REST, REST, REST];

/** One that runs again after a restart: what fails its group is not that it was interrupted. */
const agent = { tools: [defineTool({ name: 'echo', idempotent: true, run: () => 'said' })] };

const skips = (events: readonly SessionEvent[]) =>
  events.flatMap((event) =>
    event.type === 'action.skipped' ? [[event.id, event.reason, event.because]] : [],
  );
const completed = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'action.completed' ? [event.id] : []));
const BY_GROUP = [['d', 'dependency', 'g']];

describe('what depends on a <parallel> is skipped where a fault kept something in it from acting', () => {
  it.each([
    ['an action with a field that does not exist', `${good}<action id="x">{"nam":"echo"}</action>`],
    ['before the first that acts', `<action id="x">{"nam":"echo"}</action>${good}`],
    ['an unknown template', `${good}<action id="x">{"template":"none"}</action>`],
    ['a bad attribute', `${good}<action id="x" mode="fast">{"name":"echo"}</action>`],
    ['a test that cannot be decided', `${good}<if test="nothing.here">${call('x', 'echo')}</if>`],
    ['an <if> that does not hold and was left open', `${good}<if test="false">${call('x', 'echo')}`],
    ['in a <parallel> inside of it', `${good}<parallel id="h"><action>{"nam":"echo"}</action></parallel>`],
    ['a <foreach> that was left open', `${good}<foreach in="$list">${call('x', 'echo')}`],
    [
      'a <foreach> of a bad action',
      `${good}<foreach in="$list"><action>{"template":"none"}</action></foreach>`,
    ],
  ])('%s', async (_what, body) => {
    const turns = [`<parallel id="g">${body}</parallel>${after}`, ...AFTER];
    const { events, behind } = await lived(turns, { agent, start: { vars: { list: [1] } } });
    expect([completed(events), skips(events)]).toEqual([['b'], BY_GROUP]);
    for (const { seq } of events.slice(1, -1)) {
      const { all } = await behind((event) => event.seq === seq, turns);
      expect([seq, completed(all).includes('d')]).toEqual([seq, false]);
    }
  });

  it('also where its id was taken by something that the model has not named', async () => {
    const loop = `<foreach in="$list">${call('e', 'echo')}</foreach>`;
    const turn = `${loop}<parallel id="g">${good}${call('foreach_1', 'echo')}</parallel>${after}`;
    const { events } = await lived([turn, ...AFTER], { agent, start: { vars: { list: [1] } } });
    expect(skips(events)).toEqual(BY_GROUP);
  });

  it('also what waits for it already, and in a later turn', async () => {
    const bad = `<parallel id="g">${good}<action id="x">{"nam":"echo"}</action></parallel>`;
    const before = await lived([`${after}${bad}`, ...AFTER]);
    expect([completed(before.events), skips(before.events)]).toEqual([['b'], BY_GROUP]);
    const turns = [bad, after, ...AFTER];
    const { events, behind } = await lived(turns);
    expect([completed(events), skips(events)]).toEqual([['b'], BY_GROUP]);
    const { all } = await behind(({ type, turn }) => type === 'turn.started' && turn === 2, turns);
    expect([completed(all), skips(all)]).toEqual([['b'], BY_GROUP]);
  });

  it('but not where the fault is about prose, or stands in a branch that does not hold', async () => {
    for (const body of [
      `${good}</thought>`,
      `${good}<if test="false"><action>{"nam":"echo"}</action></if>`,
    ]) {
      const { events } = await lived([`<parallel id="g">${body}</parallel>${after}`, ...AFTER]);
      expect([completed(events), skips(events)]).toEqual([['b', 'd'], []]);
    }
  });

  it('but not once the model has asked again under the same id, where nothing came of it before', async () => {
    const turns = [
      '<parallel id="g"><action id="b">{"nam":"echo"}</action></parallel>',
      `<parallel id="g">${good}</parallel>${after}`,
      ...AFTER,
    ];
    const { events, behind } = await lived(turns);
    expect([completed(events), skips(events)]).toEqual([['b', 'd'], []]);
    const { all } = await behind(
      (event) => event.type === 'action.declared' && event.action.id === 'b',
      turns,
    );
    // The turn broke off in the <parallel>: what depends on it does not run.
    expect([completed(all), skips(all)]).toEqual([['b'], BY_GROUP]);
  });
});

describe('a <parallel> that was never closed', () => {
  it('has not succeeded where the turn ended in it, after a restart neither', async () => {
    const turns = [`<parallel id="g">${good}`, after, ...AFTER];
    const { events, behind } = await lived(turns);
    expect([completed(events), skips(events)]).toEqual([['b'], BY_GROUP]);
    const { all } = await behind(({ type, turn }) => type === 'turn.started' && turn === 2, turns);
    expect(skips(all)).toEqual(BY_GROUP);
  });

  it('has where a response followed it: all that stood in it was read', async () => {
    const { events } = await lived([
      `<parallel id="g">${good}<response final="false">Wait.</response>`,
      after,
      ...AFTER,
    ]);
    expect([completed(events), skips(events)]).toEqual([['b', 'd'], []]);
  });

  it('has not where the provider broke off in it', async () => {
    let requests = 0;
    const model: Model = {
      id: 'scripted:breaking',
      async stream(_request, sink) {
        sink.text([`<parallel id="g">${good}`, after][requests++] ?? REST);
        if (requests === 1) throw new RuntimeError('overloaded', 'Too busy.', { retryable: true });
        return { finish: 'stop' };
      },
    };
    const { events } = await lived(model);
    expect([completed(events), skips(events)]).toEqual([['b'], BY_GROUP]);
  });

  it('has not where a person broke off the turn in it', async () => {
    let requests = 0;
    const model: Model = {
      id: 'scripted:patient',
      stream({ signal }, sink) {
        sink.text([`<parallel id="g">${good}`, after][requests++] ?? REST);
        if (requests > 1) return Promise.resolve({ finish: 'stop' });
        return new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(new Error('aborted'))),
        );
      },
    };
    const { events } = await lived(model, {
      start: { chat: true },
      async during(session) {
        await seen(session, 'action.completed');
        const idle = seen(session, 'session.waiting');
        session.breakOff();
        await idle;
        const again = seen(session, 'session.waiting');
        await session.say('Deploy it.');
        await again;
        session.finish();
      },
    });
    expect([completed(events), skips(events)]).toEqual([['b'], BY_GROUP]);
  });
});

describe('however many <parallel>s a turn has', () => {
  const nested = (n: number) =>
    '<parallel>'.repeat(n) + '<action>{"nam":1}</action>'.repeat(n) + '</parallel>'.repeat(n);
  const bytesOf = async (turn: string) => {
    const { events } = await lived([turn, ...AFTER], { agent });
    return JSON.stringify(events).length;
  };

  it('its faults name each of them once', async () => {
    expect(await bytesOf(nested(400))).toBeLessThan(2.5 * (await bytesOf(nested(200))));
  });

  it('reading it takes time in proportion', async () => {
    const started = busyMs();
    await bytesOf(nested(2_000));
    await bytesOf('<parallel></parallel>'.repeat(20_000));
    expect(busyMs() - started).toBeLessThan(5_000); // it took up to a minute
  });
});

it('one that has the id of one around a <foreach> that made nothing is another one', async () => {
  const none = defineTool({ name: 'none', run: () => [] });
  const late = defineTool({ name: 'late', start: 'on_turn_end', run: () => 1 });
  const turns = [
    '<action id="l" mode="sync">{"name":"none"}</action><parallel id="g"><foreach in="$l" as="x"><action>{"name":"none"}</action></foreach></parallel>',
    '<parallel id="g"><action id="z">{"name":"late"}</action></parallel>',
    ...AFTER,
  ];
  const { events } = await lived(turns, { agent: { tools: [none, late] } });
  expect(events.at(-1)?.type).toBe('session.completed');
  expect(events.flatMap((event) => (event.type === 'fault' ? [event.code] : []))).toEqual(['deadlock']);
  const groups = events.flatMap((event) =>
    event.type === 'action.declared' && event.action.id === 'z' ? [event.action.group] : [],
  );
  expect(groups).toEqual(['g@2']);
});

describe('a rollback does not wait for ever', () => {
  const now = defineTool({ name: 'now', idempotent: true, run: () => 'now' });
  const list = defineTool({
    name: 'list',
    idempotent: true,
    run: () => new Promise((resolve) => setTimeout(resolve, 20, [1])) as never,
  });
  const y = '<action id="y">{"name":"now","depends_on":["zz"]}</action>';
  const a = (needs: string) =>
    `<action id="a" mode="sync">{"name":"now","compensate":{"name":"now","parameters":{"v":"$${needs}"}}}</action>`;
  const r = (mode: string) =>
    `<action type="internal" id="r" mode="${mode}">{"name":"rollback","parameters":{"to":"a"}}</action>`;
  const behindIt = '<action id="x" mode="sync">{"name":"now","depends_on":["r"]}</action>';
  const loop =
    '<action id="l">{"name":"list"}</action><foreach in="$l" as="i"><action id="y">{"name":"now","depends_on":["zz"]}</action></foreach>';

  it.each([
    ['holds up its turn', `${y}${a('y')}${r('sync')}Well.`, { undo_a: 'deadlock' }],
    [
      'holds it up in a <parallel>',
      `${y}${a('y')}<parallel id="g">${r('async')}</parallel>Well.`,
      { undo_a: 'deadlock' },
    ],
    ['is waited for by what does', `${y}${a('y')}${r('async')}${behindIt}Well.`, { x: 'deadlock' }],
    ['undoes with rounds that come later', `${loop}${a('y')}${r('sync')}Well.`, { undo_a: 'deadlock' }],
    ['undoes with its own result', `${a('r')}${r('async')}${REST}`, { undo_a: 'deadlock' }],
  ])(
    'for what only the rest of the turn, or itself, could bring: it %s, also behind a kill',
    async (_how, turn, skipped) => {
      const { events, behind } = await lived([turn, ...AFTER], { agent: { tools: [now, list] } });
      const ends = endsOf(events);
      expect(ends).toMatchObject({ ...skipped, r: 'completed' });
      const undo = events.find((event) => event.type === 'action.declared' && event.action.id === 'undo_a');
      const { all, result } = await behind((event) => event.seq === undo?.seq, [turn, ...AFTER]);
      expect(result.status).toBe('completed');
      expect(Object.keys(endsOf(all))).toEqual(expect.arrayContaining(Object.keys(skipped)));
    },
  );
});
