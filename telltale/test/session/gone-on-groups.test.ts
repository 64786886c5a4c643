import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/events/event.ts';
import { defineTool } from '../../src/session/define/define-tool.ts';
import { type Is, isSaid, lived, of } from './taken-up-stage.ts';

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
const agent = {
  tools,
  metadata: { fields: { stage: { values: ['NEW', 'BEGUN'], default: 'NEW' } } },
} as const;
const act = (id: string, name: string, needs?: string, mode = 'async') =>
  `<action id="${id}" mode="${mode}">${JSON.stringify({ name, ...(needs === undefined ? {} : { depends_on: [needs] }) })}</action>`;

const REST = '<response>All done.</response>';
const SEEN = '<response>I see.</response>';
const AFTER = [SEEN, SEEN];
const backup = act('b', 'backup');
const deploy = act('d', 'deploy', 'g');
const FAILING = `<parallel id="g">${backup}${act('m', 'migrate')}</parallel>${deploy}${REST}`;
const GOING = `<parallel id="g">${backup}${act('m', 'copy')}</parallel>${deploy}${REST}`;
const begun = `<parallel id="g">${backup}`;

const is =
  (type: string, id: string): Is =>
  (event) =>
    event.type === type && (event as { id?: string }).id === id;
const started = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'action.started' ? [event.id] : []));
const skips = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'action.skipped' ? [[event.id, event.reason]] : []));
/** But for that what failed was not seen: by now it has been. */
const faults = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'fault' && event.code !== 'final_undone' ? [event.code] : []));
/** The event at which something happened to an action. */
const at = (events: readonly SessionEvent[], type: string, id: string) => events.findIndex(is(type, id));
/** From the first turn's beginning to its end. */
const places = (events: readonly SessionEvent[]) =>
  events.slice(
    events.findIndex(({ type }) => type === 'turn.started'),
    events.findIndex(({ type }) => type === 'turn.completed'),
  );
/** Goes on with these where a turn was cut short behind the first action of its group. */
async function goingOn(then: readonly string[], manifest: object = {}) {
  const { behind } = await lived([`${begun}${act('never', 'copy')}</parallel>`, ...AFTER], {
    agent: { ...agent, ...manifest },
  });
  return behind(
    is('action.started', 'b'),
    then.map((text, at) => (at === 0 ? begun + text : text)),
  );
}

describe('a <parallel> that its turn was cut short in', () => {
  it.each([
    ['fails', FAILING],
    ['succeeds', GOING],
    ['stands in another, and fails', `<parallel id="o">${FAILING.replace(deploy, `</parallel>${deploy}`)}`],
    ['has no id', GOING.replace(' id="g"', '').replace(deploy, act('d', 'deploy', undefined, 'sync'))],
    ['stands in a branch', `<if test="true">${GOING.replace(REST, '')}</if>${REST}`],
    ['is waited for by what stands before it', `${deploy}${GOING.replace(deploy, '')}`],
    [
      'holds a branch',
      GOING.replace(backup, `<if test="true">${backup}</if><if test="false">${act('x', 'copy')}</if>`),
    ],
    ['waits for what comes later in it', GOING.replace(backup, act('b', 'backup', 'm'))],
    [
      'declares, before it asks for anything, what a test in it turns on',
      GOING.replace(
        backup,
        `<if test="metadata.stage == 'NEW'"><metadata>{"stage":"BEGUN"}</metadata>${backup}</if>`,
      ),
    ],
  ])('goes on with what the model goes on with: one that %s, wherever that was', async (_what, turn) => {
    const { events } = await lived([turn, ...AFTER], { agent });
    const whole = { started: started(events), skips: skips(events), faults: faults(events) };
    const { behind } = await lived([turn, ...AFTER], { agent });
    for (const { seq } of places(events)) {
      const { all, result } = await behind((event) => event.seq === seq, [turn, ...AFTER]);
      if (faults(all).includes('not_run')) continue; // between an action's text and the action, which come in one go
      const now = { started: [...new Set(started(all))], skips: skips(all), faults: faults(all) };
      expect([seq, result.status, now]).toEqual([seq, 'completed', whole]);
      for (const type of ['action.completed', 'action.failed']) {
        const ended = at(all, type, 'm');
        if (ended !== -1 && whole.started.includes('d'))
          expect([seq, ended < at(all, 'action.started', 'd')]).toEqual([seq, true]);
      }
    }
  });
});

describe('a model that begins anew where its <parallel> was cut short', () => {
  it('is told that it is still open', async () => {
    const { prompts } = await goingOn([`${act('m', 'copy')}</parallel>${deploy}${REST}`]);
    expect(JSON.stringify(prompts)).toContain('what you go on with belongs to it');
  });

  it('may open it again: what is in it then belongs to it, too', async () => {
    const { all } = await goingOn([`<parallel id="g">${act('m', 'copy')}</parallel>${deploy}${REST}`]);
    expect([started(all), faults(all)]).toEqual([['b', 'b', 'm', 'd'], []]);
    expect(at(all, 'action.completed', 'm')).toBeLessThan(at(all, 'action.started', 'd'));
    const failed = await goingOn([
      `<parallel id="g">${act('m', 'migrate')}</parallel>${deploy}${REST}`,
      SEEN,
    ]);
    expect([started(failed.all), skips(failed.all)]).toEqual([['b', 'b', 'm'], [['d', 'dependency']]]);
  });

  it('is told where it has an action in it that depends on all of it, as without a restart', async () => {
    const { all } = await goingOn([`${act('m', 'copy')}${deploy}</parallel>`, act('e', 'deploy'), REST]);
    expect([started(all), faults(all), skips(all)]).toEqual([
      ...[['b', 'b', 'm', 'e'], ['deadlock'], [['d', 'deadlock']]],
    ]);
  });

  it.each(['buffer', 'observe'] as const)(
    'may ask for sync actions, behind which nothing is done before they have ended: on_sync %s',
    async (on_sync) => {
      const turns = [`${act('s', 'copy', undefined, 'sync')}${act('e', 'copy')}</parallel>${deploy}${REST}`];
      const { all } = await goingOn(turns, { protocol: { on_sync } });
      expect([started(all), faults(all)]).toEqual([['b', 'b', 's', 'e', 'd'], []]);
      expect(at(all, 'action.completed', 's')).toBeLessThan(at(all, 'action.started', 'e'));
    },
  );

  it.each([REST, `So this is it: ${REST}`])('may answer without closing it: %s', async (answer) => {
    const { all, result } = await goingOn([answer]);
    expect([result.result, faults(all)]).toEqual(['All done.', []]);
  });

  it('may end its turn without closing it, and depend on it in the next', async () => {
    const { all } = await goingOn([act('m', 'copy'), `${deploy}${REST}`]);
    expect([started(all), faults(all)]).toEqual([['b', 'b', 'm', 'd'], []]);
  });

  it('may have been cut short there time and again', async () => {
    const turns = [`${begun}${act('m', 'copy')}${act('n', 'migrate')}</parallel>${deploy}${REST}`, ...AFTER];
    const { events, behind } = await lived(turns, { agent });
    expect(skips(events)).toEqual([['d', 'dependency']]);
    const once = await behind(is('action.started', 'b'), turns);
    for (const { seq } of once.since.slice(0, -1)) {
      const twice = await behind((event) => event.seq === seq, turns, undefined, once.id);
      expect([seq, started(twice.all).includes('d')]).toEqual([seq, false]);
    }
  });
});

it('one whose id was taken is gone on in as what it was: one without an id', async () => {
  const turn = `<parallel id="first">${backup}${act('m', 'copy')}</parallel>${act('z', 'deploy')}`;
  const turns = [act('first', 'backup'), turn, ...AFTER];
  const { events, behind } = await lived(turns, { agent });
  const { all } = await behind(is('action.started', 'b'), turns);
  const groups = (log: readonly SessionEvent[]) =>
    log.flatMap((event) => (event.type === 'action.declared' ? [[event.action.id, event.action.group]] : []));
  expect(groups(all)).toEqual(groups(events));
  expect(at(all, 'action.completed', 'm')).toBeLessThan(at(all, 'action.started', 'z'));
});

it('one that was closed is not gone on in: what is said while people decide on it is none of it', async () => {
  const { events, behind } = await lived([GOING, ...AFTER], { agent });
  const closed = events.find(isSaid('</parallel>'));
  expect(closed?.seq).toBeLessThan(events.find(is('action.completed', 'm'))?.seq ?? 0);
  const { all } = await behind(({ seq }) => seq === closed?.seq, [GOING, ...AFTER]);
  expect(of(all, 'fault')).toEqual([]);
  expect(started(all).at(-1)).toBe('d');
});
