import fc from 'fast-check';
import { expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import { fold } from '../../src/log/reduce.ts';
import type { CrashScenario, Survivor } from '../../src/testing/crash.ts';
import { crashAt, crashPoints } from '../../src/testing/crash.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { stoppedBehind } from '../agent/stopped-stage.ts';
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
          name,
          idempotent,
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
        protocol: { final_with_actions: 'accept' },
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

function check(survivor: Survivor<Scene>): void {
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
  const ids = declared(events);
  expect(new Set(ids).size, `declared once, ${where}`).toBe(ids.length);
  expect(['completed', 'failed', 'stalled'], where).toContain(result.status);
  checkGroups(events, where);
}

/** What depends on a `<parallel>` that its turn broke off in does not run. */
function checkGroups(events: readonly SessionEvent[], where: string): void {
  const broken = new Set(
    events.flatMap((event) => (event.type === 'turn.failed' ? (event.groups ?? []) : [])),
  );
  const { actions } = fold(events);
  for (const [id, { action, status }] of actions)
    if (action.depends_on?.some((each) => broken.has(each)) === true)
      expect(status, `${id} depends on a <parallel> that broke off, ${where}`).toBe('skipped');
}

const chunks = fc.integer({ min: 1, max: 40 });
const places = fc.array(fc.nat(), { minLength: 1, maxLength: 3 });

it(
  'a session that is killed anywhere comes to an end, ends each action that it declared, and does none twice',
  async () => {
    await fc.assert(
      fc.asyncProperty(turns, chunks, places, async (script, chunk, where) => {
        const scenario = scenarioOf(script, chunk);
        const points = await crashPoints(scenario);
        for (const place of where) {
          const point = points[place % points.length];
          if (point !== undefined) check(await crashAt(scenario, point));
        }
      }),
      { numRuns: RUNS },
    );
  },
  TIMEOUT_MS,
);

it(
  'a log that ends behind any character of a turn is gone on with, and does nothing of that twice',
  async () => {
    await fc.assert(
      fc.asyncProperty(turns, fc.nat(), async (script, where) => {
        const asked = script.map((turn) => turn.replaceAll(/"(keep|once)"/g, '"run"'));
        const [first = ''] = asked;
        const said = first.slice(0, 1 + (where % first.length));
        fc.pre(/\S/.test(said));
        const { goOn } = await stoppedBehind(said, NAMES);
        const { all, result } = await goOn(scripted(asked));
        const ids = declared(all);
        expect(new Set(ids).size, said).toBe(ids.length);
        expect([...fold(all).open], said).toEqual([]);
        expect(['completed', 'failed', 'stalled'], said).toContain(result.status);
        checkGroups(all, said);
      }),
      { numRuns: RUNS },
    );
  },
  TIMEOUT_MS,
);
