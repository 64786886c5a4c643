import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import type { LoadedAgent } from '../../src/agent/loaded-agent.ts';
import type { ObservedEvent } from '../../src/log/event.ts';
import type { Store } from '../../src/store/store.ts';
import { createMemoryStore } from '../../src/testing/run-agent.ts';
import { scripted } from '../../src/testing/scripted.ts';

/** One before the session begins, then one before each turn. */
const BEFORE_SECOND_TURN = 3;

function latch() {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** A store that is read before the second turn and answers, with what it had found, once somebody says so. */
function heldStore() {
  const store = createMemoryStore();
  const reading = latch();
  const answer = latch();
  let reads = 0;
  const held: Store = {
    ...store,
    tables: {
      ...store.tables,
      async get(table, key) {
        const value = await store.tables.get(table, key);
        if (key !== 'color' || ++reads !== BEFORE_SECOND_TURN) return value;
        reading.open();
        await answer.opened;
        return value;
      },
    },
  };
  /** What ends when the store is being read. */
  const hold = defineTool({ name: 'hold', run: () => reading.opened });
  return { store: held, hold, answer: answer.open };
}

async function resultOf(
  agent: LoadedAgent,
  { store, answer }: ReturnType<typeof heldStore>,
  isSet: (event: ObservedEvent) => boolean,
) {
  const runtime = await createRuntime({ store });
  const session = runtime.start(agent, { input: 'Go.' });
  session.subscribe((event) => {
    if (isSet(event)) answer();
  });
  const { result } = await session.result;
  await runtime.close();
  return result;
}

const SHOW = '<response>$color</response>';

describe('what is set while a session looks for what others have set', () => {
  it('is not undone in its metadata', async () => {
    const held = heldStore();
    const fields = { color: { type: 'string' } } as const;
    const sub = await defineAgent({
      name: 'sub',
      protocol: { final_with_actions: 'accept' },
      model: scripted([
        '<action mode="sync">{"name":"hold"}</action><metadata>{"color":"green"}</metadata><response>Ok.</response>',
      ]),
      metadata: { inherit: 'share', fields },
      tools: [held.hold],
    });
    const agent = await defineAgent({
      name: 'caller',
      model: scripted([
        '<metadata>{"color":"red"}</metadata><action type="agent" mode="background">{"name":"sub","parameters":{"input":"Go."}}</action>',
        SHOW,
      ]),
      metadata: { scope: 'agent', fields },
      agents: [sub],
    });
    const isSet = (event: ObservedEvent) => event.type === 'metadata.changed' && event.by === 'child:sub';
    expect(await resultOf(agent, held, isSet)).toBe('green');
  });

  it('is not undone in its variables', async () => {
    const held = heldStore();
    const set = (value: string, more: object) =>
      `<action type="internal">${JSON.stringify({ name: 'set_variable', parameters: { name: 'color', value }, ...more })}</action>`;
    const agent = await defineAgent({
      name: 'alone',
      model: scripted([
        `${set('red', {})}<action id="held" mode="background">{"name":"hold"}</action>${set('green', { depends_on: ['held'] })}`,
        SHOW,
      ]),
      context_variables: { defined: [{ name: 'color', type: 'string', key: 'user' }] },
      tools: [held.hold],
    });
    const isSet = (event: ObservedEvent) => event.type === 'variable.changed' && event.to === 'green';
    expect(await resultOf(agent, held, isSet)).toBe('green');
  });
});
