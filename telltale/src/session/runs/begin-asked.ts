import type { RunOrigin } from '../../events/run-event.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { AgentManifest, WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { BegunRun } from '../outside/begun-run.ts';
import { handGate } from '../outside/hand-gate.ts';
import type { Turns } from '../outside/turns.ts';
import { classOf } from '../variables/declared-variables.ts';
import { checkGiven } from '../variables/start-variables.ts';
import { handOver } from './hand-over.ts';
import { keptVariables } from './kept-variables.ts';
import { createLiveRun } from './live-run.ts';
import { makeInTurn } from './make-in-turn.ts';
import type { NewRun } from './new-run.ts';
import { beginRun } from './open-run.ts';
import type { RunBoard } from './run-board.ts';
import type { RunsDeps } from './run-edges.ts';
import type { LoadedWorkflow, RunOptions } from './run-types.ts';

/** Begins a run that somebody asked for, or a trigger that belongs to no session: a hook, a schedule. */
export function beginAsked(
  deps: RunsDeps & { readonly board: RunBoard; readonly turns: Turns },
  { manifest, agent }: LoadedWorkflow<unknown>,
  { input = {}, vars, id: asked, signal, onWaiting, queued = false }: RunOptions<unknown> = {},
  of: Pick<RunOrigin, 'trigger'> = {},
): BegunRun {
  const { board, engine, ids } = deps;
  const id = asked ?? ids.next('run');
  const make = async () => {
    if (vars !== undefined) checkVars(manifest, agent.manifest, vars);
    const run: NewRun = {
      id,
      workflow: manifest,
      ground: { agent },
      input: input as JsonObject,
      vars,
      balance: agent.manifest.budget?.balance,
      origin: { ...of, chain: [manifest.name], agents: [agent.manifest.name] },
    };
    const gate = handGate(manifest, agent.manifest.name, run.origin);
    const isOurs = asked === undefined && !queued && gate === undefined && keptVariables(run).length === 0;
    const held = isOurs ? beginRun(deps, run) : await makeInTurn(deps, gate, run);
    if (queued) return handOver(held);
    const entry = board.entry(id);
    entry.ground = { agent };
    entry.fresh = held;
    engine.place('run', id, 'here');
    await held.made;
  };
  const made = make();
  const run = createLiveRun(deps, id, made, { onWaiting, signal });
  if (queued) made.then(run.interrupt, () => undefined).then(() => board.forget(id));
  return { run, made };
}

/** Variables are given as to a session: who declares one says whether users may set it, the workflow before its agent. */
function checkVars(workflow: WorkflowManifest, agent: AgentManifest, vars: JsonObject): void {
  for (const [name, value] of Object.entries(vars))
    checkGiven(classOf(workflow, name) === undefined ? agent : workflow, { [name]: value }, 'user');
}
