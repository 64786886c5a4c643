import { resolve } from 'node:path';
import type { JoinedFleet, OpenFleetOptions } from '../cluster/open-fleet.ts';
import { createEmbeddedEngine } from '../engine/embedded-engine.ts';
import type { Engine } from '../engine/engine.ts';
import { createInFlightCalls } from '../engine/in-flight.ts';
import { createLocalSlots, type Slots } from '../engine/slots.ts';
import { WorkerCapacity } from '../engine/worker-capacity.ts';
import { type Clock, createSystemClock } from '../lib/clock.ts';
import { RuntimeError } from '../lib/errors.ts';
import { createIdSource } from '../lib/ids.ts';
import { createLastFront } from '../log/codec.ts';
import { namedOptions, namedRef } from '../manifest/schema/model-options.ts';
import type { Model } from '../models/model.ts';
import { openModel, withSettings } from '../models/open-model.ts';
import { openStore } from '../store/open-store.ts';
import type { Store } from '../store/store.ts';
import { createSandbox } from '../tools/sandbox/create-sandbox.ts';
import type { Sandbox } from '../tools/sandbox/sandbox.ts';
import { createAgentShelf } from './agent-cache.ts';
import type { createAgentSession } from './agent-session.ts';
import type { beginSession } from './begin-session.ts';
import type { Spawn } from './children/child-session.ts';
import { agentCode } from './define/agent-code.ts';
import { createLiveSession } from './live-session.ts';
import type { LoadedAgent } from './loaded-agent.ts';
import { createMemories } from './memory/memories.ts';
import type { prepareAgent } from './prepare-agent.ts';
import type { endSession, resumeWork, runLoop } from './run-session.ts';
import { createRuns } from './runs/create-runs.ts';
import { createAgentSnapshots } from './runs/run-environment.ts';
import { laidAside, type RuntimeDeps, type Seat, workRetried } from './runtime-deps.ts';
import type { RuntimeOptions, Watcher } from './runtime-types.ts';
import { createTokenizer } from './tokenizer.ts';
import { DEFAULT_USER } from './variables/declared-variables.ts';

const DEFAULT_STORE = 'sqlite:.telltale/telltale.db';

/** What a runtime is made of, under its face. */
export interface RuntimeWorks {
  readonly deps: RuntimeDeps;
  readonly watchers: Set<Watcher>;
  readonly engine: Engine;
  /** Where the process works on so many sessions and runs at once and no more. */
  readonly places: WorkerCapacity | undefined;
  /** Where the store is shared with others. */
  readonly joined: JoinedFleet | undefined;
  readonly sandbox: Sandbox;
  readonly parts: ReturnType<typeof createSessionParts>;
  readonly lateModel: ReturnType<typeof createLateModels>;
  /** Once no session is at work any more. A store that was given stays open. */
  close(): Promise<void>;
}

/** Opens the store, joins the others that share it, and puts together what sessions and runs need. */
export async function openRuntimeWorks(options: RuntimeOptions): Promise<RuntimeWorks> {
  const clock = options.clock ?? createSystemClock();
  const cwd = resolve(options.cwd ?? '.');
  const given = options.store ?? DEFAULT_STORE;
  if (typeof given !== 'string') return setUp(options, clock, cwd, given);
  const store = await openStore(given, { cwd, clock, durability: options.durability ?? 'power' });
  try {
    const works = await setUp(options, clock, cwd, store);
    return { ...works, close: () => works.close().then(() => store.close()) };
  } catch (thrown) {
    await store.close();
    throw thrown;
  }
}

async function setUp(
  options: RuntimeOptions,
  clock: Clock,
  cwd: string,
  store: Store,
): Promise<RuntimeWorks> {
  const random = options.random ?? Math.random;
  const env = options.env ?? {};
  const { approve, ask, onWaiting, mcp, crashPoint, derivedTriggers, member } = options;
  const onError = options.onError ?? throwToProgram;
  const user = options.user ?? env.TELLTALE_USER ?? DEFAULT_USER;
  const ids = createIdSource({ clock });
  const here = new Map<string, Seat>();
  const watchers = new Set<Watcher>();
  const { capacity = 0 } = member ?? {};
  const places = capacity > 0 && Number.isFinite(capacity) ? new WorkerCapacity(capacity) : undefined;
  const joined = await join(store, {
    clock,
    onError,
    random,
    member,
    places,
    onQuarantined: (aside) => onError(laidAside(aside)),
    onRetry: (offer, why) => onError(workRetried(offer, why)),
  });
  const engine = joined?.engine ?? createEmbeddedEngine({ store, clock, onError, places });
  const slots = await openSlots(store, clock);
  const underWay = createInFlightCalls();
  const sandbox = createSandbox({ clock });
  const tokenizer = createTokenizer();
  const memories = createMemories({ store, clock, tokenizer });
  const parts = createSessionParts();
  const { served = [] } = options;
  const shelf = createAgentShelf(
    { store, clock, env, cwd, served, mcp, sandbox, derivedTriggers, tokenizer },
    parts,
  );
  // Whoever called a sub-agent ends it.
  const spawn: Spawn = (begin) => createLiveSession(deps, begin, parts);
  const lateModel = createLateModels((ref, folder) => openModel(ref, { env, folder, clock }));
  const shared = { store, clock, random, env, cwd, shelf, spawn, ids, slots, underWay, approve, crashPoint };
  const runs = createRuns(
    {
      ...shared,
      ask,
      user,
      lateModel,
      engine,
      watchers,
      onError,
      agents: member?.agents,
      snapshots: createAgentSnapshots(store, env),
    },
    (runDeps, call) => {
      const load = async () => (await import('./runs/walk-run.ts')).createRunWalker(runDeps, call);
      let walking: ReturnType<typeof load> | undefined;
      return async (driven) => {
        walking ??= load();
        return (await walking)(driven);
      };
    },
  );
  const deps: RuntimeDeps = {
    ...shared,
    onWaiting,
    runs,
    user,
    memories,
    tokenizer,
    watchers,
    here,
    front: createLastFront(),
  };
  return {
    deps,
    watchers,
    engine,
    places,
    joined,
    sandbox,
    parts,
    lateModel,
    async close() {
      await engine.close();
      await joined?.close();
      await runs.close();
      await shelf.close();
      await memories.close();
      await sandbox.close();
    },
  };
}

/** What no session or run can be told of surfaces in the program around. */
function throwToProgram(thrown: unknown): void {
  queueMicrotask(() => {
    throw thrown;
  });
}

/** Joins the others that share the store, where it can be shared. */
async function join(
  store: Store,
  deps: Omit<OpenFleetOptions, 'store' | 'shared'>,
): Promise<JoinedFleet | undefined> {
  const { shared } = store;
  if (shared === undefined) return undefined;
  const { openFleet } = await import('../cluster/open-fleet.ts');
  return openFleet({ ...deps, store, shared });
}

/** A tool's `max_parallel` holds over all that share the store. */
async function openSlots({ shared }: Store, clock: Clock): Promise<Slots> {
  const local = createLocalSlots();
  if (shared === undefined) return local;
  const { createSharedSlots } = await import('../engine/shared-slots.ts');
  return createSharedSlots({ slots: shared.slots, local, clock });
}

/** What sessions are run with: half of all modules, which whoever only looks or listens has no use for. */
export interface SessionParts {
  readonly beginSession: typeof beginSession;
  readonly createAgentSession: typeof createAgentSession;
  readonly resumeWork: typeof resumeWork;
  readonly runLoop: typeof runLoop;
  readonly endSession: typeof endSession;
  readonly prepareAgent: typeof prepareAgent;
}

/** Loads them at the first call. */
export function createSessionParts(): () => Promise<SessionParts> {
  let loading: Promise<SessionParts> | undefined;
  const load = async (): Promise<SessionParts> => {
    const [begin, wire, run, prepare] = await Promise.all([
      import('./begin-session.ts'),
      import('./agent-session.ts'),
      import('./run-session.ts'),
      import('./prepare-agent.ts'),
    ]);
    return { ...begin, ...wire, ...run, ...prepare };
  };
  return () => {
    loading ??= load();
    return loading;
  };
}

/** Models of agents that are opened when they are first asked; one for each agent, so that what is prepared is found again. */
function createLateModels(
  open: (ref: string, folder: string) => Promise<Model>,
): (agent: LoadedAgent<unknown>) => Model {
  const known = new WeakMap<LoadedAgent<unknown>, Model>();
  return (agent) => {
    const before = known.get(agent);
    if (before !== undefined) return before;
    const model = lateModel(agent, open);
    known.set(agent, model);
    return model;
  };
}

function lateModel(
  agent: LoadedAgent<unknown>,
  open: (ref: string, folder: string) => Promise<Model>,
): Model {
  const { manifest, folder } = agent;
  const { model: ref, name } = manifest;
  let opened: Model | undefined;
  return {
    id: ref ?? 'none',
    get price() {
      return opened?.price ?? FREE;
    },
    async stream(request, sink) {
      if (ref === undefined) throw noModel(name);
      if (opened === undefined) {
        const entry = manifest.models[ref];
        const found = agentCode(agent)?.models.get(ref) ?? (await open(namedRef(entry) ?? ref, folder));
        opened = withSettings(found, { options: { ...manifest.model_options, ...namedOptions(entry) } });
      }
      return opened.stream(request, sink);
    },
  };
}

/** What nobody has asked cost nothing. */
const FREE = { input: 0, output: 0 };

const noModel = (agent: string) =>
  new RuntimeError('no_model', `The agent "${agent}" has no model.`, {
    hint: 'Write "model: provider/model" or "model: scripted:FILE" into its manifest.',
  });
