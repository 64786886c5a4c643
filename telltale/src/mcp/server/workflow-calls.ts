import { isDeepStrictEqual } from 'node:util';
import type { LoadedAgent } from '../../agent/loaded-agent.ts';
import type { ClientRuns, ClientView } from '../../agent/runs/client-worker.ts';
import { findWorkflow } from '../../agent/runs/find-workflow.ts';
import { isManual, type LoadedWorkflow, workflowsOf } from '../../agent/runs/run-types.ts';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { mcpIdentity } from '../../lib/ids.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import { checkClaim } from '../../workflows/guided/check-claim.ts';
import type { AgentToolsToolAnswer } from './agent-tools.ts';
import {
  claimHoldsToken,
  holdsToken,
  type KeyRing,
  readToken,
  signToken,
  type TokenClaims,
  type TokenKeys,
  tokenForeign,
  tokenReplayed,
  tokenStale,
} from './continue-token.ts';

export interface WorkflowCallDeps {
  readonly catalog: ServeCatalog;
  readonly runs: ClientRuns;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
  readonly tokenTtlMs: number;
  /** How long a call waits for what the runtime does itself. */
  readonly waitMs: number;
}

/** One call of a client. */
export interface ClientCall {
  /** The name that the client gives itself: shown, and never trusted. */
  readonly client: string;
  /** Whose key it has. */
  readonly identity: string;
  readonly signal?: AbortSignal | undefined;
  /** Steps that have completed, while the call waits. */
  readonly onMoved?: ((done: number) => void) | undefined;
}

export interface StartArguments {
  readonly workflow: string;
  readonly goal?: string;
  readonly input?: JsonObject;
}

export interface ContinueArguments {
  readonly continueToken?: Json;
  readonly notes?: Json;
  readonly context_updates?: Json;
  readonly artifacts?: Json;
}

/** What the tools for workflows do. Everything is judged before anything is written. */
export interface WorkflowCalls {
  start(args: StartArguments, call: ClientCall): Promise<AgentToolsToolAnswer>;
  continue(args: ContinueArguments, call: ClientCall): Promise<AgentToolsToolAnswer>;
  resume(run: string | undefined, call: ClientCall): Promise<AgentToolsToolAnswer>;
}

export function createWorkflowCalls(deps: WorkflowCallDeps): WorkflowCalls {
  const { catalog, runs, keyRing, clock, waitMs } = deps;

  const answer = async (run: string, { identity, signal, onMoved }: ClientCall, sent?: TokenClaims) => {
    const view = await runs.settle(run, {
      identity,
      waitMs,
      signal,
      sent,
      ...(onMoved === undefined ? {} : { onMoved }),
    });
    return workflowAnswer(run, view, { ...deps, keys: await keyRing.keys() });
  };

  return {
    async start({ workflow, goal, input = {} }, call) {
      const found = workflowIn(catalog, workflow);
      const given = goal === undefined || Object.hasOwn(input, 'goal') ? input : { ...input, goal };
      return answer(
        await runs.start(found, { client: call.client, identity: call.identity, input: given }),
        call,
      );
    },
    async continue({ continueToken, ...sent }, call) {
      const claims = readToken(continueToken, await keyRing.keys(), clock.now());
      const { root, standing } = await standingOf(runs, claims, call.identity);
      switch (standing.kind) {
        case 'passed':
          throw tokenReplayed(root);
        case 'withdrawn':
          throw tokenStale(root, standing.why);
        case 'accepted':
          return noting(await answer(root, call), isSame(standing.task.claim, sent));
        case 'open': {
          const refusal = holdsToken(JSON.stringify(sent))
            ? claimHoldsToken()
            : checkClaim(standing.task, sent);
          if (refusal !== undefined) throw refusal;
          const { step, attempt, nth } = claims;
          const how = await runs.claim(claims.run, mcpIdentity(call.identity, call.client), {
            step,
            attempt,
            nth,
            ...checked(sent),
          });
          const answered = await answer(root, call, claims);
          // Another call may have been quicker.
          return noting(answered, how === 'counts' || isSame(await runs.claimed(claims), sent));
        }
      }
    },
    async resume(run, call) {
      if (run !== undefined) return answer(run, call);
      const open = await runs.open(call.client, call.identity);
      return {
        structured: {
          runs: open.map(({ startedAt, ...each }) => ({
            ...each,
            started: new Date(startedAt).toISOString(),
          })),
        },
      };
    },
  };
}

/** A token that fits no run of this store was given out by another one, or to a client with another key. */
async function standingOf(runs: ClientRuns, claims: TokenClaims, identity: string) {
  try {
    return await runs.standing(claims, identity);
  } catch (thrown) {
    throw thrown instanceof RuntimeError && thrown.code === 'run_unknown' ? tokenForeign() : thrown;
  }
}

/** What `checkClaim` has passed. */
const checked = ({
  notes,
  context_updates = {},
  artifacts = [],
}: Omit<ContinueArguments, 'continueToken'>) => ({
  notes: String(notes),
  context_updates: context_updates as JsonObject,
  artifacts: artifacts as readonly Json[],
});

const isSame = (
  claim:
    | { readonly notes: string; readonly context_updates: JsonObject; readonly artifacts: readonly Json[] }
    | undefined,
  sent: Omit<ContinueArguments, 'continueToken'>,
): boolean => {
  if (claim === undefined) return true;
  const { notes, context_updates, artifacts } = claim;
  return isDeepStrictEqual({ notes, context_updates, artifacts }, checked(sent));
};

/** A step is completed once: what was sent for it before counts. */
const noting = (answer: AgentToolsToolAnswer, isSameAsBefore: boolean): AgentToolsToolAnswer =>
  isSameAsBefore
    ? answer
    : {
        ...answer,
        structured: {
          ...answer.structured,
          notice:
            'This step had been accepted already, with other content, which counts. Nothing was changed.',
        },
      };

export interface AnswerDeps {
  readonly keys: TokenKeys;
  readonly clock: Pick<Clock, 'now'>;
  readonly tokenTtlMs: number;
}

/** What a client is told of its run. The same for the same state of the run's log, its token included. */
function workflowAnswer(run: string, view: ClientView, deps: AnswerDeps): AgentToolsToolAnswer {
  switch (view.kind) {
    case 'task':
      return { structured: { run, isComplete: false, ...inHand(view, deps) } };
    case 'waiting':
    case 'busy':
      return { structured: { run, isComplete: false, waitingFor: waitingFor(run, view) } };
    case 'completed':
      return { structured: { run, isComplete: true, output: view.output } };
    case 'failed':
      return { structured: { run, isComplete: false, error: view.error as unknown as Json }, isError: true };
    case 'cancelled': {
      const error = { code: 'cancelled', message: `The run was cancelled: ${view.reason}`, retryable: false };
      return { structured: { run, isComplete: false, error }, isError: true };
    }
  }
}

/** The token is as old as the question: who asks again within its time gets the same one. */
function inHand(
  { run, task }: Extract<ClientView, { readonly kind: 'task' }>,
  { keys, clock, tokenTtlMs }: AnswerDeps,
): JsonObject {
  const { step, attempt, nth, prompt, requires, accepts, again, at } = task;
  const now = clock.now();
  const expiresAt = (at + tokenTtlMs > now ? at : now) + tokenTtlMs;
  return {
    continueToken: signToken({ run, step, attempt, nth, expiresAt }, keys.current),
    step: {
      prompt,
      ...(again === undefined ? {} : { instruction: again.text }),
      ...(isEmpty(requires) ? {} : { requires }),
      ...(isEmpty(accepts) ? {} : { accepts }),
    },
  };
}

function waitingFor(
  run: string,
  view: Extract<ClientView, { readonly kind: 'waiting' | 'busy' }>,
): JsonObject {
  const later = `Call resume_session {"run": "${run}"} later.`;
  if (view.kind === 'busy')
    return { what: 'steps that this server does itself', hint: `They take a while. ${later}` };
  const { for: what, due, reviews } = view;
  return {
    what: reviews.length > 0 ? 'a person' : what,
    ...(due === undefined ? {} : { until: new Date(due).toISOString() }),
    ...(reviews.length === 0
      ? {}
      : {
          reviews: reviews.map(({ review, prompt, options }) => ({ review, prompt, options: [...options] })),
        }),
    hint:
      reviews.length > 0
        ? `A person has to answer, for example with: telltale reviews approve ${reviews[0]?.review ?? ''}. ${later}`
        : later,
  };
}

const isEmpty = (map: object): boolean => Object.keys(map).length === 0;

/** What a server offers. */
export interface ServeCatalog {
  readonly agents: readonly LoadedAgent<unknown>[];
  /** By the name that clients use: the workflow's own, or `AGENT/NAME` where several agents have different ones of it. */
  readonly workflows: ReadonlyMap<string, LoadedWorkflow<unknown>>;
}

/** Agents are unique by name. A workflow that several of them import is served once, in the name of the first. */
export function createServeCatalog(agents: readonly LoadedAgent<unknown>[]): ServeCatalog {
  const byName = new Map<string, LoadedAgent<unknown>>();
  for (const agent of agents) {
    const { name } = agent.manifest;
    const other = byName.get(name);
    if (other === undefined) byName.set(name, agent);
    else if (other.path !== agent.path) throw agentTwice(name, [other.path, agent.path]);
  }
  const served = [...byName.values()];
  const variants = new Map<string, LoadedWorkflow<unknown>[]>();
  for (const agent of served)
    for (const [name, manifest] of workflowsOf(agent)) {
      if (!isManual(manifest)) continue;
      const known = variants.get(name) ?? [];
      variants.set(name, known);
      const isKnown = known.some((each) => JSON.stringify(each.manifest) === JSON.stringify(manifest));
      if (!isKnown) known.push(findWorkflow(agent, name));
    }
  const workflows = [...variants].flatMap(([name, all]) =>
    all.map((each) => [all.length === 1 ? name : `${each.agent.manifest.name}/${name}`, each] as const),
  );
  return { agents: served, workflows: new Map(workflows) };
}

export function workflowIn({ workflows }: ServeCatalog, name: string): LoadedWorkflow<unknown> {
  const found = workflows.get(name);
  if (found !== undefined) return found;
  throw new RuntimeError('no_workflow', `No workflow is named "${name}".`, {
    hint:
      workflows.size === 0
        ? 'This server offers none.'
        : `${suggest(name, [...workflows.keys()], 'Workflows')} list_workflows says more of them.`,
  });
}

const agentTwice = (name: string, paths: readonly string[]) =>
  new RuntimeError('usage', `Two agents are named "${name}": in ${paths.join(' and ')}.`, {
    hint: 'Serve them by servers of their own, or give one of them another name.',
  });
