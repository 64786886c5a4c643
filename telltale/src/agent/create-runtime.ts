import { resolve } from 'node:path';
import type { SessionState } from '../log/state.ts';
import { isModelRef } from '../manifest/schema/model-ref.ts';
import { liftQuarantine } from '../store/quarantine.ts';
import {
  checkFrom,
  checkListener,
  checkResume,
  checkRuntimeOptions,
  checkStart,
  checkText,
  checkTurn,
  checkWorkflow,
} from './check-options.ts';
import type { Begin } from './children/child-session.ts';
import { forkSession } from './fork-session.ts';
import { createLiveSession } from './live-session.ts';
import type { LoadedAgent } from './loaded-agent.ts';
import { causeChain, stateAt } from './log/read-log.ts';
import { drainRuntime, nobodyReads, sendSteer, steerSession } from './messages.ts';
import { createArtifactStoreOpener } from './open-artifact-store.ts';
import { openRuntimeWorks } from './open-runtime-works.ts';
import { readEvents, readSession } from './read-session.ts';
import { loadAgain, readyToResume } from './ready-to-resume.ts';
import { answerReview } from './reviews/answer-review.ts';
import { readReview } from './reviews/read-review.ts';
import { listReviews } from './reviews/review-table.ts';
import { runtimeClosed, type Seat, streamUnknown } from './runtime-deps.ts';
import type {
  ResumeOptions,
  Runtime,
  RuntimeOptions,
  Session,
  StartOptions,
  Watcher,
} from './runtime-types.ts';
import type { LiveSession } from './session-handle.ts';

/** Opens the store and runs agents on it. */
export async function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  checkRuntimeOptions(options);
  const works = await openRuntimeWorks(options);
  const { deps, watchers, engine, places, joined, sandbox, parts, lateModel } = works;
  const { store, clock, cwd, ids, here, runs, memories, underWay } = deps;
  const live = new Set<Seat>();
  let closed = false;

  const keep = (begin: Begin): LiveSession => {
    const place = places?.hold('session', begin.id);
    const session = createLiveSession(deps, begin, parts, live);
    if (place !== undefined) session.result.then(place.release, place.release);
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
    await Promise.all([...live].map(({ session }) => session?.interrupt()));
    await works.close();
  };
  const closeOnAbort = () => {
    close().catch(() => undefined); // whoever calls close() hears of it
  };
  options.signal?.addEventListener('abort', closeOnAbort, { once: true });
  if (options.signal?.aborted === true) {
    await close();
    options.signal.throwIfAborted();
  }

  const openArtifactStore = createArtifactStoreOpener({ store, clock, sandbox });
  return {
    store,
    ...(joined === undefined ? {} : { fleet: joined.fleet }),
    ...(places === undefined ? {} : { places }),
    watch(watcher) {
      checkListener('runtime.watch', watcher);
      const own: Watcher = (event) => watcher(event);
      watchers.add(own);
      return () => watchers.delete(own);
    },
    session: (id) => here.get(id)?.session,
    async preload() {
      await parts();
    },
    async why(stream, seq) {
      const info = await store.info(stream);
      if (info === undefined) throw streamUnknown(stream, store.location);
      return causeChain(store, stream, seq, info.head);
    },
    artifacts: async () => (await openArtifactStore()).artifacts,
    async testArtifact(test) {
      const { testArtifact } = await import('../tools/artifacts/test-artifact.ts');
      return testArtifact({ ...test, others: (await openArtifactStore()).artifacts }, { sandbox, clock });
    },
    start<Output>(agent: LoadedAgent<Output>, start: StartOptions) {
      mustBeOpen();
      checkStart(agent, start);
      start.signal?.throwIfAborted();
      const id = start.id ?? ids.next('ses');
      const session = keep({ kind: 'start', id, agent, start });
      return session as Session<unknown> as Session<Output>; // what readResult gives
    },
    async resume<Output>(id: string, resume: ResumeOptions<Output> = {}) {
      mustBeOpen();
      checkResume(resume);
      const { signal } = resume;
      signal?.throwIfAborted();
      const begin = await readyToResume(deps, id, resume);
      mustBeOpen(); // it may have been closed meanwhile
      signal?.throwIfAborted();
      await liftQuarantine(store, id);
      await resume.first?.();
      const session = keep(begin);
      await session.ready;
      if (resume.by !== 'runtime') joined?.fleet.forget('session', id);
      return session as Session<unknown> as Session<Output>;
    },
    async fork(session, seq, { id = ids.next('ses'), agent, ...changes } = {}) {
      const load = (state: SessionState) =>
        agent === undefined ? loadAgain(state, { env: deps.env, cwd }) : Promise.resolve(agent);
      if (changes.model !== undefined && isModelRef(changes.model)) {
        // A fork whose model cannot be opened could never be resumed.
        const used = await load(await readSession(store, session));
        deps.shelf.release(await deps.shelf.prepare(used, changes.model));
      }
      return forkSession(store, session, seq, id, clock, { ...changes, agent: load });
    },
    async events(session, from = 1, { signal } = {}) {
      checkFrom(from);
      return readEvents(store, session, from, signal);
    },
    state: (session, seq, { signal } = {}) =>
      stateAt(store, session, seq, readSession(store, session, seq, signal)),
    async steer(session, text, from) {
      checkText('runtime.steer', 'text', text);
      const live = here.get(session)?.session;
      if (live === undefined) return steerSession(deps, session, text, from);
      if (live.isOver()) throw nobodyReads(session);
      const sent = await sendSteer(store, session, text, from);
      // The end may have been decided while it was written down.
      if (live.isOver() && !live.hasHeard(sent)) throw nobodyReads(session);
    },
    async cancel(session, reason = 'asked to', from = 'user') {
      checkText('runtime.cancel', 'reason', reason);
      const { cancelHere } = await import('./ending/cancel-session.ts');
      await cancelHere({ store, clock, workflows: runs }, session, reason, from);
    },
    workflows: {
      ...runs,
      start(workflow, run) {
        mustBeOpen();
        checkWorkflow(workflow);
        return runs.start(workflow, run);
      },
      async resume(run, resume) {
        mustBeOpen();
        const resumed = await runs.resume(run, resume);
        if (resume?.acceptChanges !== undefined && resume.acceptChanges !== false)
          joined?.fleet.forget('run', run);
        return resumed;
      },
      listen(agent, listening) {
        mustBeOpen();
        return runs.listen(agent, listening);
      },
    },
    forClients: runs.forClients,
    async feeds(agent, trial = {}) {
      mustBeOpen();
      const { tryFeeds } = await import('./feeds/try-feeds.ts');
      // Its model is opened where a feed asks it: trying the others needs none.
      return tryFeeds(deps, agent, { model: lateModel(agent), ...trial });
    },
    async preview(agent, preview = {}) {
      mustBeOpen();
      const { previewPrompt } = await import('./prompts.ts');
      return previewPrompt(deps, agent, preview);
    },
    async prompt(session, turn, { agent: given, ...prompt } = {}) {
      mustBeOpen();
      checkTurn('runtime.prompt', turn);
      const seated = given === undefined ? here.get(session)?.session : undefined;
      if (seated !== undefined) return seated.showPrompt({ ...prompt, turn });
      const { agentOfPrompt, readPrompt } = await import('./prompts.ts');
      const agent = given ?? (await agentOfPrompt(deps, session, prompt.signal));
      return readPrompt(deps, session, agent, { ...prompt, turn });
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
      if (answered.review.of === 'run') engine.dispatch('run', answered.review.session);
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
