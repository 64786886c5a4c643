import { describe, expect, it } from 'vitest';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import type { Dialect } from '../../src/parser/dialect-parser.ts';
import { type Ran, runAgent, tool } from './run-agent.ts';
import { type Deed, speak } from './speak.ts';

const FILES = {
  ...tool('echo', 'return input.text ?? input;'),
  ...tool('list', 'return ["x", "y"];'),
  ...tool('undo', 'return "undone";'),
  ...tool('fail', 'throw new Error("no such luck");'),
};

const MANIFEST = `
import: { tools: [./tools/*.yml] }
metadata: { fields: { status: { values: [IDLE, CODING], default: IDLE }, progress: { type: number } } }
action_templates: { quick: { name: echo, mode: sync, parameters: { text: from the template } } }
budget: { balance: 100, costs: { turn: 1, action: 1 } }
`;

/** A few of everything that all three dialects can say. */
const TURNS: readonly (readonly Deed[])[] = [
  [
    { think: 'I begin.' },
    { metadata: { status: 'CODING', progress: 10 } },
    { call: 'list', run: { id: 'l', mode: 'sync', output_key: 'letters' } },
    { call: 'echo', input: { text: '$letters[1]' }, run: { id: 'second' } },
    { call: 'echo', input: { text: 'after' }, run: { id: 'after', depends_on: ['second'] } },
    { call: 'echo', input: { text: 'nobody waits' }, run: { mode: 'fire_and_forget' } },
    { call: 'echo', run: { id: 'templated', template: 'quick' } },
    { respond: 'So far: $after.', final: false },
  ],
  [
    { call: 'fail', run: { id: 'broken' } },
    { call: 'echo', run: { id: 'never', depends_on: ['broken'] } },
    { call: 'echo', input: { text: 'x' }, run: { id: 'tested', if: 'metadata.progress > 50' } },
    { call: 'echo', input: { text: 'w' }, run: { id: 'w', compensate: { name: 'undo' } } },
    { metadata: { status: 'DANCING', progress: 20 } },
    { call: 'ecko', run: { id: 'misspelt' } },
    { call: 'echo', run: { id: 'l' } },
    { call: 'echo', run: { mode: 'soon' as never } },
    { call: 'echo', run: { retries: 1 } },
    { call: 'echo', run: { id: 'untemplated', template: 'slow' } },
  ],
  [
    { call: 'rollback', type: 'internal', input: { to: 'w' }, run: { id: 'back', mode: 'sync' } },
    { call: 'read_output', type: 'internal', input: { id: 'second' } },
    { respond: 'Done: $second, $back.undone.' },
  ],
];

/** What happened, without when, where on the log, and in which words. */
function outcome({ events, result }: Ran) {
  const groups = new Map<string, unknown[]>();
  for (const event of events) {
    const told = comparable(event);
    if (told === undefined) continue;
    const group = groupOf(event);
    groups.set(group, [...(groups.get(group) ?? []), told]);
  }
  return { result: { status: result.status, result: result.result, turns: result.turns }, groups };
}

/** Actions run side by side: what happens to one of them has an order, what happens to two of them has none. */
function groupOf(event: SessionEvent): string {
  if (event.type === 'action.declared') return event.action.id;
  if (event.type.startsWith('action.') && 'id' in event) return event.id;
  return event.type === 'budget.charged' || event.type === 'fault' ? event.type : '';
}

function comparable(event: SessionEvent): unknown {
  switch (event.type) {
    case 'model.output':
    case 'thought':
    case 'text':
      return undefined;
    case 'session.started':
    case 'turn.started':
      return event.type;
    case 'turn.completed':
      return [event.type, event.finish === 'length'];
    case 'fault':
      return [event.turn, event.code];
    case 'budget.charged':
      return [event.turn, event.what, event.amount];
    case 'action.failed': {
      // A name that nobody has is told in the words of the dialect.
      const { code } = event.error;
      return [event.type, event.turn, event.id, code];
    }
    default: {
      const { seq: _, at: __, session: ___, cause: ____, ...rest } = event;
      return 'ms' in rest ? { ...rest, ms: 0 } : rest;
    }
  }
}

const run = (dialect: Dialect) =>
  runAgent({
    manifest: `dialect: ${dialect}\n${MANIFEST}`,
    files: FILES,
    // No time passes on it: a turn waits for its actions, however long they really take.
    clock: createSimulatedClock(),
    turns: TURNS.map((deeds) => speak(dialect, deeds)),
  });

describe('one manifest', () => {
  it('runs in every dialect, and the same turns come to the same events', async () => {
    const tags = await run('tags');
    const undisturbed = outcome(tags);
    expect(undisturbed.result).toMatchObject({ status: 'completed', result: 'Done: y, ["w"].' });
    expect(tags.of('fault').map(({ code }) => code)).toEqual(['bad_attribute', 'bad_action', 'bad_action']);
    expect(tags.of('action.skipped').map(({ id }) => id)).toEqual(
      expect.arrayContaining(['never', 'tested']),
    );
    for (const dialect of ['tools', 'step'] as const)
      expect(outcome(await run(dialect)), dialect).toEqual(undisturbed);
  });
});
