import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/events/event.ts';
import { RuntimeError } from '../../src/kernel/runtime-error.ts';
import type { Model } from '../../src/models/model.ts';
import { defineTool } from '../../src/session/define/define-tool.ts';
import { type Is, lived, of, seen } from './taken-up-stage.ts';

const moment = () => new Promise((resolve) => setImmediate(resolve));
const tools = [
  defineTool({ name: 'backup', idempotent: true, run: () => 'kept' }),
  defineTool({ name: 'copy', idempotent: true, run: () => moment().then(() => 'copied') }),
  defineTool({ name: 'deploy', idempotent: true, run: () => 'out' }),
  defineTool({
    ...{ name: 'migrate', idempotent: true },
    run: () =>
      moment().then(() => {
        throw new Error('no luck');
      }),
  }),
];
const agent = { tools };
const act = (id: string, name: string, needs?: string) =>
  `<action id="${id}" mode="async">${JSON.stringify({ name, ...(needs === undefined ? {} : { depends_on: [needs] }) })}</action>`;

const REST = '<response>All done.</response>';
const AFTER = ['<response>I see.</response>', '<response>I see.</response>'];
const deploy = act('d', 'deploy', 'g');
const FAILING = `<parallel id="g">${act('b', 'backup')}${act('m', 'migrate')}</parallel>${deploy}${REST}`;
const GOING = `<parallel id="g">${act('b', 'backup')}${act('m', 'copy')}</parallel>${deploy}${REST}`;

const is =
  (type: string, id: string): Is =>
  (event) =>
    event.type === type && (event as { id?: string }).id === id;
const started = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'action.started' ? [event.id] : []));
const skips = (events: readonly SessionEvent[]) =>
  events.flatMap((event) =>
    event.type === 'action.skipped' ? [[event.id, event.reason, event.because]] : [],
  );
const cuts = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'turn.failed' ? [event.groups] : []));
/** From the first turn's beginning to its end. */
const places = (events: readonly SessionEvent[]) =>
  events.slice(
    events.findIndex(({ type }) => type === 'turn.started'),
    events.findIndex(({ type }) => type === 'turn.completed'),
  );
const BY_GROUP = [['d', 'dependency', 'g']];

/** Breaks off behind each of these texts but the last. */
function breaking(...texts: readonly string[]): Model {
  let requests = 0;
  return {
    id: 'scripted:breaking',
    async stream(_request, sink) {
      const at = requests++;
      sink.text(texts[at] ?? AFTER[0] ?? '');
      if (at < texts.length - 1) throw new RuntimeError('overloaded', 'Too busy.', { retryable: true });
      return { finish: 'stop' };
    },
  };
}

describe('a <parallel> that its turn was cut short in', () => {
  it('keeps what depends on it from running where the rest of it fails, wherever that was', async () => {
    const { events, behind } = await lived([FAILING, ...AFTER], { agent });
    expect([started(events), skips(events)]).toEqual([['b', 'm'], [['d', 'dependency', 'm']]]);
    for (const { seq } of places(events)) {
      const { all, result } = await behind((event) => event.seq === seq, [FAILING, ...AFTER]);
      expect([seq, result.status, started(all).includes('d')]).toEqual([seq, 'completed', false]);
    }
  });

  it('has not succeeded, and the model is told what to depend on; one that was closed has', async () => {
    const { events, behind } = await lived([GOING, ...AFTER], { agent });
    expect([started(events), cuts(events)]).toEqual([['b', 'm', 'd'], []]);
    const were = new Set<boolean>();
    for (const { seq } of places(events)) {
      const { all, prompts } = await behind((event) => event.seq === seq, [GOING, ...AFTER]);
      const isCut = cuts(all).some((groups) => groups !== undefined);
      were.add(isCut);
      if (isCut) expect([seq, cuts(all), skips(all)]).toEqual([seq, [['g']], BY_GROUP]);
      else expect([seq, skips(all).filter(([, reason]) => reason === 'dependency')]).toEqual([seq, []]);
      const told = JSON.stringify(prompts).includes('Let it depend on the ids of the actions themselves.');
      expect([seq, told]).toEqual([seq, isCut]);
    }
    expect(were).toEqual(new Set([true, false]));
  });

  it('that was closed and is still waited for counts with all that is in it', async () => {
    const { events, behind } = await lived([GOING, ...AFTER], { agent });
    const closed = events.find((event) => event.type === 'model.output' && event.text === '</parallel>');
    const ended = events.find(is('action.completed', 'm'));
    expect(closed?.seq).toBeLessThan(ended?.seq ?? 0);
    const { all, result } = await behind(({ seq }) => seq === closed?.seq, [GOING, ...AFTER]);
    expect(of(all, 'fault')).toEqual([]);
    expect([started(all).at(-1), skips(all), cuts(all), result.result]).toEqual([
      ...['d', [], [undefined], 'All done.'],
    ]);
  });

  it('skips what was waiting for it, too', async () => {
    const turns = [
      `${deploy}<parallel id="g">${act('b', 'backup')}${act('m', 'copy')}</parallel>${REST}`,
      ...AFTER,
    ];
    const { events, behind } = await lived(turns, { agent });
    expect(started(events)).toEqual(['b', 'm', 'd']);
    const { all } = await behind(is('action.started', 'b'), turns);
    expect([started(all).includes('d'), skips(all)]).toEqual([false, BY_GROUP]);
  });

  it('never succeeds, in no later turn and after no further restart', async () => {
    const cut = GOING.slice(0, GOING.indexOf('</parallel>'));
    const turns = [`${cut}</parallel>`, act('x', 'backup'), deploy, ...AFTER];
    const { behind } = await lived(turns, { agent });
    const once = await behind(is('action.started', 'b'), turns);
    expect([new Set(started(once.all)), skips(once.all)]).toEqual([new Set(['b', 'm', 'x']), BY_GROUP]);
    for (const { seq } of once.since.slice(0, -1)) {
      const twice = await behind((event) => event.seq === seq, turns, undefined, once.id);
      expect([seq, started(twice.all).includes('d'), cuts(twice.all)[0]]).toEqual([seq, false, ['g']]);
    }
  });

  it('spoils those around it, and none that was closed in it', async () => {
    const rest = `${act('e', 'backup', 'h')}${act('f', 'backup', 'g')}${REST}`;
    const turns = [
      `<parallel id="g"><parallel id="h">${act('b', 'backup')}${act('c', 'copy')}</parallel>${act('m', 'copy')}</parallel>${rest}`,
      ...AFTER,
    ];
    const { events, behind } = await lived(turns, { agent });
    expect(started(events)).toEqual(['b', 'c', 'm', 'e', 'f']);
    const inner = await behind(is('action.started', 'b'), turns);
    expect([cuts(inner.all), skips(inner.all)]).toEqual([
      [['g', 'h']],
      [
        ['e', 'dependency', 'h'],
        ['f', 'dependency', 'g'],
      ],
    ]);
    const outer = await behind(is('action.started', 'm'), turns);
    expect([cuts(outer.all), skips(outer.all), started(outer.all).includes('e')]).toEqual([
      ...[[['g']], [['f', 'dependency', 'g']], true],
    ]);
  });

  it('of a <foreach> has not succeeded either', async () => {
    const loop = `<foreach in="$list">${act('b', 'backup')}</foreach>`;
    const turns = [`<parallel id="g">${loop}${act('m', 'copy')}</parallel>${deploy}${REST}`, ...AFTER];
    const { behind } = await lived(turns, { agent, start: { vars: { list: [1, 2] } } });
    const { all } = await behind(is('action.started', 'b[1]'), turns);
    expect([cuts(all), skips(all)]).toEqual([[['g']], BY_GROUP]);
  });

  it('is another than one whose id was taken before', async () => {
    const turns = [
      `<parallel id="g">${act('b', 'backup')}</parallel>`,
      `<parallel id="g">${act('c', 'backup')}${act('m', 'copy')}</parallel>${deploy}${REST}`,
      ...AFTER,
    ];
    const { behind } = await lived(turns, { agent });
    const { all } = await behind(is('action.started', 'c'), turns);
    expect([cuts(all), started(all).includes('d')]).toEqual([[undefined], true]);
  });
});

describe('a <parallel> that a model broke off in', () => {
  const begun = `<parallel id="g">${act('b', 'backup')}`;

  it('has not succeeded, after a restart neither', async () => {
    for (const [first, rest] of [
      [begun, `${act('m', 'copy')}${deploy}${REST}`],
      [`${deploy}${begun}`, REST],
      [`${begun}${act('m', 'copy')}<parallel>${act('c', 'copy')}</parallel>`, `${deploy}${REST}`],
    ] as const) {
      const { events, behind } = await lived(breaking(first, rest), { agent });
      expect([cuts(events), skips(events)]).toEqual([[['g']], BY_GROUP]);
      const begins = events.findIndex(is('action.started', 'b'));
      for (const { seq } of events.slice(begins, -1)) {
        const { all } = await behind((event) => event.seq === seq, [first, rest, ...AFTER]);
        expect([first, seq, started(all).includes('d')]).toEqual([first, seq, false]);
      }
    }
  });

  it('is as good as any where it was closed before, and its id is free where nothing was in it', async () => {
    const closed = await lived(breaking(`${begun}</parallel>`, `${deploy}${REST}`), { agent });
    expect([cuts(closed.events), started(closed.events)]).toEqual([[undefined], ['b', 'd']]);
    const empty = await lived(breaking('<parallel id="g">', GOING), { agent });
    expect([cuts(empty.events), started(empty.events)]).toEqual([[undefined], ['b', 'm', 'd']]);
  });
});

it('a <parallel> that a person broke off in has not succeeded', async () => {
  const waiting = `<parallel id="g">${act('b', 'backup')}`;
  let requests = 0;
  const model: Model = {
    id: 'scripted:patient',
    stream({ signal }, sink) {
      sink.text([waiting, deploy][requests++] ?? REST);
      if (requests > 1) return Promise.resolve({ finish: 'stop' });
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
    },
  };
  const { events } = await lived(model, {
    agent,
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
  expect([cuts(events), started(events), skips(events)]).toEqual([[['g']], ['b'], BY_GROUP]);
});
