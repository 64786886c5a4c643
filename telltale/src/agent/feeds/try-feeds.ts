import { RuntimeError } from '../../lib/errors.ts';
import type { EventBody } from '../../log/event.ts';
import { reduce } from '../../log/reduce.ts';
import { emptyState } from '../../log/state.ts';
import { agentView, createTestContext, NOTHING_SAID } from '../agent-view.ts';
import { firstEvent } from '../begin-session.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import { workflowUnknown } from '../runs/find-workflow.ts';
import type { RuntimeDeps } from '../runtime-deps.ts';
import type { FeedTrial, FeedTrialOptions } from '../runtime-types.ts';
import { createSessionFeeds } from './session-feeds.ts';

/** Loads feeds as a new session would see them, without a log. */
export async function tryFeeds(
  deps: RuntimeDeps,
  agent: LoadedAgent<unknown>,
  { vars, model }: FeedTrialOptions,
): Promise<FeedTrial> {
  const { shelf, clock, env, runs } = deps;
  const prepared = await shelf.prepare(agent, model);
  const state = emptyState();
  const id = 'feeds';
  const append = (body: EventBody) => {
    const cause = { stream: id, seq: state.seq, depth: 0 };
    reduce(state, { ...body, seq: state.seq + 1, at: clock.now(), session: id, turn: 0, cause });
  };
  const start = { input: '', ...(vars === undefined ? {} : { vars }) };
  const { started, given } = await firstEvent(deps, { kind: 'start', id, agent, start }, prepared);
  append(started);
  for (const [name, value] of Object.entries(given))
    append({ type: 'variable.changed', name, class: 'runtime', from: null, to: value, by: 'user' });
  const view = () => agentView({ state, prepared, env, said: NOTHING_SAID, parent: undefined });
  const tests = createTestContext(state, view);
  const { keeper } = createSessionFeeds({
    ...deps,
    prepared,
    state,
    append,
    view,
    testContext: () => tests,
    lookup: (name) =>
      state.variables.get(name)?.value ??
      (Object.hasOwn(state.metadata, name) ? state.metadata[name] : undefined),
    metrics: async () => [],
    isGuarded: () => false,
    group: id,
    async runWorkflow(name, input, signal) {
      const manifest = prepared.workflows.get(name);
      if (manifest === undefined) throw workflowUnknown(agent, name, [...prepared.workflows.keys()]);
      const ended = await runs.start({ manifest, agent }, { input, signal }).result;
      if (ended.status === 'completed') return ended.output ?? null;
      throw notCompleted(name, ended.run, ended.status, ended.error?.message);
    },
  });
  return {
    list: keeper.list,
    read: (feed, { signal } = {}) => keeper.read(feed, true, signal ?? new AbortController().signal),
    async close() {
      await keeper.close();
      shelf.release(prepared);
    },
  };
}

const notCompleted = (workflow: string, run: string, status: string, why: string | undefined) =>
  new RuntimeError(
    'workflow_failed',
    `The workflow "${workflow}" (${run}) ended as ${status}${why === undefined ? '.' : `: ${why}`}`,
    { hint: `To see more: telltale show ${run}` },
  );
