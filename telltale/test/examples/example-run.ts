import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { SessionResult } from '../../src/agent/runtime-types.ts';
import { pacedModel } from '../../src/cli/demo/run-demo.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import type { DeclaredAction } from '../../src/log/action.ts';
import type { ObservedEvent, SessionEvent } from '../../src/log/event.ts';
import { fold } from '../../src/log/reduce.ts';
import type { RunEvent } from '../../src/log/run-event.ts';
import { normalizeEvents } from './normalize-events.ts';

export const examples = fileURLToPath(new URL('../../../examples', import.meta.url));

export interface ExampleOptions {
  /** Where `agent.yml` is. */
  readonly folder: string;
  /** `agent.yml`, if absent. */
  readonly manifest?: string;
  readonly input: string;
  readonly vars?: JsonObject;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Memory, if absent. */
  readonly store?: string;
  /** In place of the manifest's own. */
  readonly model?: string;
  /** Sees the events as they come. */
  readonly watch?: (event: ObservedEvent) => void;
}

export interface ExampleRun {
  readonly result: SessionResult;
  readonly events: readonly SessionEvent[];
  /** The logs of the workflow runs that it set off, oldest first. */
  readonly runs: readonly (readonly RunEvent[])[];
}

/**
 * Runs an example to its end, and the workflows that it set off to theirs: its own manifest, tools and script, which
 * says all at once what it says at a pace.
 */
export async function runExample({
  folder,
  manifest = 'agent.yml',
  input,
  vars,
  env = {},
  store = 'memory',
  model: ref,
  watch,
}: ExampleOptions): Promise<ExampleRun> {
  const clock = createSystemClock();
  const all = { PATH: process.env.PATH, ...env };
  const agent = await loadAgent(manifest, { cwd: folder, env: all });
  // Without jitter: a retry comes at once.
  const runtime = await createRuntime({ store, clock, cwd: folder, env: all, random: () => 0 });
  try {
    const model = ref ?? (await pacedModel(agent, undefined, clock));
    const session = runtime.start(agent, { input, model, ...(vars === undefined ? {} : { vars }) });
    if (watch !== undefined) session.subscribe(watch);
    const result = await session.result;
    await runtime.workflows.idle();
    const events = await runtime.events(session.id);
    const fired = events.flatMap((event) => (event.type === 'trigger.fired' ? [event.run] : []));
    return {
      result,
      events,
      runs: await Promise.all(fired.map((each) => runtime.workflows.events(each))),
    };
  } finally {
    await runtime.close();
  }
}

/**
 * What every example shows beside its own events: prompts only grow, nothing starts before what it depends on has
 * succeeded, and the log can be folded from any point on.
 */
export function expectSoundLog(events: readonly SessionEvent[]): void {
  const turns = events.flatMap((event) => (event.type === 'turn.started' ? [event] : []));
  expect(turns.map(({ prompt }) => prompt.reused_prefix)).toEqual(turns.map(() => 1));
  expect(startedEarly(events)).toEqual([]);
  const whole = fold(events);
  for (let cut = 0; cut <= events.length; cut++)
    expect(fold(events.slice(cut), fold(events.slice(0, cut)))).toEqual(whole);
}

function startedEarly(events: readonly SessionEvent[]): readonly string[] {
  const declared = new Map<string, DeclaredAction>();
  const succeeded = new Set<string>();
  /** An action, or all of a `<parallel>` or `<foreach>`. */
  const hasSucceeded = (id: string) =>
    declared.has(id)
      ? succeeded.has(id)
      : [...declared.values()].every(
          (action) => (action.group !== id && action.base !== id) || succeeded.has(action.id),
        );
  const early: string[] = [];
  for (const event of events) {
    if (event.type === 'action.declared') declared.set(event.action.id, event.action);
    else if (event.type === 'action.completed') succeeded.add(event.id);
    else if (event.type === 'action.started') {
      const { depends_on: needs = [] } = declared.get(event.id) ?? {};
      if (!needs.every(hasSucceeded)) early.push(event.id);
    }
  }
  return early;
}

/** Compares with `examples/NAME/expected.events.jsonl`. `places` are what differs from machine to machine. */
export const expectEvents = (
  name: string,
  events: readonly SessionEvent[],
  places: Readonly<Record<string, string>>,
  runs: readonly (readonly RunEvent[])[] = [],
): Promise<void> =>
  expect(normalizeEvents(events, places, runs)).toMatchFileSnapshot(
    `${examples}/${name}/expected.events.jsonl`,
  );
