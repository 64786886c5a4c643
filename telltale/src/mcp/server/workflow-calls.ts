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
  /** How long a call waits for steps that the runtime executes itself. */
  readonly waitMs: number;
}

/** One call of a client. */
export interface ClientCall {
  /** The client's own name for itself. It is shown, but never trusted. */
  readonly client: string;
  /** The owner of its token. */
  readonly identity: string;
  readonly signal?: AbortSignal | undefined;
  /** Called while the call waits, with the number of completed steps. */
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

/** Implements the workflow tools. Everything is checked before anything is written. */
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

/** The claim after `checkClaim` has accepted it. */
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

/** A step is completed once, so what was sent first counts. */
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

/** The answer for a client. It is the same for the same state of the run's log, including its token. */
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

/** The token's age is that of the question, so a repeated request within its lifetime returns the same token. */
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
    return { what: 'steps that this server executes itself', hint: `They take a while. ${later}` };
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
  /**
   * By the name that clients use: the workflow's own, or `AGENT/NAME` if several agents have different workflows of
   * that name.
   */
  readonly workflows: ReadonlyMap<string, LoadedWorkflow<unknown>>;
}

/** Agents must have unique names. A workflow that several agents import is served once, for the first of them. */
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
        ? 'This server has no workflows.'
        : `${suggest(name, [...workflows.keys()], 'Workflows')} list_workflows describes them.`,
  });
}

const agentTwice = (name: string, paths: readonly string[]) =>
  new RuntimeError('usage', `Two agents are named "${name}": in ${paths.join(' and ')}.`, {
    hint: 'Serve them with separate servers, or rename one of them.',
  });
