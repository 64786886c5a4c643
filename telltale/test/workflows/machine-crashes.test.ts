import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSimulatedClock, type SimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { RunEvent } from '../../src/log/run-event.ts';
import type { Step } from '../../src/manifest/schema/steps/step.ts';
import { closeChangedSteps } from '../../src/workflows/changes/follow-change.ts';
import { pinSteps, planChanges } from '../../src/workflows/changes/plan-changes.ts';
import type { WalkEnd } from '../../src/workflows/machine/run-machine.ts';
import type { StepAttempt } from '../../src/workflows/step-executor.ts';
import { moreRuns } from '../more-runs.ts';
import { boom, createStage, DEAD, type Stage, step } from './machine-stage.ts';
import { type RandomWorkflow, randomWorkflow } from './random-workflow.ts';

const RUNS = moreRuns(120);
const MAX_WALKS = 400;

const hash = (text: string): number => {
  let sum = 7;
  for (const char of text) sum = (sum * 31 + char.charCodeAt(0)) % 1_000_003;
  return sum;
};

/** Tests come out by where they stand, so that each walk decides alike. What a jump back leads to again ends well. */
const decide = (test: string, at: string): boolean => {
  const [kind, rounds] = test.split(':');
  const round = Number(at.slice(at.lastIndexOf('#') + 1));
  if (kind === 'upto') return round <= Number(rounds) && !at.includes('~');
  if (kind === 'after') return round > Number(rounds) || at.includes('~');
  return test === 'true' || hash(at) % 2 === 0;
};

/** As `expect`, without its cost for each event. */
function must(holds: boolean, claim: string): void {
  if (!holds) throw new Error(claim);
}

interface SteppingClock extends SimulatedClock {
  /** Moves on to the next timer. */
  runNext(): Promise<void>;
}

function steppingClock(): SteppingClock {
  const clock = createSimulatedClock();
  const dues = new Set<{ readonly due: number }>();
  return {
    ...clock,
    get pending() {
      return dues.size;
    },
    after(delayMs, fire) {
      const timer = { due: clock.monotonic() + delayMs };
      dues.add(timer);
      const cancel = clock.after(delayMs, () => {
        dues.delete(timer);
        fire();
      });
      return () => {
        dues.delete(timer);
        cancel();
      };
    },
    runNext: () =>
      dues.size === 0
        ? clock.advance(0)
        : clock.advance(Math.max(0, Math.min(...[...dues].map(({ due }) => due)) - clock.monotonic())),
  };
}

interface Played {
  readonly end: WalkEnd;
  readonly events: readonly RunEvent[];
  /** What was performed in all walks: address and try. */
  readonly performed: readonly string[];
}

/** Walks to the end; `lives` are the events each walk may append before it dies, and how much of the tail is lost. */
async function play(
  random: RandomWorkflow,
  lives: readonly { events: number; lost: number }[],
  change?: (
    events: readonly RunEvent[],
    performed: readonly string[],
  ) => {
    readonly random: RandomWorkflow;
    readonly events: readonly RunEvent[];
  },
): Promise<Played> {
  const clock = steppingClock();
  const performed: string[] = [];
  let workflow = random;
  let events: readonly RunEvent[] = [];
  for (let walk = 0; walk < MAX_WALKS; walk++) {
    if (walk === 1 && change !== undefined) ({ random: workflow, events } = change(events, [...performed]));
    const stage = stageOf(workflow, clock, events, performed);
    const had = new Set(
      [...stage.journal.state.steps.values()].flatMap((known) =>
        known.status === 'completed' ? [known.step] : [],
      ),
    );
    const life = lives[walk];
    if (life !== undefined) stage.journal.dieAfter = Math.max(events.length, 1) + life.events;
    const end = await drive(stage, clock);
    for (const each of stage.performed)
      must(!had.has(each.replace(/ try \d+$/, '')), `${each} had completed`);
    if (end === 'dead') {
      const { journal } = stage;
      const tail = journal.events.length - Math.max(1, journal.committed);
      events = journal.events.slice(
        0,
        journal.events.length - (life === undefined ? 0 : life.lost % (tail + 1)),
      );
    } else if (end.kind === 'parked') {
      events = stage.journal.events;
      expect(end.due).toBeDefined();
      await clock.advance(Math.max(0, (end.due ?? 0) - clock.now()));
    } else return { end, events: stage.journal.events, performed };
  }
  throw new Error('the walk never ends');
}

async function drive(stage: Stage, clock: SteppingClock): Promise<WalkEnd | 'dead'> {
  let result: WalkEnd | 'dead' | undefined;
  let broken: unknown;
  const walk = async () => {
    closeChangedSteps(stage.journal, stage.workflow, clock.now());
    return stage.run();
  };
  walk().then(
    (end) => {
      result = end;
    },
    (thrown: unknown) => {
      if (thrown === DEAD) result = 'dead';
      else broken = thrown;
    },
  );
  for (let round = 0; round < 10_000 && result === undefined && broken === undefined; round++) {
    await clock.runNext();
  }
  if (broken !== undefined) throw broken;
  if (result === undefined) throw new Error('the walk hangs');
  return result;
}

function stageOf(
  { manifest, executors }: RandomWorkflow,
  clock: SimulatedClock,
  events: readonly RunEvent[],
  performed: string[],
): Stage {
  const steps = Object.fromEntries(
    [...executors].map(([name, does]) => [
      name,
      async (call: StepAttempt) => {
        const { address, attempt } = call;
        performed.push(`${address} ${attempt}`);
        if (does.delayMs > 0 && !address.includes('~')) await waitFor(does.delayMs, does, call);
        if (attempt <= does.fails && !address.includes('~')) boom();
        const { to } = call.step as { readonly to?: string };
        return to === undefined ? address : { state: to };
      },
    ]),
  );
  const stage = createStage(
    manifest,
    { steps, decide, repeatable: (name) => executors.get(name)?.repeatable ?? true },
    { events, clock },
  );
  const waitFor = (
    delayMs: number,
    { parks, stubborn }: { parks: boolean; stubborn: boolean },
    call: StepAttempt,
  ) => {
    const began = stage.journal.state.steps.get(call.address)?.triedAt ?? 0;
    const due = parks ? began + delayMs : clock.now() + delayMs;
    const goOn = parks ? call.suspend('a time', due) : undefined;
    return new Promise<void>((resolve, reject) => {
      const cancel = clock.after(Math.max(0, due - clock.now()), () => {
        goOn?.();
        resolve();
      });
      if (stubborn) return;
      call.signal.addEventListener('abort', () => {
        cancel();
        reject(call.signal.reason);
      });
    });
  };
  return stage;
}

const ENDS = new Set(['step.completed', 'step.failed', 'step.skipped', 'step.cancelled']);

/** What must be so of every log of a run that has ended. */
function checkLog(events: readonly RunEvent[], end: WalkEnd): void {
  const ended = new Set<string>();
  const open = new Set<string>();
  const decided = new Set<string>();
  for (const event of events) {
    if (event.type === 'if.decided') {
      must(!decided.has(event.at_step), `${event.at_step} is decided twice`);
      decided.add(event.at_step);
    }
    if (!('step' in event) || typeof event.step !== 'string') continue;
    const around = event.step.slice(0, Math.max(0, event.step.lastIndexOf('/'))).replace(/[[#!][^/]*$/, '');
    if (event.type === 'step.started') {
      must(!ended.has(event.step), `${event.step} begins after its end`);
      open.add(event.step);
    } else if (ENDS.has(event.type)) {
      must(!ended.has(event.step), `${event.step} ends twice`);
      if (event.type !== 'step.skipped') must(open.delete(event.step), `${event.step} had begun`);
      ended.add(event.step);
    } else continue;
    must(!ended.has(around), `${event.step} goes on after ${around} has ended`);
  }
  if (end.kind !== 'cancelled') expect([...open], 'left open').toEqual([]);
}

describe('a walk that dies at any event and begins again from what is left of its log', () => {
  it('ends, does nothing again that completed, and performs what is not repeatable once for each try', async () => {
    const life = fc.record({ events: fc.nat(8), lost: fc.nat(3) });
    await fc.assert(
      fc.asyncProperty(randomWorkflow, fc.array(life, { maxLength: 12 }), async (random, lives) => {
        const { end, events, performed } = await play(random, lives);
        expect(['completed', 'failed']).toContain(end.kind);
        checkLog(events, end);
        const once = performed.filter((each) => random.executors.get(nameOf(each))?.repeatable === false);
        expect(once.length).toBe(new Set(once).size);
        if (random.wild || events.some(({ type }) => type === 'step.interrupted')) return;
        const whole = await play(random, []);
        expect(end).toEqual(whole.end);
      }),
      { numRuns: RUNS },
    );
  }, 60_000);
});

/** Another version of a workflow: by chance, each step stays, has another name, does something else, or is gone. */
function edited({ manifest, executors, wild }: RandomWorkflow, seed: number): RandomWorkflow {
  const known = new Map(executors);
  const renamed = new Map<string, string>();
  const edit = (steps: readonly Step[]): readonly Step[] =>
    steps.flatMap((each): readonly Step[] => {
      const chance = hash(`${seed} ${each.name}`) % 8;
      if (chance === 0 && steps.length > 1) return [];
      const name = chance === 1 ? `${each.name}_new` : each.name;
      const behavior = executors.get(each.name);
      if (behavior !== undefined) known.set(name, behavior);
      if (name !== each.name) renamed.set(each.name, name);
      const lists = Object.fromEntries(
        (['body', 'catch', 'finally', 'default'] as const).flatMap((key) =>
          key in each ? [[key, edit((each as unknown as Record<string, readonly Step[]>)[key] ?? [])]] : [],
        ),
      );
      const branches = 'branches' in each ? { branches: each.branches.map(edit) } : {};
      const cases =
        'cases' in each ? { cases: each.cases.map((one) => ({ ...one, body: edit(one.body) })) } : {};
      const parameters =
        chance === 2 && behavior !== undefined ? { parameters: { of: `${each.name}, edited` } } : {};
      const changed = { ...each, name, ...lists, ...branches, ...cases, ...parameters } as Step;
      if (chance !== 3) return [changed];
      known.set(`${each.name}_more`, {
        fails: 0,
        delayMs: 0,
        repeatable: true,
        parks: false,
        stubborn: false,
      });
      return [step(`${each.name}_more`), changed];
    });
  /** What a step refers to may be gone: then it refers to nothing. */
  const mended = (steps: readonly Step[]): readonly Step[] => {
    const names = new Set(steps.map(({ name }) => name));
    const now = (name: string) => renamed.get(name) ?? name;
    return steps.map((each) => {
      const { needs, on_error, ...rest } = each;
      const goto = typeof on_error === 'object' ? now(on_error.goto) : undefined;
      return {
        ...rest,
        ...(needs === undefined ? {} : { needs: needs.map(now).filter((name) => names.has(name)) }),
        ...(on_error === undefined
          ? {}
          : { on_error: goto === undefined ? on_error : names.has(goto) ? { goto } : 'fail' }),
        ...Object.fromEntries(
          (['body', 'catch', 'finally', 'default'] as const).flatMap((key) =>
            key in rest
              ? [[key, mended((rest as unknown as Record<string, readonly Step[]>)[key] ?? [])]]
              : [],
          ),
        ),
        ...('branches' in rest ? { branches: rest.branches.map(mended) } : {}),
        ...('cases' in rest ? { cases: rest.cases.map((one) => ({ ...one, body: mended(one.body) })) } : {}),
      } as Step;
    });
  };
  const list = (steps: readonly Step[]) => mended(edit(steps));
  const { steps, states } = manifest;
  const of =
    states === undefined
      ? { steps: list(steps ?? []) }
      : {
          states: Object.fromEntries(
            Object.entries(states).map(([name, each]) => [name, { ...each, steps: list(each.steps) }]),
          ),
        };
  return { manifest: { ...manifest, ...of } as RandomWorkflow['manifest'], executors: known, wild };
}

/** Each step does something of its own, as steps mostly do. */
function distinct(random: RandomWorkflow): RandomWorkflow {
  const own = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(own);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([key, inner]) => [key, own(inner)]);
    const named = 'parameters' in value && 'name' in value ? { parameters: { of: value.name } } : {};
    return { ...Object.fromEntries(entries), ...named };
  };
  return { ...random, manifest: own(random.manifest) as RandomWorkflow['manifest'] };
}

/** Accepts another version of the workflow, with a decision by chance about each step in doubt. */
function accept(before: RandomWorkflow, events: readonly RunEvent[], seed: number) {
  const random = edited(before, seed);
  const [first, ...rest] = createStage(before.manifest, {}, { events }).journal.events;
  if (first?.type !== 'workflow.started') throw new Error('the log has a first event');
  const log = [{ ...first, steps: pinSteps(before.manifest) }, ...rest];
  const { journal, workflow } = createStage(random.manifest, {}, { events: log });
  const none = { decide: new Map(), runNew: new Set<string>() };
  const { undecided, steps } = planChanges(journal.state, workflow, none);
  const decide = new Map(
    undecided.map((address) => {
      const choices = steps.find((each) => each.step === address)?.choices ?? [];
      return [address, { as: choices[hash(`${seed} ${address}`) % choices.length] ?? 'fail' }] as const;
    }),
  );
  const plan = planChanges(journal.state, workflow, { ...none, decide });
  expect(plan.undecided).toEqual([]);
  journal.append({
    type: 'workflow.changed',
    by: 'user',
    manifest: { path: 'w.yaml', hash: `h${seed}`, agent: 'a' },
    steps: pinSteps(workflow),
    replaced: plan.replaced,
    decided: plan.decided,
    run_new: [],
    ...(plan.fails === undefined ? {} : { fails: plan.fails }),
  });
  return { random, events: journal.events, decided: plan.decided };
}

describe('a run that goes on with another version of its workflow after a crash', () => {
  it('ends with no step left open, and a skipped step has no second effect under any name', async () => {
    const life = fc.record({ events: fc.nat(12), lost: fc.nat(3) });
    await fc.assert(
      fc.asyncProperty(
        randomWorkflow,
        fc.array(life, { minLength: 1, maxLength: 6 }),
        fc.nat(10_000),
        async (made, lives, seed) => {
          const random = distinct(made);
          let accepted: ReturnType<typeof accept> | undefined;
          let tried = 0;
          const { end, events, performed } = await play(random, lives, (before, performedBefore) => {
            tried = performedBefore.length;
            accepted = accept(random, before, seed);
            return accepted;
          });
          expect(['completed', 'failed']).toContain(end.kind);
          const { state } = createStage(random.manifest, {}, { events }).journal;
          const open = [...state.steps.values()].filter(({ status }) =>
            ['running', 'retrying', 'interrupted'].includes(status),
          );
          expect(open.map(({ step: address }) => address)).toEqual([]);
          for (const [address, { as }] of Object.entries(accepted?.decided ?? {})) {
            if (as !== 'skip') continue;
            const again = performed.slice(tried).map((each) => each.split(' ')[0]?.replace(/_new\b/g, ''));
            expect(again).not.toContain(address);
          }
        },
      ),
      { numRuns: RUNS },
    );
  }, 60_000);
});

const nameOf = (performed: string): string =>
  (performed.split(' ')[0] ?? '').replace(/.*\//, '').replace(/~\d+$/, '');
