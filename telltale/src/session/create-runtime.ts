import { resolve } from 'node:path';
import type { SessionState } from '../events/state.ts';
import { createSystemClock } from '../kernel/clock.ts';
import { createIdSource } from '../kernel/ids.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import { isModelRef } from '../manifest/schema/model-ref.ts';
import { openStore } from '../store/open-store.ts';
import { createSandbox } from '../targets/sandbox/create-sandbox.ts';
import { forkSession } from './fork-session.ts';
import { createLiveSession, type LiveSession } from './live-session.ts';
import { loadAgent } from './load-agent.ts';
import { createAgentShelf } from './prepare-agent.ts';
import { readEvents, readSession } from './read-session.ts';
import type { LoadedAgent, Runtime, RuntimeOptions } from './runtime-types.ts';

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
  let closed = false;

  const sandbox = createSandbox({ clock });
  const { approve, mcp } = options;
  const shelf = createAgentShelf({ store, clock, env, approve, mcp, sandbox });
  const edges = { store, clock, random, env, cwd, shelf, crashPoint: options.crashPoint };
  const keep = (session: LiveSession): LiveSession => {
    live.add(session);
    const forget = () => live.delete(session);
    session.result.then(forget, forget);
    return session;
  };
  const mustBeOpen = () => {
    if (closed) throw runtimeClosed();
  };

  return {
    store,
    start(agent, start) {
      mustBeOpen();
      const id = start.id ?? ids.next('ses');
      return keep(createLiveSession(edges, { kind: 'start', id, agent, start }));
    },
    async resume(id, resume = {}) {
      mustBeOpen();
      const state = await readSession(store, id);
      if (state.seq === 0) throw sessionEmpty(id);
      const agent = resume.agent ?? (await loadAgent(state.manifest.path, { env, cwd, name: state.agent }));
      if (agent.hash !== state.manifest.hash && resume.acceptChanges !== true)
        throw manifestChanged(id, state.manifest.path);
      mustBeOpen(); // it may have been closed meanwhile
      const model = resume.model ?? startedWith(state, agent);
      const choice = model === undefined ? resume : { ...resume, model };
      const session = keep(createLiveSession(edges, { kind: 'resume', id, agent, resume: choice }));
      await session.ready;
      return session;
    },
    fork: (session, seq, fork = {}) => forkSession(store, session, seq, fork.id ?? ids.next('ses'), clock),
    events: (session, from = 1) => readEvents(store, session, from),
    state: (session, seq) => readSession(store, session, seq),
    async steer(session, text, from = 'user') {
      await store.send(session, { kind: 'steer', from, body: text });
    },
    async cancel(session, reason = 'asked to', from = 'user') {
      await store.send(session, { kind: 'cancel', from, body: reason });
    },
    async close() {
      closed = true;
      await Promise.all([...live].map((session) => session.interrupt()));
      await shelf.close();
      await sandbox.close();
      if (typeof given === 'string') await store.close();
    },
  };
}

/** The model a session was started with, where it was another than its manifest's. */
const startedWith = ({ model }: SessionState, { manifest }: LoadedAgent): string | undefined =>
  model !== manifest.model && isModelRef(model) ? model : undefined;

const runtimeClosed = () =>
  new RuntimeError('runtime_closed', 'The runtime was closed.', { hint: 'Create another one.' });

const sessionEmpty = (session: string) =>
  new RuntimeError('session_empty', `${session} was made, but nothing is on its log: it never began.`, {
    hint: 'Start it again under the same id.',
  });

const manifestChanged = (session: string, path: string) =>
  new RuntimeError('manifest_changed', `The manifest ${path} is not the one that ${session} started with.`, {
    hint: `Put it back as it was, start a new session, or accept the changes: telltale resume ${session} --accept-changes`,
  });
