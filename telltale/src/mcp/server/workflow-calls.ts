import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../kernel/clock.ts';
import { mcpIdentity } from '../../kernel/identity.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { ClientRuns } from '../../session/runs/client-types.ts';
import { checkClaim } from '../../workflows/guided/check-claim.ts';
import { holdsToken, readToken, type TokenClaims } from './continue-token.ts';
import { type ServeCatalog, workflowIn } from './serve-catalog.ts';
import { claimHoldsToken, tokenForeign, tokenReplayed, tokenStale } from './token-errors.ts';
import type { KeyRing } from './token-keys.ts';
import type { ToolAnswer } from './tool-answer.ts';
import { workflowAnswer } from './workflow-answer.ts';

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
  start(args: StartArguments, call: ClientCall): Promise<ToolAnswer>;
  continue(args: ContinueArguments, call: ClientCall): Promise<ToolAnswer>;
  resume(run: string | undefined, call: ClientCall): Promise<ToolAnswer>;
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
const noting = (answer: ToolAnswer, isSameAsBefore: boolean): ToolAnswer =>
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
