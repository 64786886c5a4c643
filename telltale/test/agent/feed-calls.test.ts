import { describe, expect, it } from 'vitest';
import { readTurnParts } from '../../src/lib/calls.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import type { ModelRequest } from '../../src/models/model.ts';
import type { Dialect } from '../../src/parser/dialect-parser.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { inForm } from '../lab/models/foreign-forms.ts';
import { runAgent, tool } from './run-agent.ts';
import { call, type Deed, speak, step } from './speak.ts';

const FEEDS = 'context_feeds: [{ id: clock, source: { type: internal, action: system_clock } }]\n';
const NOTES: JsonObject = { id: 'notes', source: { type: 'file', name: 'notes.md' } };
const FILES = { 'notes.md': 'the tide is low\n', 'other.md': 'the tide is high\n' };
const DONE: readonly Deed[] = [{ respond: 'Done.' }];

async function run(dialect: Dialect, manifest: string, ...turns: readonly string[]) {
  const requests: Pick<ModelRequest, 'system' | 'tools' | 'messages'>[] = [];
  const model = scripted([...turns, speak(dialect, DONE)]);
  const ran = await runAgent({
    manifest: `dialect: ${dialect}\n${manifest}`,
    files: FILES,
    turns: [],
    model: {
      ...model,
      stream(request, sink) {
        const { system, tools = [], messages } = request;
        requests.push({ system, tools, messages: structuredClone([...messages]) });
        return model.stream(request, sink);
      },
    },
  });
  return {
    ...ran,
    requests,
    declared: ran
      .of('action.declared')
      .map(({ action: { kind, name, parameters } }) => [`${kind} ${name}`, parameters] as const),
    faults: ran.of('fault').map(({ code, message }) => `${code}: ${message}`),
    told: requests.flatMap(({ messages }) => messages.map(({ text }) => text)).join('\n'),
  };
}

/** A call under this name, of no kind that is said. */
function named(dialect: Dialect, name: string, input: JsonObject, run: JsonObject = {}): string {
  if (dialect === 'tools')
    return call(name, { ...input, ...(Object.keys(run).length > 0 ? { _run: run } : {}) });
  if (dialect === 'step')
    return step({ thought: 'x', tool_calls: [{ name, input, ...run }], is_complete: false });
  return `<action>${JSON.stringify({ name, parameters: input, ...run })}</action>`;
}

const feed = (dialect: Dialect, operation: string, input: JsonObject = {}) =>
  named(dialect, 'context_feed', { operation, ...input });

/** What the model is offered for its feeds: names and operations, wherever they stand. */
function offered({ system, tools = [] }: Pick<ModelRequest, 'system' | 'tools'>): readonly string[] {
  const named = tools.map(({ name }) => name).filter((name) => name.includes('context_feed'));
  const listed = /^- "context_feed": .*\n((?: {2}- .*\n?)*)/m.exec(system)?.[1] ?? '';
  const inList = [...listed.matchAll(/^ {2}- (\w+)/gm)].map(([, name = '']) => name);
  const schema = tools.find(({ name }) => name === 'context_feed')?.parameters.properties as
    | { readonly operation: { readonly enum: readonly string[] } }
    | undefined;
  const others = system.match(/"\w+_context_feeds?"/g) ?? [];
  return [...named, ...others, ...inList, ...(schema?.operation.enum ?? [])];
}

describe.each(['tags', 'tools', 'step'] as const)('actions on feeds in %s', (dialect) => {
  const mark = dialect === 'tools' ? ['context_feed'] : [];

  it('are offered as one target, with the operations that the manifest allows', async () => {
    const first = async (manifest: string) =>
      offered((await run(dialect, manifest)).requests[0] ?? { system: '' });
    expect(await first(FEEDS)).toEqual([...mark, 'add', 'update', 'remove', 'list', 'read']);
    const blocked = 'internal_actions: { blocked_actions: [add_context_feed, remove_context_feed] }\n';
    expect(await first(FEEDS + blocked)).toEqual([...mark, 'update', 'list', 'read']);
    const allowed = 'internal_actions: { allowed_actions: [add_context_feed] }\n';
    expect(await first(allowed)).toEqual([...mark, 'add']);
    expect(await first('')).toEqual([]);
    expect(await first(`${FEEDS}internal_actions: { enabled: false }\n`)).toEqual([]);
  });

  it('run where the agent has no feeds, though it is not offered them', async () => {
    const clock = { id: 'clock', source: { type: 'internal', action: 'system_clock' } };
    const turns = [feed(dialect, 'add', clock), named(dialect, 'read_context_feed', { id: 'clock' })];
    const { of, faults, requests } = await run(dialect, '', ...turns);
    expect(faults).toEqual([]);
    expect(of('action.completed').map(({ id }) => id)).toHaveLength(2);
    expect(requests[1]?.messages.at(-1)?.text).toContain('<context_feed id="clock"');
    for (const request of requests) expect(offered(request)).toEqual([]);
    const { told } = await run(dialect, '', named(dialect, 'translate', {}));
    expect(told).toContain('translate');
    expect(told).not.toContain('context_feed');
  });

  it('are on the log by their own names, whether a call names the operation or the action', async () => {
    const operations = [
      feed(dialect, 'add', NOTES),
      feed(dialect, 'update', { id: 'notes', source: { type: 'file', name: 'other.md' } }),
      feed(dialect, 'read', { id: 'notes', refresh: true }),
      feed(dialect, 'list'),
      feed(dialect, 'remove', { id: 'notes' }),
    ];
    const own = [
      named(dialect, 'add_context_feed', NOTES),
      named(dialect, 'update_context_feed', { id: 'notes', source: { type: 'file', name: 'other.md' } }),
      named(dialect, 'read_context_feed', { id: 'notes', refresh: true }),
      named(dialect, 'list_context_feeds', {}),
      named(dialect, 'remove_context_feed', { id: 'notes' }),
    ];
    const [one, other] = [await run(dialect, FEEDS, ...operations), await run(dialect, FEEDS, ...own)];
    expect(one.declared.map(([name]) => name)).toEqual([
      'internal add_context_feed',
      'internal update_context_feed',
      'internal read_context_feed',
      'internal list_context_feeds',
      'internal remove_context_feed',
    ]);
    expect(one.declared).toEqual(other.declared);
    expect(one.faults).toEqual([]);
    expect(one.of('action.completed')).toHaveLength(5);
    expect(one.of('feed.removed').map(({ id }) => id)).toEqual(['notes']);
    expect(one.told).toContain('the tide is high');
  });

  it('without an operation, or with one that there is not, do not run, and the model is told which there are', async () => {
    const blocked = 'internal_actions: { blocked_actions: [remove_context_feed] }\n';
    const { declared, faults, told } = await run(
      dialect,
      FEEDS + blocked,
      named(dialect, 'context_feed', { id: 'clock' }),
      feed(dialect, 'raed', { id: 'clock' }),
    );
    expect(declared).toEqual([]);
    expect(faults).toEqual([
      expect.stringMatching(/^bad_action: .*"context_feed" needs an "operation".*add, update, list, read/),
      expect.stringMatching(/^bad_action: .*has no operation "raed".*"read"/),
    ]);
    for (const fault of faults) expect(told).toContain(fault.replace('bad_action: ', ''));
  });

  it('that the manifest blocks are refused as before', async () => {
    const blocked = 'internal_actions: { blocked_actions: [remove_context_feed] }\n';
    const { of } = await run(dialect, FEEDS + blocked, feed(dialect, 'remove', { id: 'clock' }));
    expect(of('action.failed').map(({ error }) => error.code)).toEqual(['not_permitted']);
  });

  it('may undo an action', async () => {
    const compensate = { name: 'context_feed', parameters: { operation: 'remove', id: 'notes' } };
    const { declared, of } = await run(
      dialect,
      FEEDS,
      named(dialect, 'context_feed', { operation: 'add', ...NOTES }, { compensate }),
      named(dialect, 'rollback', {}),
    );
    expect(declared.map(([name]) => name)).toEqual([
      'internal add_context_feed',
      'internal rollback',
      'internal remove_context_feed',
    ]);
    expect(of('feed.removed').map(({ id }) => id)).toEqual(['notes']);
  });

  it('that are written as text in the form of another system run, too, and the right form names the operation', async () => {
    const text = inForm('hermes', [{ name: 'context_feed', parameters: { operation: 'read', id: 'clock' } }]);
    const { declared, faults } = await run(dialect, FEEDS, text);
    expect(declared).toEqual([['internal read_context_feed', { id: 'clock' }]]);
    expect(faults.join('\n')).toContain('{"operation":"read","id":"clock"}');
  });

  it('share their name with the block that shows a feed, which an answer may quote', async () => {
    const answer = 'You see <context_feed id="load">{"cpu":45}</context_feed> in a prompt.';
    const quoted = dialect === 'tags' ? speak(dialect, [{ respond: answer }]) : answer;
    const { declared, faults } = await run(dialect, FEEDS, quoted);
    expect(declared).toEqual([]);
    expect(faults.filter((fault) => fault.startsWith('foreign_call'))).toEqual([]);
  });
});

it('the history of native calls shows a call by the name of an action as the call that is offered', async () => {
  const { requests } = await run(
    'tools',
    FEEDS,
    call('add_context_feed', NOTES) +
      call('functions.list_context_feeds', '') +
      call('context_feed', '{"operation": "list"}'),
  );
  const said = requests[1]?.messages.find(({ role }) => role === 'assistant')?.text ?? '';
  expect(
    readTurnParts(said).flatMap((part) => (part.type === 'call' ? [[part.name, part.input]] : [])),
  ).toEqual([
    ['context_feed', JSON.stringify({ operation: 'add', ...NOTES })],
    ['context_feed', '{"operation":"list"}'],
    ['context_feed', '{"operation": "list"}'],
  ]);
});

it('a feed with an interval is periodic, whether or not its type is said', async () => {
  const timed = { id: 'tide', source: { type: 'file', name: 'notes.md' }, interval: 60 };
  const { of, faults } = await run(
    'tags',
    FEEDS,
    feed('tags', 'add', timed),
    feed('tags', 'add', NOTES),
    feed('tags', 'update', { id: 'notes', interval: 30 }),
  );
  expect(faults).toEqual([]);
  expect(of('feed.added').map(({ id, feed }) => [id, feed?.type, feed?.interval])).toEqual([
    ['tide', 'periodic', 60],
    ['notes', undefined, undefined],
    ['notes', 'periodic', 30],
  ]);
});

it('only sources that the agent can use are told', async () => {
  const sources = async (manifest: string) => {
    const { requests } = await run('tags', FEEDS + manifest);
    const [, told = ''] = /source: object \(\{"type": (.*?), "name"/.exec(requests[0]?.system ?? '') ?? [];
    return told.split(' | ').map((type) => JSON.parse(type));
  };
  expect(await sources('')).toEqual(['file', 'repo']);
  expect(
    await sources('import: { tools: [builtin:shell] }\npermissions: { network: [example.org], paths: [] }\n'),
  ).toEqual(['tool', 'http']);
});

it('a tool of that name is called first, and the actions have another', async () => {
  const ran = await runAgent({
    manifest: `dialect: tools\nimport: { tools: [./tools/*.yml] }\n${FEEDS}`,
    files: tool('context_feed', 'return "the tool";'),
    turns: [
      call('context_feed', { operation: 'list' }) + call('internal_context_feed', { operation: 'list' }),
      speak('tools', DONE),
    ],
  });
  expect(ran.of('action.declared').map(({ action: { kind, name } }) => `${kind} ${name}`)).toEqual([
    'tool context_feed',
    'internal list_context_feeds',
  ]);
});
