import fc from 'fast-check';
import { expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import { type DeclaredAction, idsOf } from '../../src/log/action.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import { fold } from '../../src/log/reduce.ts';
import { type CrashScenario, crashAt, crashPoints, type Survivor } from '../../src/testing/crash.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { stoppedBehind } from '../agent/stopped-stage.ts';
import { moreRuns } from '../more-runs.ts';
import { turns } from './turn-arbitrary.ts';

const RUNS = moreRuns(200);

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

const declarations = (events: readonly SessionEvent[]): readonly DeclaredAction[] =>
  events.flatMap((event) => (event.type === 'action.declared' ? [event.action] : []));

const declared = (events: readonly SessionEvent[]) => declarations(events).map(({ id }) => id);

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

/**
 * What depends on a `<parallel>` that its turn broke off in does not run. One that broke off before its first action is
 * forgotten, and its id is free: where a later turn takes that id, later dependents mean the new holder.
 */
function checkGroups(events: readonly SessionEvent[], where: string): void {
  const { actions } = fold(events);
  for (const [at, event] of events.entries()) {
    if (event.type !== 'turn.failed') continue;
    const before = declarations(events.slice(0, at));
    const after = declarations(events.slice(at));
    for (const group of event.groups ?? []) {
      const isTakenIn = (part: readonly DeclaredAction[]) =>
        part.some((action) => [...idsOf(action)].includes(group));
      const isFree = !isTakenIn(before) && isTakenIn(after);
      for (const { id, depends_on } of isFree ? before : [...before, ...after])
        if (depends_on?.includes(group) === true)
          expect(actions.get(id)?.status, `${id} depends on a <parallel> that broke off, ${where}`).toBe(
            'skipped',
          );
    }
  }
}

const OPENED = '<parallel id="i1">';
const BEGUN = `${OPENED}<action id="i2">{"name":"keep"}</action>`;
const DEPENDS = [
  `${BEGUN}</parallel>`,
  '<action id="i3">{"name":"keep","depends_on":["i1"]}</action>',
  '<response>All of it: $i2 $i3.</response>',
];

/** Its turn broke off in a `<parallel>`, before its first action and after it. */
const EXAMPLES: [readonly string[], number][] = [
  [DEPENDS, OPENED.length - 1],
  [DEPENDS, BEGUN.length - 1],
];

const chunks = fc.integer({ min: 1, max: 40 });
const places = fc.array(fc.nat(), { minLength: 1, maxLength: 3 });

it('a session that is killed anywhere comes to an end, ends each action that it declared, and does none twice', async () => {
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
});

it('a log that ends behind any character of a turn is gone on with, and does nothing of that twice', async () => {
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
    { numRuns: RUNS, examples: EXAMPLES },
  );
});
