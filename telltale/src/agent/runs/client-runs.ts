import { readRun, runUnknown } from '../../engine/read-run.ts';
import { type ErrorJson, RuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { openQuestions, questionOf } from '../../log/reduce-run.ts';
import { decodeRunEvent } from '../../log/run-codec.ts';
import { type RunOrigin, shownWait } from '../../log/run-event.ts';
import type { ApprovalState, ClientTask, RunState } from '../../log/run-state.ts';
import type { Store } from '../../store/store.ts';
import { childKey } from '../../workflows/steps/call-below.ts';
import { manualLimit } from '../triggers/concurrency-limit.ts';
import type { RunQueue } from '../triggers/run-queue.ts';
import { acceptRunChanges } from './accept-changes.ts';
import {
  type ClientRuns,
  type ClientRunsOptions,
  type ClientView,
  clientRefusal,
  type OpenClientRun,
  type QuestionRef,
  type QuestionStatus,
  type SettleOptions,
} from './client-worker.ts';
import { readInput } from './open-run.ts';
import { type RunsDeps, readAgentSource } from './run-environment.ts';
import { RUN_CLAIM } from './run-messages.ts';
import { createQueuedRun, type RunListener, type RunRegistry } from './run-registry.ts';
import { type RunResult, workflowsOf } from './run-types.ts';

/** Open runs that are searched. */
const MAX_LISTED = 500;
/** How far up callers are followed. Calls are limited to fewer levels by `MAX_CHAIN`. */
const MAX_ABOVE = 100;

export function createClientRuns(
  deps: RunsDeps & { readonly registry: RunRegistry; readonly runQueue: RunQueue },
  { agents = [], acceptChanges = false }: ClientRunsOptions = {},
): ClientRuns {
  const { store, registry, engine, ids } = deps;

  /** Makes sure that this process can continue a run, before anything is written. */
  const enter = async (state: RunState): Promise<void> => {
    const entry = registry.entry(state.id);
    const { path, hash, agent } = state.manifest;
    const known = agents.find(
      (each) => each.path === path && each.manifest.name === agent && (acceptChanges || each.hash === hash),
    );
    entry.lingers = true;
    if (known !== undefined) entry.agentSource ??= { agent: known, model: state.model };
    entry.agentSource ??= await readAgentSource(state, deps, acceptChanges ? 'any' : 'pinned');
    if (acceptChanges && entry.agentSource.agent.hash !== hash)
      await acceptRunChanges(deps, state, entry.agentSource.agent, true, 'mcp');
  };

  return {
    async start({ manifest, agent }, { client, identity, input: given = {} }) {
      const refusal = clientRefusal(manifest, workflowsOf(agent));
      if (refusal !== undefined) throw refusal;
      const id = ids.next('run');
      const held = await createQueuedRun(deps, manualLimit(manifest, agent.manifest.name), {
        id,
        workflow: manifest,
        agentSource: { agent },
        input: readInput(agent, manifest, given),
        balance: agent.manifest.budget?.balance,
        origin: { client, identity, chain: [manifest.name], agents: [agent.manifest.name] },
      });
      const entry = registry.entry(id);
      entry.agentSource = { agent };
      entry.fresh = held;
      entry.lingers = true;
      engine.dispatch('run', id, 'here');
      return id;
    },
    async standing(ref, identity) {
      const state = await committedRun(deps, ref.run);
      let { id: root, origin } = state;
      for (let above = 0; origin.parent !== undefined && above < MAX_ABOVE; above++)
        ({ id: root, origin } = await committedRun(deps, origin.parent.run));
      if (isOfOther(origin, identity)) throw runUnknown(ref.run, store.location);
      return { root, standing: await questionStatus(deps, root, state, ref) };
    },
    async claim(run, by, claim) {
      const live = registry.find(run)?.live;
      const message = { kind: RUN_CLAIM, from: by, body: claim as unknown as JsonObject };
      if (live !== undefined) {
        const isOpen = questionOf(live.journal.state, claim)?.claim === undefined;
        live.take(message);
        return isOpen ? 'counts' : 'sent';
      }
      await enter(await committedRun(deps, run));
      await engine.signal('run', run, message);
      return 'sent';
    },
    claimed: async (ref) => questionOf(await committedRun(deps, ref.run), ref)?.claim,
    async settle(run, options) {
      const state = await committedRun(deps, run);
      if (state.origin.client === undefined) throw notForClients(run);
      if (isOfOther(state.origin, options.identity)) throw runUnknown(run, store.location);
      if (OVER.has(state.status)) return viewOf(deps, run, () => undefined);
      if (registry.find(run)?.live === undefined) await enter(state);
      const { sent } = options;
      // A claim for a run that no process worked on is in its inbox. Until it is on the log, the task looks
      // open.
      let taken = sent === undefined;
      const isTaken = async () => {
        if (taken || sent === undefined) return true;
        const now = await committedRun(deps, sent.run);
        taken = OVER.has(now.status) || questionOf(now, sent)?.claim !== undefined;
        return taken;
      };
      return settleRun(deps, run, isTaken, options);
    },
    async open(client, identity) {
      const alive = await store.list({ kind: 'run', status: ['running', 'waiting'], limit: MAX_LISTED });
      const found = await Promise.all(
        alive.map(async ({ stream, status, createdAt }): Promise<OpenClientRun | undefined> => {
          const [line] = await store.read(stream, { limit: 1 });
          const first = line === undefined ? undefined : decodeRunEvent(line, stream);
          if (first?.type !== 'workflow.started') return undefined;
          const { origin, workflow } = first;
          if (origin.client !== client || origin.parent !== undefined || isOfOther(origin, identity))
            return undefined;
          return { run: stream, workflow, client, status, startedAt: createdAt };
        }),
      );
      return found.flatMap((each) => each ?? []);
    },
  };
}

/** Runs from before clients had an identity are open to anybody who knows their id. */
const isOfOther = (origin: RunOrigin, identity: string): boolean =>
  origin.identity !== undefined && origin.identity !== identity;

const OVER: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

const notForClients = (run: string) =>
  new RuntimeError('not_a_client_run', `Tasks of ${run} are worked on by agents, not by a client.`, {
    hint: 'Start a run of your own with start_workflow.',
  });

/** `root` is the topmost run above the question's own. */
async function questionStatus(
  deps: ViewDeps,
  root: string,
  state: RunState,
  ref: QuestionRef,
): Promise<QuestionStatus> {
  const task = questionOf(state, ref);
  if (task === undefined) return { kind: 'withdrawn', why: 'it was never put.' };
  if (task.claim !== undefined)
    return (await claimedSince(deps, root, task.claim)) ? { kind: 'passed' } : { kind: 'accepted', task };
  if (openQuestions(state).includes(task)) return { kind: 'open', task };
  const { status, attempts = 0 } = state.steps.get(ref.step) ?? {};
  const why = attempts > ref.attempt ? 'it was begun anew.' : `it is ${status ?? 'gone'}.`;
  return { kind: 'withdrawn', why };
}

/** Whether a later question of the run, or of a run that it called, was answered. */
async function claimedSince(
  deps: ViewDeps,
  run: string,
  claim: NonNullable<ClientTask['claim']>,
): Promise<boolean> {
  const state = await committedRun(deps, run);
  for (const { claim: other } of state.client ?? []) {
    if (other === undefined || other === claim) continue;
    const isSameRun = (state.client ?? []).some((task) => task.claim === claim);
    if (isSameRun ? other.seq > claim.seq : other.at > claim.at) return true;
  }
  const own = new Set((state.client ?? []).map(({ step }) => step));
  for (const { step, status } of state.steps.values()) {
    if (own.has(step) || status === 'skipped') continue;
    const called = childKey(state, step, 'run');
    if ((await deps.store.info(called))?.kind !== 'run') continue;
    if (await claimedSince(deps, called, claim)) return true;
  }
  return false;
}

/**
 * Works on a run until there is news for its client: the next task, the end, or something else that it waits
 * for. Returns at the latest when the time is up. Rejects if this process cannot continue the run.
 */
async function settleRun(
  deps: RunsDeps & { readonly registry: RunRegistry },
  run: string,
  isTaken: () => Promise<boolean>,
  { waitMs, signal, onMoved }: Pick<SettleOptions, 'waitMs' | 'signal' | 'onMoved'>,
): Promise<ClientView> {
  const { store, engine, registry, clock } = deps;
  const deadline = clock.now() + waitMs;
  const watched = new Map<string, () => void>();
  let placed = false;
  /** Whether the waiting state on the log is current. */
  let rests = false;
  let failure: { readonly thrown: unknown } | undefined;
  /** Its committed end. */
  let ended: ClientView | undefined;
  let moved = false;
  let wake: () => void = () => undefined;
  const poke = () => {
    moved = true;
    wake();
  };
  const watch = (stream: string) => {
    if (!watched.has(stream)) watched.set(stream, store.watch(stream, poke));
  };
  const come = () => {
    rests = true;
    poke();
  };
  const listener: RunListener = {
    onEnd(result) {
      ended = viewOfEnd(result);
      poke();
    },
    onWaiting: come,
    onOwned: come, // its owner continues it
    onWork() {
      rests = false;
    },
    onError(thrown) {
      failure = { thrown };
      poke();
    },
  };
  const { listeners } = registry.entry(run);
  listeners.add(listener);
  const disarm = clock.after(waitMs, poke);
  signal?.addEventListener('abort', poke, { once: true });
  try {
    for (;;) {
      moved = false;
      watch(run);
      const view = ended ?? ((await isTaken()) ? await viewOf(deps, run, watch) : BUSY);
      if (failure !== undefined) throw failure.thrown;
      signal?.throwIfAborted();
      const isLate = clock.now() >= deadline;
      if (isSettled(view, deadline, rests || isLate) || isLate) return view;
      if (view.kind === 'busy') onMoved?.(view.done);
      if (!placed && registry.find(run)?.live === undefined) {
        placed = true;
        engine.dispatch('run', run, 'here');
      }
      if (!moved)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    disarm();
    signal?.removeEventListener('abort', poke);
    listeners.delete(listener);
    for (const unwatch of watched.values()) unwatch();
  }
}

/** Undefined if this process has only released the run. */
function viewOfEnd({ status, output = null, error }: RunResult): ClientView | undefined {
  if (status === 'completed') return { kind: 'completed', output };
  if (status === 'failed' && error !== undefined) return { kind: 'failed', error };
  return undefined; // see the log
}

const BUSY: ClientView = { kind: 'busy', done: 0 };

function isSettled(view: ClientView, deadline: number, rests: boolean): boolean {
  switch (view.kind) {
    case 'task':
    case 'completed':
    case 'failed':
    case 'cancelled':
      return true;
    case 'waiting':
      return rests && (view.due === undefined || view.due > deadline);
    case 'busy':
      return false;
  }
}

export interface ViewDeps {
  readonly store: Store;
  readonly registry: Pick<RunRegistry, 'find'>;
}

/** The committed state of a run: from memory if this process works on it, otherwise from its log. */
async function committedRun({ store, registry }: ViewDeps, run: string): Promise<RunState> {
  const journal = registry.find(run)?.live?.journal;
  if (journal === undefined) return readRun(store, run);
  const isWritten = await journal.flushed().then(
    () => true,
    () => false, // another process owns it, so read its log
  );
  return isWritten ? journal.state : readRun(store, run);
}

/** `seen` is called with each run that was read, including called ones. */
async function viewOf(deps: ViewDeps, run: string, seen: (run: string) => void): Promise<ClientView> {
  seen(run);
  const state = await committedRun(deps, run);
  switch (state.status) {
    case 'completed':
      return { kind: 'completed', output: state.output ?? null };
    case 'failed':
      return { kind: 'failed', error: state.error ?? NO_REASON };
    case 'cancelled':
      return { kind: 'cancelled', reason: (state.error ?? NO_REASON).message };
    case 'running':
    case 'waiting': {
      const [task] = openQuestions(state);
      return task === undefined ? below(deps, state, seen) : { kind: 'task', run, task: { ...task } };
    }
  }
}

/** The run has no open task of its own, but runs that it called may have one. */
async function below(deps: ViewDeps, state: RunState, seen: (run: string) => void): Promise<ClientView> {
  const reviews = state.reviews.filter(({ answer }) => answer === undefined).map(asked);
  for (const { step, status } of state.steps.values()) {
    if (status !== 'running') continue;
    const called = childKey(state, step, 'run');
    const info = await deps.store.info(called);
    if (info?.kind !== 'run') continue;
    const view = await viewOf(deps, called, seen);
    if (view.kind === 'task') return view;
    if (view.kind === 'waiting') reviews.push(...view.reviews);
    else return busy(state); // if the called run has ended, this one is about to continue
  }
  const { status, waiting = { for: 'nothing' } } = state;
  return status === 'waiting' ? { kind: 'waiting', ...shownWait(waiting), reviews } : busy(state);
}

const busy = ({ steps }: RunState): ClientView => ({
  kind: 'busy',
  done: [...steps.values()].filter(({ status }) => status === 'completed').length,
});

const asked = ({ review, prompt, options }: ApprovalState) => ({ review, prompt, options });

const NO_REASON: ErrorJson = { code: 'failed', message: 'No reason is on the log.', retryable: false };
