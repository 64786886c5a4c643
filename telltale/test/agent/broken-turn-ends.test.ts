import { describe, expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { Session } from '../../src/agent/runtime-types.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import type { Model } from '../../src/models/model.ts';
import { modelCancelled } from '../../src/models/model-errors.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { busyMs } from '../manifest/schema/busy-ms.ts';
import { agentFolder, tool as agentTool } from './run-agent.ts';
import { speak } from './speak.ts';
import {
  endsOf as ends,
  type Is,
  isSaid,
  isType,
  lived,
  responsesOf as responses,
  seen,
} from './taken-up-stage.ts';

const later = (ms = 5) => new Promise((resolve) => setTimeout(resolve, ms));
const tool = (name: string, run: () => unknown, more: object = {}) =>
  defineTool({ name, idempotent: true, run: run as never, ...more });
const tools = [
  tool('now', () => 'now'),
  tool('soon', () => later().then(() => 'soon')),
  tool('list', () => later(20).then(() => [1])),
  tool('late', () => 'late', { start: 'on_turn_end' }),
  tool('rm', () => 'gone'),
];
const agent = { tools };
const act = (id: string, name: string, needs?: string, mode = 'async') =>
  `<action id="${id}" mode="${mode}">${JSON.stringify({ name, ...(needs === undefined ? {} : { depends_on: [needs] }) })}</action>`;
const DONE = '<response>Done.</response>';
const REST = [DONE, DONE, DONE];

const is =
  (type: string, id: string): Is =>
  (event) =>
    event.type === type &&
    (event.type === 'action.declared' ? event.action.id : (event as { id?: string }).id) === id;
const faults = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'fault' ? [event.code] : []));

/** A model that speaks in small pieces, and goes on word for word: what is held back is cut somewhere. */
const speaking = (...turns: readonly string[]): Model => ({
  id: 'scripted:speaking',
  async stream({ turn, said = 0, signal }, sink) {
    const text = (turns[turn - 1] ?? DONE).slice(said);
    for (let from = 0; from < text.length && !signal.aborted; from += 12) {
      sink.text(text.slice(from, from + 12));
      await new Promise((resolve) => setImmediate(resolve));
    }
    return { finish: 'stop' };
  },
});

/** Says this, and then nothing more until it is stopped. */
const stalling = (text: string): Model => ({
  id: 'stalling',
  async stream({ signal }, sink) {
    await undefined;
    sink.text(text);
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    throw modelCancelled('stalling');
  },
});

it('what a response quotes does not act, wherever the log ends in it', async () => {
  const quoted = 'To delete all, one writes <action id="q">{"name":"rm"}</action>. That is it.';
  const turn = `<parallel id="g">${act('b', 'soon')}\n<response>${quoted}</response>`;
  const { events, behind } = await lived(speaking(turn), { agent });
  const end = events.findIndex(isType('turn.completed'));
  expect(events.slice(0, end).some(isSaid('<response>To d'))).toBe(true);
  for (const { seq } of events.slice(1, end)) {
    const { all } = await behind((event) => event.seq === seq, [turn, ...REST]);
    expect([seq, ends(all).q]).toEqual([seq, undefined]);
    expect(responses(all)).toContain(quoted);
  }
});

describe('an action that was never begun, and was asked for again', () => {
  it.each([
    ['under its id', act('x', 'now'), 'x'],
    ['without one', '<action>{"name":"now"}</action>', 'a1'],
  ])('is not said to be lost once more: %s', async (_how, x, id) => {
    const { behind } = await lived([`Well. ${x}`, ...REST], { agent });
    const then = [`Well. ${x} Again: ${x} More. <thought>Hm.</thought>`, ...REST];
    const once = await behind(isSaid(x), then);
    expect(faults(once.all)).toEqual(['not_run']);
    const twice = await behind(is('action.completed', id), then, undefined, once.id);
    expect(faults(twice.all)).toEqual(['not_run']);
    expect(ends(twice.all)).toEqual({ [id]: 'completed' });
  });
});

it('an action that a person has approved is done, whatever came of what its words name', async () => {
  const done: unknown[] = [];
  const run = (input: unknown) => {
    done.push(input);
    return 'asked';
  };
  const ask = defineTool({ name: 'ask', approval: 'always' as const, run });
  const bad = defineTool({ name: 'bad', run: () => Promise.reject(new Error('no luck')) });
  const asking = await defineAgent({
    name: 'tester',
    tools: [ask, bad],
    protocol: { final_with_actions: 'accept' },
  });
  const runtime = await createRuntime({ store: 'memory' });
  onTestFinished(() => runtime.close());
  const ends =
    '<action id="w">{"name":"ask","parameters":{"text":"Costs $x."}}</action><action id="x">{"name":"bad"}</action>';
  const model = scripted([ends, '<thought>I wait.</thought>', DONE, DONE, DONE]);
  const first = runtime.start(asking, { input: 'Go.', model });
  expect((await first.result).status).toBe('waiting');
  const [review] = await runtime.reviews();
  await runtime.answer(review?.review ?? '', { approved: true, by: 'ann' });
  const resumed = await runtime.resume(first.id, { agent: asking, model });
  expect((await resumed.result).status).toBe('completed');
  expect(done).toEqual([{ text: 'Costs $x.' }]);
});

it('a response that names a complete_step which waits for more goes out without it', async () => {
  const notes = 'I looked at it with care and wrote down all that there was to find about it.';
  const complete = speak('tags', [{ complete: notes }]);
  const turn = `${act('x', 'echo', 'zz')}${complete.replace('<action', '<action id="c"')}<response final="false">So it is: $c.</response>`;
  const cwd = agentFolder('import: { tools: [./tools/*.yml], workflows: [./lead.yml] }\nworkflow: lead\n', {
    'lead.yml': 'kind: Workflow\nname: lead\nsteps: [{ name: one, type: task, prompt: "One." }]\n',
    ...agentTool('echo', 'return 1;', 'idempotent: true\n'),
  });
  const runtime = await createRuntime({ store: 'memory', cwd });
  onTestFinished(() => runtime.close());
  const led = await loadAgent('agent.yml', { cwd });
  const first = runtime.start(led, { input: 'Go.', model: stalling(turn) });
  await seen(first as Session, 'action.started');
  await first.interrupt();
  const model = scripted([`${turn} Well.`, complete, complete]);
  const resumed = await runtime.resume(first.id, { agent: led, model });
  expect(await resumed.result).toMatchObject({ status: 'completed', result: notes });
  expect(responses(await runtime.events(first.id))[0]).toMatch(/^So it is: \[unavailable: c: /);
});

it('what stands in place of an end tag is held back whole where a message cuts its turn short', async () => {
  const deploy = defineTool({ name: 'deploy', approval: 'always' as const, run: () => 'out' });
  const chunks = [`<parallel id="g">${act('a', 'deploy')}`, '\n<response>Hi there.</response>'];
  const asked: string[] = [];
  const model: Model = {
    id: 'chunks',
    async stream({ messages }, sink) {
      asked.push(JSON.stringify(messages));
      await undefined;
      if (asked.length > 1) sink.text('<thought>Well.</thought>');
      else for (const chunk of chunks) sink.text(chunk);
      return { finish: 'stop' };
    },
  };
  const { events } = await lived(model, {
    agent: { tools: [deploy] },
    start: { onWaiting: 'hold' },
    async during(session) {
      await seen(session, 'session.waiting');
      await session.steer('And?');
      await expect.poll(() => asked.length).toBeGreaterThan(1);
      await session.interrupt();
    },
  });
  expect(events.filter(isSaid('Hi there.'))).toEqual([]);
  expect(asked[1]).not.toContain('Hi there.'); // it has not answered, and does not see that it had
});

it('a response in which something has acted goes out as far as it went', async () => {
  const manifest = { ...agent, protocol: { actions_in: ['outside', 'thought', 'response'] } } as const;
  const turn = `<response>Hello ${act('a', 'soon')}there</response>`;
  const { behind } = await lived([turn, ...REST], { agent: manifest });
  const { all } = await behind(is('action.started', 'a'), [turn, ...REST]);
  expect(responses(all)[0]).toBe('Hello ');
  expect(ends(all)).toEqual({ a: 'completed' });
});

it('a response behind a kill costs no look at everything for each action that ends', async () => {
  const waiting = Array.from({ length: 1_600 }, (_, n) => act(`w${n}`, 'now', 'zz')).join('');
  const running = Array.from({ length: 100 }, (_, n) => act(`r${n}`, 'soon')).join('');
  const turn = `${waiting}${running}<response final="false">It is $r99.</response>Well.`;
  const { behind } = await lived([turn, ...REST], { agent });
  const started = busyMs();
  await behind(isSaid('It is $r99'), [turn, ...REST]);
  expect(busyMs() - started).toBeLessThan(3_000); // it took four seconds, and four times as much for twice as many
});
