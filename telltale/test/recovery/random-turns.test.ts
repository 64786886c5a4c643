import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { SessionEvent } from '../../src/events/event.ts';
import { fold } from '../../src/events/reduce.ts';
import { defineAgent } from '../../src/session/define/define-agent.ts';
import { defineTool } from '../../src/session/define/define-tool.ts';
import { crashAt, crashPoints } from '../../src/testing/crash.ts';
import type { CrashScenario, Survivor } from '../../src/testing/crash-scenario.ts';
import { type AgentRun, runAgent } from '../../src/testing/run-agent.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { agentWith, stoppedBehind } from '../session/stopped-stage.ts';
import { turns } from './turn-arbitrary.ts';

const RUNS = 200;
const TIMEOUT_MS = 120_000;

/** What the turns speak of. */
const NAMES = {
  metadata: { fields: { stage: { values: ['NEW', 'BEGUN'], default: 'NEW' } } },
  context_variables: { runtime: [{ name: 'list', type: 'array', default: ['x', 'y'] }] },
} as const;

interface Scene {
  readonly agent: Awaited<ReturnType<typeof defineAgent>>;
  /** The id of an action each time that it was begun. */
  readonly begun: string[];
}

function scenarioOf(script: readonly string[], chunk: number): CrashScenario<Scene> {
  return {
    input: 'Go.',
    runtime: { random: () => 0 },
    async setUp() {
      const begun: string[] = [];
      const tool = (name: string, idempotent: boolean) =>
        defineTool({
          ...{ name, idempotent },
          async run(_input, { idempotencyKey, signal }) {
            const id = idempotencyKey.slice(idempotencyKey.indexOf(':') + 1);
            begun.push(id);
            await new Promise((resolve) => setTimeout(resolve, 1));
            signal.throwIfAborted(); // a dead process does nothing more
            return `${name} ${id}`;
          },
        });
      const agent = await defineAgent({
        name: 'random',
        model: scripted(script, { chunk }),
        tools: [tool('keep', true), tool('once', false)],
        ...NAMES,
      });
      return { agent, begun };
    },
  };
}

const declared = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'action.declared' ? [event.action.id] : []));

/** Why one is skipped that waits for an id which never comes depends on whether its turn has broken off. */
const textOf = ({ result }: { readonly result?: unknown }) =>
  String(result).replaceAll(/was skipped \(.*?\)/g, 'was skipped');

function check(survivor: Survivor<Scene>, whole: AgentRun<unknown>): void {
  const { left, events, result, scene, where } = survivor;
  const state = fold(events);
  const times = (id: string) => scene.begun.filter((begun) => begun === id).length;
  const most = ({ name }: { readonly name: string }) => (name === 'once' ? 1 : 2);
  const over = left.flatMap((event) => (event.type === 'action.completed' ? [event.id] : []));
  expect(
    over.filter((id) => times(id) > 1),
    `had completed, and ran again, ${where}`,
  ).toEqual([]);
  const often = [...state.actions].flatMap(([id, { action }]) => (times(id) > most(action) ? [id] : []));
  expect(often, `ran too often, ${where}`).toEqual([]);
  expect([...state.open], `have not ended, ${where}`).toEqual([]);
  expect(declared(events).slice(0, declared(left).length), `declared, ${where}`).toEqual(declared(left));
  if (events.some(({ type }) => type === 'action.interrupted')) return;
  expect(declared(events).sort(), `declared, ${where}`).toEqual(declared(whole.events).sort());
  expect([result.status, textOf(result)], where).toEqual([whole.result.status, textOf(whole.result)]);
}

const chunks = fc.integer({ min: 1, max: 40 });
const places = fc.array(fc.nat(), { minLength: 1, maxLength: 3 });

it(
  'a session that is killed anywhere loses no action, does none twice, and comes to the end that it would have come to',
  async () => {
    await fc.assert(
      fc.asyncProperty(turns, chunks, places, async (script, chunk, where) => {
        const scenario = scenarioOf(script, chunk);
        const { agent } = await scenario.setUp();
        const whole = await runAgent(agent, { input: 'Go.', runtime: scenario.runtime ?? {} });
        const points = await crashPoints(scenario);
        for (const place of where) {
          const point = points[place % points.length];
          if (point !== undefined) check(await crashAt(scenario, point), whole);
        }
      }),
      { numRuns: RUNS },
    );
  },
  TIMEOUT_MS,
);

it(
  'a log that ends behind any character of a turn is gone on with as if it had not ended there',
  async () => {
    await fc.assert(
      fc.asyncProperty(turns, fc.nat(), async (script, where) => {
        const asked = script.map((turn) => turn.replaceAll(/"(keep|once)"/g, '"run"'));
        const [first = ''] = asked;
        const said = first.slice(0, 1 + (where % first.length));
        fc.pre(/\S/.test(said));
        const agent = await agentWith(NAMES);
        const whole = await runAgent(agent, { input: 'Go.', model: scripted(asked) });
        const { goOn } = await stoppedBehind(said, NAMES);
        const { all, result } = await goOn(scripted(asked));
        expect(declared(all).sort(), said).toEqual(declared(whole.events).sort());
        expect([result.status, textOf(result)], said).toEqual([whole.result.status, textOf(whole.result)]);
      }),
      { numRuns: RUNS },
    );
  },
  TIMEOUT_MS,
);
