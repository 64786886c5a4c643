import { runUnknown } from '../../engine/read-run.ts';
import { questionOf } from '../../events/fold-client.ts';
import { decodeRunEvent } from '../../events/run-codec.ts';
import type { RunOrigin } from '../../events/run-event.ts';
import type { RunState } from '../../events/run-state.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { handGate } from '../outside/hand-gate.ts';
import type { Turns } from '../outside/turns.ts';
import { acceptRunChanges } from './accept-changes.ts';
import { clientRefusal } from './client-refusal.ts';
import { settleRun } from './client-settle.ts';
import { standingOf } from './client-standing.ts';
import type { ClientRuns, ClientRunsOptions, OpenClientRun } from './client-types.ts';
import { committedRun, viewOf } from './client-view.ts';
import { makeInTurn } from './make-in-turn.ts';
import { readInput } from './read-input.ts';
import { readGround } from './realm.ts';
import type { RunBoard } from './run-board.ts';
import type { RunsDeps } from './run-edges.ts';
import { RUN_CLAIM } from './run-messages.ts';
import { workflowsOf } from './workflow-catalog.ts';

/** Open runs that are looked through. */
const MAX_LISTED = 500;
/** Runs above each other; calls end earlier (`MAX_CHAIN`). */
const MAX_ABOVE = 100;

export function createClientRuns(
  deps: RunsDeps & { readonly board: RunBoard; readonly turns: Turns },
  { agents = [], acceptChanges = false }: ClientRunsOptions = {},
): ClientRuns {
  const { store, board, engine, ids } = deps;

  /** Makes sure that this process can go on with a run, before anything is written. */
  const enter = async (state: RunState): Promise<void> => {
    const entry = board.entry(state.id);
    const { path, hash, agent } = state.manifest;
    const known = agents.find(
      (each) => each.path === path && each.manifest.name === agent && (acceptChanges || each.hash === hash),
    );
    entry.lingers = true;
    if (known !== undefined) entry.ground ??= { agent: known, model: state.model };
    entry.ground ??= await readGround(state, deps, acceptChanges ? 'any' : 'pinned');
    if (acceptChanges && entry.ground.agent.hash !== hash)
      await acceptRunChanges(deps, state, entry.ground.agent, true, 'mcp');
  };

  return {
    async start({ manifest, agent }, { client, identity, input: given = {} }) {
      const refusal = clientRefusal(manifest, workflowsOf(agent));
      if (refusal !== undefined) throw refusal;
      const id = ids.next('run');
      const held = await makeInTurn(deps, handGate(manifest, agent.manifest.name), {
        id,
        workflow: manifest,
        ground: { agent },
        input: readInput(agent, manifest, given),
        balance: agent.manifest.budget?.balance,
        origin: { client, identity, chain: [manifest.name], agents: [agent.manifest.name] },
      });
      const entry = board.entry(id);
      entry.ground = { agent };
      entry.fresh = held;
      entry.lingers = true;
      engine.place('run', id, 'here');
      return id;
    },
    async standing(ref, identity) {
      const state = await committedRun(deps, ref.run);
      let { id: root, origin } = state;
      for (let above = 0; origin.parent !== undefined && above < MAX_ABOVE; above++)
        ({ id: root, origin } = await committedRun(deps, origin.parent.run));
      if (isOfOther(origin, identity)) throw runUnknown(ref.run, store.location);
      return { root, standing: await standingOf(deps, root, state, ref) };
    },
    async claim(run, by, claim) {
      const live = board.find(run)?.live;
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
      if (board.find(run)?.live === undefined) await enter(state);
      const { sent } = options;
      // What was sent to a run that nobody had in hand is on its way: until it is on the log, the task looks open.
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

/** Runs that were started before clients had an identity are anybody's who has their id. */
const isOfOther = (origin: RunOrigin, identity: string): boolean =>
  origin.identity !== undefined && origin.identity !== identity;

const OVER: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

const notForClients = (run: string) =>
  new RuntimeError('not_a_client_run', `Tasks of ${run} are worked on by agents, not by a client.`, {
    hint: 'Start a run of your own with start_workflow.',
  });
