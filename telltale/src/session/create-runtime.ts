import { resolve } from 'node:path';
import { createEmbeddedEngine } from '../engine/embedded/create-embedded-engine.ts';
import type { LaidAside } from '../engine/fleet/work-queue.ts';
import { createLocalSlots } from '../engine/local-slots.ts';
import type { Slots } from '../engine/slots.ts';
import { createUnderWay } from '../engine/under-way.ts';
import { createLastFront } from '../events/codec.ts';
import type { SessionState } from '../events/state.ts';
import { type Clock, createSystemClock } from '../kernel/clock.ts';
import { createIdSource } from '../kernel/ids.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import { isModelRef } from '../manifest/schema/model-ref.ts';
import { openModel } from '../models/open-model.ts';
import { openStore } from '../store/open-store.ts';
import type { Store } from '../store/store.ts';
import { createSandbox } from '../targets/sandbox/create-sandbox.ts';
import { createAgentShelf } from './agent-shelf.ts';
import { createOpenDesk } from './artifact-desk.ts';
import type { Begin, Spawn } from './children/lineage.ts';
import { agentCode, agentInCode } from './define/agent-code.ts';
import { drainRuntime } from './drain-runtime.ts';
import type { OpenFleetOptions } from './fleet/open-fleet.ts';
import { forkSession } from './fork-session.ts';
import { createLiveSession } from './live-session.ts';
import { type LoadAgentOptions, loadAgent } from './load-agent.ts';
import type { LoadedAgent } from './loaded-agent.ts';
import { causeChain } from './log/cause-chain.ts';
import { createMemories } from './memory/memories.ts';
import { readEvents, readSession } from './read-session.ts';
import { answerReview } from './reviews/answer-review.ts';
import { readReview } from './reviews/read-review.ts';
import { listReviews } from './reviews/review-table.ts';
import { createAgentSnapshots } from './runs/agent-snapshot.ts';
import { createRuns } from './runs/create-runs.ts';
import { createLateModels } from './runs/late-model.ts';
import type { RuntimeEdges, SessionHere } from './runtime-edges.ts';
import type {
  ResumeOptions,
  Runtime,
  RuntimeOptions,
  Session,
  StartOptions,
  Watcher,
} from './runtime-types.ts';
import type { LiveSession } from './session-face.ts';
import { createSessionParts } from './session-parts.ts';
import { nobodyReads, steerSession } from './steer-session.ts';
import { createTokenizer } from './tokenizer.ts';
import { DEFAULT_USER } from './variables/variable-scope.ts';

const DEFAULT_STORE = 'sqlite:.telltale/telltale.db';

/** Opens the store and runs agents on it. */
export async function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  const clock = options.clock ?? createSystemClock();
  const random = options.random ?? Math.random;
  const env = options.env ?? {};
  const cwd = resolve(options.cwd ?? '.');
  const given = options.store ?? DEFAULT_STORE;
  const store =
    typeof given === 'string'
      ? await openStore(given, { cwd, clock, durability: options.durability ?? 'power' })
      : given;
  const ids = createIdSource({ clock });
  const live = new Set<LiveSession>();
  const here = new Map<string, SessionHere>();
  const watchers = new Set<Watcher>();
  let closed = false;

  const sandbox = createSandbox({ clock });
  const { approve, onWaiting, mcp, crashPoint, derivedTriggers } = options;
  const user = options.user ?? env.TELLTALE_USER ?? DEFAULT_USER;
  const tokenizer = createTokenizer();
  const memories = createMemories({ store, clock, tokenizer });
  const parts = createSessionParts();
  const shelf = createAgentShelf({ store, clock, env, mcp, sandbox, derivedTriggers, tokenizer }, parts);
  // What no session or run can be told of: it surfaces in the program around.
  const onError =
    options.onError ??
    ((thrown: unknown) =>
      queueMicrotask(() => {
        throw thrown;
      }));
  const onLaidAside = (aside: LaidAside) => onError(laidAside(aside));
  const joined = await join(store, {
    onLaidAside,
    clock,
    onError,
    random,
    member: options.member,
    sessions: () => here.size,
  });
  const engine = joined?.engine ?? createEmbeddedEngine({ store, clock, onError });
  const slots = await openSlots(store, clock);
  const underWay = createUnderWay();
  // Whoever called a sub-agent ends it.
  const spawn: Spawn = (begin) => createLiveSession(edges, begin, parts);
  const lateModel = createLateModels((ref, folder) => openModel(ref, { env, folder, clock }));
  const runs = createRuns(
    {
      ...{
        lateModel,
        store,
        engine,
        clock,
        random,
        env,
        cwd,
        shelf,
        spawn,
        ids,
        slots,
        underWay,
        approve,
        crashPoint,
        watchers,
        onError,
        agents: options.member?.agents,
      },
      snapshots: createAgentSnapshots(store, env),
    },
    (runEdges, call) => {
      const load = async () => (await import('./runs/walk-run.ts')).createWalkRun(runEdges, call);
      let walking: ReturnType<typeof load> | undefined;
      return async (driven) => {
        walking ??= load();
        return (await walking)(driven);
      };
    },
  );
  const edges: RuntimeEdges = {
    ...{ store, clock, random, env, cwd, shelf, approve, onWaiting, spawn, runs, ids, user, crashPoint },
    ...{ memories, tokenizer, watchers, here, slots, underWay, front: createLastFront() },
  };
  const forget = (session: LiveSession) => live.delete(session);
  const keep = (begin: Begin): LiveSession => {
    const session = createLiveSession(edges, begin, parts, forget);
    live.add(session);
    return session;
  };
  const mustBeOpen = () => {
    if (closed) throw runtimeClosed();
  };

  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed = true;
    options.signal?.removeEventListener('abort', closeOnAbort);
    closing ??= closeAll();
    return closing;
  };
  const closeAll = async () => {
    await joined?.fleet.drain();
    await Promise.all([...live].map((session) => session.interrupt()));
    await engine.close();
    await joined?.close();
    await runs.close();
    await shelf.close();
    await memories.close();
    await sandbox.close();
    if (typeof given === 'string') await store.close();
  };
  const closeOnAbort = () => {
    close().catch(() => undefined); // whoever calls close() hears of it
  };
  options.signal?.addEventListener('abort', closeOnAbort, { once: true });
  if (options.signal?.aborted === true) {
    await close();
    options.signal.throwIfAborted();
  }

  const openDesk = createOpenDesk({ store, clock, sandbox });
  return {
    store,
    ...(joined === undefined ? {} : { fleet: joined.fleet }),
    watch(watcher) {
      const own: Watcher = (event) => watcher(event);
      watchers.add(own);
      return () => watchers.delete(own);
    },
    session: (id) => here.get(id),
    async preload() {
      await parts();
    },
    async why(stream, seq) {
      const info = await store.info(stream);
      if (info === undefined) throw streamUnknown(stream, store.location);
      return causeChain(store, stream, seq, info.head);
    },
    artifacts: async () => (await openDesk()).artifacts,
    async testArtifact(test) {
      const { testArtifact } = await import('../targets/artifacts/test-artifact.ts');
      return testArtifact({ ...test, others: (await openDesk()).artifacts }, { sandbox, clock });
    },
    start<Output>(agent: LoadedAgent<Output>, start: StartOptions) {
      mustBeOpen();
      // A program in JavaScript is told by no compiler.
      if ((agent as Partial<typeof agent> | undefined)?.manifest === undefined) throw noAgentGiven();
      if (typeof (start as Partial<StartOptions> | undefined)?.input !== 'string') throw noInput();
      start.signal?.throwIfAborted();
      const id = start.id ?? ids.next('ses');
      // A copy: docs/decisions/copies.md
      const session = keep({ ...{ kind: 'start', id, agent, start } });
      return session as Session<unknown> as Session<Output>; // what readResult gives
    },
    async resume<Output>(id: string, resume: ResumeOptions<Output> = {}) {
      mustBeOpen();
      const { signal } = resume;
      signal?.throwIfAborted();
      const state = await readSession(store, id, undefined, signal);
      if (state.seq === 0) throw sessionEmpty(id);
      if (state.parent !== undefined) throw sessionOfAgent(id, state.parent.session);
      const agent = resume.agent ?? (await loadAgain(state, { env, cwd, ...(signal && { signal }) }));
      if (agent.hash !== state.manifest.hash && resume.acceptChanges !== true)
        throw manifestChanged(id, state.manifest);
      mustBeOpen(); // it may have been closed meanwhile
      signal?.throwIfAborted();
      await resume.first?.();
      const model = resume.model ?? startedWith(state, agent);
      const choice = model === undefined ? resume : { ...resume, model };
      const session = keep({ kind: 'resume', id, agent, resume: choice });
      await session.ready;
      return session as Session<unknown> as Session<Output>;
    },
    fork: (session, seq, fork = {}) => forkSession(store, session, seq, fork.id ?? ids.next('ses'), clock),
    events: (session, from = 1, { signal } = {}) => readEvents(store, session, from, signal),
    state: (session, seq, { signal } = {}) => readSession(store, session, seq, signal),
    async steer(session, text, from) {
      if (here.get(session)?.isOver() === true) throw nobodyReads(session);
      await steerSession(store, session, text, from);
    },
    async cancel(session, reason = 'asked to', from = 'user') {
      await store.send(session, { kind: 'cancel', from, body: reason });
    },
    workflows: runs,
    forClients: runs.forClients,
    async feeds(agent, trial = {}) {
      mustBeOpen();
      const { tryFeeds } = await import('./feeds/try-feeds.ts');
      // Its model is opened where a feed asks it: trying the others needs none.
      return tryFeeds(edges, agent, { model: lateModel(agent), ...trial });
    },
    async memory(folder) {
      mustBeOpen();
      return memories.open(resolve(cwd, folder));
    },
    reviews: (filter) => listReviews(store, filter),
    review: (id) => readReview(store, id),
    async answer(review, answer) {
      const answered = await answerReview(store, clock, review, answer);
      // A run that waits for it goes on here; a session does where somebody works on it.
      if (answered.review.of === 'run') engine.place('run', answered.review.session);
      return answered;
    },
    async drain(drain = {}) {
      closed = true; // for what is new: what runs may go on
      await joined?.fleet.drain();
      await drainRuntime({ underWay, live, runs, clock }, drain);
    },
    close,
  };
}

/** Joins the others that share the store, where it can be shared. */
async function join(store: Store, edges: Omit<OpenFleetOptions, 'store' | 'shared'>) {
  const { shared } = store;
  if (shared === undefined) return undefined;
  const { openFleet } = await import('./fleet/open-fleet.ts');
  return openFleet({ ...edges, store, shared });
}

/** A tool's `max_parallel` holds over all that share the store. */
async function openSlots({ shared }: Store, clock: Clock): Promise<Slots> {
  const local = createLocalSlots();
  if (shared === undefined) return local;
  const { createSharedSlots } = await import('../engine/shared-slots.ts');
  return createSharedSlots({ slots: shared.slots, local, clock });
}

/** The agent of a session, read again from where it was read. */
function loadAgain({ id, agent, manifest }: SessionState, options: LoadAgentOptions): Promise<LoadedAgent> {
  if (manifest.code === true) throw agentInCode(id, manifest.path);
  return loadAgent(manifest.path, { ...options, name: agent });
}

/** The model a session was started with, where it was another than the agent's own. */
function startedWith({ model }: SessionState, agent: LoadedAgent<unknown>): string | undefined {
  const ownModels = [...(agentCode(agent)?.models.values() ?? [])];
  const isOwn = model === agent.manifest.model || ownModels.some(({ id }) => id === model);
  return !isOwn && isModelRef(model) ? model : undefined;
}

const laidAside = ({ stream, why }: LaidAside) =>
  new RuntimeError('laid_aside', `No worker could go on with ${stream}: ${why}`, {
    hint: `Mend that, then have it tried again: telltale fleet retry ${stream}`,
  });

const noAgentGiven = () =>
  new RuntimeError('bad_option', 'runtime.start was given no agent.', {
    hint: 'Give what loadAgent or defineAgent resolves to: runtime.start(await loadAgent("./agent.yml"), { input }).',
  });

const noInput = () =>
  new RuntimeError('bad_option', 'runtime.start was given no "input", or one that is no text.', {
    hint: 'Say what the agent is to do: runtime.start(agent, { input: "…" }).',
  });

const runtimeClosed = () =>
  new RuntimeError('runtime_closed', 'The runtime was closed.', { hint: 'Create another one.' });

const streamUnknown = (stream: string, location: string) =>
  new RuntimeError('session_unknown', `No session or run "${stream}" is in ${location}.`, {
    hint: 'List them with: telltale sessions, telltale workflow list',
  });

const sessionEmpty = (session: string) =>
  new RuntimeError('session_empty', `${session} was made, but nothing is on its log: it never began.`, {
    hint: 'Start it again under the same id.',
  });

const sessionOfAgent = (session: string, parent: string) =>
  new RuntimeError('session_has_parent', `${session} is a sub-agent's session: ${parent} works on it.`, {
    hint: `Resume that one: telltale resume ${parent}. Or make a session of its own of it: telltale fork ${session} SEQ`,
  });

const manifestChanged = (session: string, { path, code }: SessionState['manifest']) =>
  new RuntimeError('manifest_changed', `The manifest ${path} is not the one that ${session} started with.`, {
    hint: `Put it back as it was, start a new session, or accept the changes: ${
      code === true
        ? 'runtime.resume(id, { agent, acceptChanges: true }).'
        : `telltale resume ${session} --accept-changes`
    }`,
  });
