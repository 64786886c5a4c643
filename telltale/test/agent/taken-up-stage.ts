import { expect, onTestFinished } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import type { Runtime, Session, StartOptions } from '../../src/agent/runtime-types.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Json } from '../../src/lib/json.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import type { Model } from '../../src/models/model.ts';
import { hear, scripted } from '../../src/testing/scripted.ts';

export const FINAL = '<response>Done.</response>';
export const call = (id: string, name: string, mode = 'async') =>
  `<action id="${id}" mode="${mode}">{"name":"${name}"}</action>`;

export type Is = (event: SessionEvent) => boolean;
export const isType =
  (type: string, turn?: number): Is =>
  (event) =>
    event.type === type && (turn === undefined || event.turn === turn);
export const isSaid =
  (text: string): Is =>
  (event) =>
    event.type === 'model.output' && event.text.includes(text);
export const of = (events: readonly SessionEvent[], ...types: readonly string[]) =>
  events.filter(({ type }) => types.includes(type));
/** How each action ended that completed or was skipped. */
export const endsOf = (events: readonly SessionEvent[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    events.flatMap((event) => {
      if (event.type === 'action.completed') return [[event.id, 'completed']];
      return event.type === 'action.skipped' ? [[event.id, event.reason]] : [];
    }),
  );
export const responsesOf = (events: readonly SessionEvent[]): readonly string[] =>
  events.flatMap((event) => (event.type === 'response' ? [event.text] : []));
export const seen = (session: Session, type: string) =>
  new Promise<void>((resolve) => {
    const forget = session.subscribe((event) => {
      if (event.type !== type) return;
      forget();
      resolve();
    });
  });

/** The tool "slow", which may be called again. Where it is held, a call ends when it is told to. */
export interface Slow {
  calls: number;
  isHeld: boolean;
  gives: Json;
  end(): void;
}

/** Ends the call of "slow" once it is made. */
export async function endSlow(slow: Slow): Promise<void> {
  await expect.poll(() => slow.calls).toBe(1);
  slow.end();
}

interface Lived {
  readonly agent?: Omit<Parameters<typeof defineAgent>[0], 'name'>;
  readonly start?: Partial<StartOptions>;
  readonly isHeld?: boolean;
  readonly clock?: Clock;
  readonly during?: (session: Session, slow: Slow) => Promise<void>;
}

/** Runs a session to its end; `behind` takes its log up where that had come to, as after a kill. */
export async function lived(turns: readonly string[] | Model, given: Lived = {}) {
  const slow: Slow = { calls: 0, isHeld: given.isHeld === true, gives: 'at last', end: () => {} };
  const echo = defineTool({ name: 'echo', run: () => 'said' });
  const late = defineTool({ name: 'late', start: 'on_turn_end', run: () => 'late' });
  const held = defineTool({
    name: 'slow',
    idempotent: true,
    run: () => {
      if (!slow.isHeld) return slow.gives;
      slow.calls++;
      return new Promise<Json>((resolve) => {
        slow.end = () => resolve(slow.gives);
      });
    },
  });
  const agent = await defineAgent({
    name: 'tester',
    tools: [echo, late, held],
    protocol: { final_with_actions: 'accept' },
    ...given.agent,
  });
  const { clock } = given;
  const runtime = await createRuntime({
    store: 'memory',
    random: () => 0,
    ...(clock === undefined ? {} : { clock }),
  });
  const close = closing(runtime);
  const model = Array.isArray(turns) ? scripted(turns) : (turns as Model);
  const first = runtime.start(agent, { input: 'Go.', model, ...given.start });
  await given.during?.(first as Session, slow);
  await first.result;
  const events = await runtime.events(first.id);
  const behind = async (
    is: Is,
    then: readonly string[] | Model,
    during?: (session: Session) => Promise<void>,
    from = first.id,
  ) => {
    slow.calls = 0;
    const { seq } = (await runtime.events(from)).findLast(is) as SessionEvent;
    const id = await runtime.fork(from, seq);
    const asked = Array.isArray(then) ? scripted(then) : hear(then as Model);
    const session = await runtime.resume(id, { agent, model: asked });
    await during?.(session as Session);
    const result = await session.result;
    const all = await runtime.events(id);
    return { id, result, all, since: all.filter((event) => event.seq > seq), prompts: asked.prompts };
  };
  return { events, behind, slow, close };
}

/** Closes it at the test's end, or before: thousands of them are more than fits into memory. */
function closing(runtime: Runtime): () => Promise<void> {
  const held: { runtime?: Runtime } = { runtime };
  const close = async () => {
    const { runtime: open } = held;
    delete held.runtime;
    await open?.close();
  };
  onTestFinished(close);
  return close;
}
