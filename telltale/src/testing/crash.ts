import type { LoadedAgent } from '../agent/loaded-agent.ts';
import type {
  ResumeOptions,
  Runtime,
  RuntimeOptions,
  SessionResult,
  StartOptions,
} from '../agent/runtime-types.ts';
import { RuntimeError } from '../lib/errors.ts';
import { type SessionEvent, usageOf } from '../log/event.ts';
import { fold } from '../log/reduce.ts';
import type { NewStream, Store, StreamWriter, Tables } from '../store/store.ts';
import { createMemoryStore, openRuntime } from './run-agent.ts';

type AnyScene = { readonly agent: LoadedAgent<unknown> };

/** A named place of a run, and the how-manieth time it is passed. */
export interface CrashPoint {
  /** `append:TYPE` and `committed:TYPE` round the writing of an event, `perform:ID` and `performed:ID` round an action. */
  readonly point: string;
  readonly nth: number;
}

export interface CrashEverywhereOptions extends CrashOptions {
  /** Each passing of a place, not only the first of each. */
  readonly every?: boolean;
}

const SESSION = 'ses_crash';

/** The places that a run passes to which nothing happens, in order. */
export async function crashPoints<Scene extends AnyScene>(
  scenario: CrashScenario<Scene>,
): Promise<readonly CrashPoint[]> {
  const { agent } = await scenario.setUp();
  const times = new Map<string, number>();
  const points: CrashPoint[] = [];
  const crashPoint = (point: string) => {
    const nth = (times.get(point) ?? 0) + 1;
    times.set(point, nth);
    points.push({ point, nth });
  };
  const runtime = await openRuntime({ ...scenario.runtime, store: 'memory', crashPoint });
  try {
    await runtime.start(agent, { ...scenario.start, input: scenario.input, id: SESSION }).result;
    return points;
  } finally {
    await runtime.close();
  }
}

/**
 * Runs the scenario, ends it at a place as if the process had been killed there, and takes it up again, to its end. In
 * this process: nothing is written any more and no action starts, but a tool that runs is only aborted, not killed.
 */
export async function crashAt<Scene extends AnyScene>(
  scenario: CrashScenario<Scene>,
  { point, nth }: CrashPoint,
): Promise<Survivor<Scene>> {
  const scene = await scenario.setUp();
  const store = createMemoryStore();
  const where = nameOf({ point, nth });
  if (!(await runUntil(scenario, scene.agent, store, { point, nth }))) throw notPassed(where);
  const runtime = await openRuntime({ ...scenario.runtime, store });
  try {
    const left = await logOf(runtime);
    const result = await goOn(scenario, scene.agent, runtime, left);
    return { scene, where, left, events: await runtime.events(SESSION), result };
  } finally {
    await runtime.close();
  }
}

/** A log that is whole, because its last event was committed together with the one it died at, stays as it is. */
async function goOn<Scene extends AnyScene>(
  scenario: CrashScenario<Scene>,
  agent: LoadedAgent<unknown>,
  runtime: Runtime,
  left: readonly SessionEvent[],
): Promise<SessionResult<unknown>> {
  if (left.length === 0)
    return runtime.start(agent, { ...scenario.start, input: scenario.input, id: SESSION }).result;
  const { status, result, error, totals } = fold(left);
  if (status === 'running' || status === 'waiting') {
    const session = await runtime.resume<unknown>(SESSION, { ...scenario.resume, agent });
    return session.result;
  }
  const { turns, cost_usd } = totals;
  return {
    session: SESSION,
    status,
    ...(result === undefined ? {} : { result: agent.readResult?.(result) ?? result }),
    ...(error === undefined ? {} : { error }),
    turns,
    usage: usageOf(totals),
    cost_usd,
  };
}

/** `crashAt` for all places of the scenario. Throws `not_survived` with every place where `check` throws. */
export async function crashEverywhere<Scene extends AnyScene>(
  scenario: CrashScenario<Scene>,
  check: CheckSurvivor<Scene>,
  options: CrashEverywhereOptions = {},
): Promise<void> {
  const points = await crashPoints(scenario);
  const places = points.filter(({ nth }) => options.every === true || nth === 1);
  await surviveAll(places, nameOf, async (place) => check(await crashAt(scenario, place)), options);
}

/** Whether it got there. */
async function runUntil<Scene extends AnyScene>(
  scenario: CrashScenario<Scene>,
  agent: LoadedAgent<unknown>,
  store: Store,
  { point, nth }: CrashPoint,
): Promise<boolean> {
  const own = mortal(store);
  let passed = 0;
  let isDead = false;
  const crashPoint = (name: string) => {
    if (!isDead && name === point && ++passed === nth) {
      isDead = true;
      own.die();
      void session.interrupt(); // waited for below
    }
    if (isDead && name.startsWith('perform')) throw died();
  };
  const runtime = await openRuntime({ ...scenario.runtime, store: own, crashPoint });
  const session = runtime.start(agent, { ...scenario.start, input: scenario.input, id: SESSION });
  await session.result.catch(() => undefined); // a dead process has nothing to say
  await runtime.close();
  return isDead;
}

/** It may have died before there was a log. */
async function logOf(runtime: Runtime): Promise<readonly SessionEvent[]> {
  const info = await runtime.store.info(SESSION);
  return info === undefined ? [] : runtime.events(SESSION);
}

const nameOf = ({ point, nth }: CrashPoint) => (nth === 1 ? point : `${point}, time ${nth}`);

const died = () => new RuntimeError('interrupted', 'The process died here, as the test wanted.');

const notPassed = (where: string) =>
  new RuntimeError('crash_point_unknown', `The run did not pass ${where}.`, {
    hint: 'crashPoints(scenario) lists what it passes; the number of deltas and retries may differ from run to run.',
  });

/** A store as one process sees it that may die: from then on nothing it writes arrives. */
export interface MortalStore extends Store {
  die(): void;
}

export function mortal(store: Store): MortalStore {
  let isDead = false;
  const alive = async () => {
    if (isDead) throw processDied();
  };
  const mortalWriter = (writer: StreamWriter): StreamWriter => ({
    ...writer,
    append(append, settled) {
      if (isDead) queueMicrotask(() => settled(processDied()));
      // What was committed stays; that it was is news that a dead process does not get.
      else writer.append(append, (error) => settled(isDead ? processDied() : error));
    },
    snapshot(seq, body) {
      if (!isDead) writer.snapshot(seq, body);
    },
  });
  const { tables } = store;
  const mortalTables: Tables = {
    get: (table, key) => alive().then(() => tables.get(table, key)),
    set: (table, key, value, options) => alive().then(() => tables.set(table, key, value, options)),
    delete: (table, key) => alive().then(() => tables.delete(table, key)),
    keys: (table, options) => alive().then(() => tables.keys(table, options)),
    increment: (table, key, by) => alive().then(() => tables.increment(table, key, by)),
    exchange: (expected, writes) => alive().then(() => tables.exchange(expected, writes)),
    push: (list, value) => alive().then(() => tables.push(list, value)),
    entries: (list, options) => alive().then(() => tables.entries(list, options)),
  };
  return {
    ...store,
    tables: mortalTables,
    create: async (stream, head) => mortalWriter(await alive().then(() => store.create(stream, head))),
    begin(stream, head) {
      const { writer, made } = isDead ? stillborn(stream) : store.begin(stream, head);
      const known = made.then(alive);
      known.catch(() => undefined); // the appends say so as well
      return { writer: mortalWriter(writer), made: known };
    },
    acquire: async (stream) => mortalWriter(await alive().then(() => store.acquire(stream))),
    close: async () => undefined, // it outlives the process
    die() {
      isDead = true;
    },
  };
}

const stillborn = (stream: string): NewStream => ({
  writer: {
    stream,
    epoch: 1,
    head: 0,
    append: (_append, settled) => settled(processDied()),
    snapshot: () => undefined,
    inbox: async () => [],
    onWake: () => () => undefined,
    release: async () => undefined,
  },
  made: Promise.resolve(),
});

const processDied = () =>
  new RuntimeError('store_failed', 'The process that wrote this has died, as the test wanted.');

const WHOLE = 'ses_whole';

/**
 * Runs the scenario once, cuts its log behind every append (where a kill can leave it), takes each of these logs up
 * again, to its end, and checks it. One scene serves all: actions of each session have keys of their own.
 */
export async function resumeEverywhere<Scene extends { readonly agent: LoadedAgent<unknown> }>(
  scenario: CrashScenario<Scene>,
  check: CheckSurvivor<Scene>,
  options: CrashOptions = {},
): Promise<void> {
  const scene = await scenario.setUp();
  const store = spyOn(createMemoryStore());
  const runtime = await openRuntime({ ...scenario.runtime, store });
  const { agent } = scene;
  const survive = async (seq: number) => {
    const id = await runtime.fork(WHOLE, seq, { id: `ses_from_${seq}` });
    const left = await runtime.events(id);
    const session = await runtime.resume<unknown>(id, { ...scenario.resume, agent });
    const result = await session.result;
    await check({ scene, where: pointName(seq), left, events: await runtime.events(id), result });
  };
  try {
    await runtime.start(agent, { ...scenario.start, input: scenario.input, id: WHOLE }).result;
    const { length } = await runtime.events(WHOLE);
    const places = store.boundaries.filter((seq) => seq < length); // the last append completes it
    await surviveAll(places, pointName, survive, options);
  } finally {
    await runtime.close();
  }
}

const pointName = (seq: number) => `behind event ${seq}`;

export interface SpiedStore extends Store {
  /** The seq at which each append of the stream ended: where a kill can leave its log. */
  readonly boundaries: number[];
  /** How many events were read, and from which seq on, call by call. */
  readonly reads: { readonly from: number; readonly count: number }[];
}

/** A store that keeps account of what is written to and read from it. */
export function spyOn(store: Store): SpiedStore {
  const boundaries: number[] = [];
  const reads: { from: number; count: number }[] = [];
  const spied = (writer: StreamWriter): StreamWriter => ({
    ...writer,
    append(append, settled) {
      boundaries.push(append.expectedSeq + append.events.length);
      writer.append(append, settled);
    },
  });
  return {
    ...store,
    boundaries,
    reads,
    create: async (stream, head) => spied(await store.create(stream, head)),
    begin(stream, head) {
      const { writer, made } = store.begin(stream, head);
      return { writer: spied(writer), made };
    },
    acquire: async (stream) => spied(await store.acquire(stream)),
    async read(stream, options = {}) {
      const lines = await store.read(stream, options);
      reads.push({ from: options.from ?? 1, count: lines.length });
      return lines;
    },
  };
}

/** What is run again and again, and ended each time at another place. */
export interface CrashScenario<Scene extends { readonly agent: LoadedAgent<unknown> }> {
  /** Called before each run: its agent, and whatever else a check wants to look at. */
  setUp(): Scene | Promise<Scene>;
  readonly input: string;
  readonly start?: Omit<StartOptions, 'input' | 'id' | 'signal'>;
  readonly resume?: Omit<ResumeOptions, 'agent' | 'signal'>;
  readonly runtime?: Omit<RuntimeOptions, 'store' | 'crashPoint' | 'signal'>;
}

/** A session that was ended somewhere, taken up again and has come to its end. */
export interface Survivor<Scene> {
  readonly scene: Scene;
  /** Where it was ended, for messages. */
  readonly where: string;
  /** The log as it was left there. */
  readonly left: readonly SessionEvent[];
  readonly events: readonly SessionEvent[];
  readonly result: SessionResult<unknown>;
}

export type CheckSurvivor<Scene> = (survivor: Survivor<Scene>) => void | Promise<void>;

export interface CrashOptions {
  /** How many are run at the same time: 4 by default. */
  readonly sideBySide?: number;
}

const SIDE_BY_SIDE = 4;
const MAX_SHOWN = 5;

/** Runs `survive` for each of `places`, some side by side, and throws once with all that was wrong. */
async function surviveAll<Place>(
  places: readonly Place[],
  nameOf: (place: Place) => string,
  survive: (place: Place) => Promise<void>,
  { sideBySide = SIDE_BY_SIDE }: CrashOptions,
): Promise<void> {
  const left = [...places];
  const wrong: { readonly where: string; readonly error: unknown }[] = [];
  const work = async () => {
    for (let place = left.shift(); place !== undefined; place = left.shift()) {
      const here = place;
      await survive(here).catch((error: unknown) => wrong.push({ where: nameOf(here), error }));
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, sideBySide) }, work));
  if (wrong.length > 0) throw notSurvived(wrong, places.length);
}

/** Assertions of test frameworks need not be Errors of this realm. */
const messageOf = (thrown: unknown): string =>
  String((thrown as { readonly message?: unknown } | undefined)?.message ?? thrown);

const notSurvived = (
  wrong: readonly { readonly where: string; readonly error: unknown }[],
  places: number,
) => {
  const lines = wrong.slice(0, MAX_SHOWN).map(({ where, error }) => `${where}: ${messageOf(error)}`);
  const more = wrong.length > MAX_SHOWN ? [`… and ${wrong.length - MAX_SHOWN} more`] : [];
  return new RuntimeError(
    'not_survived',
    `Of ${places} places ${wrong.length} were not survived:\n${[...lines, ...more].join('\n')}`,
    { cause: wrong[0]?.error },
  );
};
