import { isOwnFeed } from '../../feeds/feed.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import { type DeclaredAction, idFor, isShown, newestOf } from '../../log/action.ts';
import type { EventBody } from '../../log/event.ts';
import type { SessionState } from '../../log/state.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { Memory } from '../../memory/memory.ts';
import type { RollbackResult } from '../../scheduler/scheduler-deps.ts';
import type { Target } from '../../tools/target.ts';
import type { FeedService } from '../feeds/feed-service.ts';
import type { CompleteStep } from '../guided/complete-step.ts';
import type { OpenArtifactStore } from '../open-artifact-store.ts';
import type { SetVariable } from '../variables/session-variables.ts';

/** What internal actions have of their session. */
export interface InternalDeps {
  readonly state: SessionState;
  readonly manifest: AgentManifest;
  readonly append: (body: EventBody) => unknown;
  readonly setVariable: SetVariable;
  readonly artifactStore: OpenArtifactStore;
  /** Undoes what was asked for before the action `own`, which asks for it, until the signal is aborted. */
  readonly rollback: (to: string | undefined, own: string, signal: AbortSignal) => Promise<RollbackResult>;
  /** Stops an action that has not ended; resolves when it has. */
  readonly cancel: (id: string, reason: string) => Promise<void>;
  /** The feeds of the session; rejects where it has none. */
  readonly feeds: () => Promise<FeedService>;
  /** What is known of the code base; rejects where the agent has no memory. */
  readonly memory: () => Promise<Memory>;
  /** Of a session that is led; of another it rejects. */
  readonly completeStep: CompleteStep;
}

/** An action on the agent's own environment. */
export interface Definition {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly idempotent: boolean;
  /** Time for it, where that is not the agent's `limits.action_timeout`. */
  readonly timeoutMs?: number;
  /** Why an agent has no use for it, so that it is not offered; absent, or undefined: it has. */
  useless?(manifest: AgentManifest): string | undefined;
  /** Whether the prompt of this agent teaches it; absent: always. It can be called all the same. */
  isTaught?(manifest: AgentManifest, targets: readonly Pick<Target, 'kind' | 'name'>[]): boolean;
  /** What the model reads in place of `parameters`, which still judge each call. */
  readonly shownParameters?: JsonObject;
  /** The input with our names where it has those of another system; an error where it is unclear what is meant. */
  underOurNames?(input: JsonObject): JsonObject | RuntimeError;
  /** The same, where it depends on the agent. */
  shownTo?(manifest: AgentManifest): JsonObject;
  /** `own` is the id of the action that calls it; `signal` is aborted when it is to stop. */
  run(input: JsonObject, deps: InternalDeps, own: string, signal: AbortSignal): Promise<Json>;
}

const SUGGESTED = 20;

export function noSuchAction(id: string, state: SessionState): RuntimeError {
  const shown = [...state.actions.values()].map(({ action }) => action).filter(isShown);
  const known = newestOf(state, id);
  const several = shown.filter(({ base, group, within }) => [base, group, ...(within ?? [])].includes(known));
  const idsOf = (some: readonly DeclaredAction[]) =>
    some.map((action) => idFor(state, action.id)).slice(-SUGGESTED);
  return new RuntimeError('action_unknown', `No action has the id "${id}".`, {
    hint:
      several.length > 0
        ? `It stands for several; name one of them: ${idsOf(several).join(', ')}.`
        : suggest(id, idsOf(shown), 'The latest ids'),
  });
}

/** What a model may say of a feed; the manifest's own schema has the last word. */
export const DEFINITION_PROPERTIES: JsonObject = {
  type: { enum: ['on_demand', 'periodic'] },
  interval: {
    type: ['number', 'string'],
    description: 'Seconds, or "5m": loaded that often, as "type": "periodic".',
  },
  source: {
    type: 'object',
    description:
      '{"type": "tool" | "relic" | "llm" | "mcp" | "agent" | "file" | "repo" | "http" | "metadata", "name": "…", "action": "…", "params": {}} or {"type": "internal", "action": "system_clock" | "random" | "env" | "metadata" | "history" | "metrics" | "session_stats" | "debug_context"}',
  },
  cache_ttl: { type: ['number', 'string'], description: 'How long a value counts as fresh.' },
  max_tokens: { type: 'integer', minimum: 1 },
  enabled: { type: ['boolean', 'string'], description: 'false: not loaded.' },
  transform: {
    type: 'array',
    items: { type: 'object' },
    description: 'A chain of {"jsonpath"}, {"cel"}, {"head"}, {"tail"}, {"lines"}, {"template"}.',
  },
  refs: { type: 'array', items: { type: 'string' }, description: 'Feeds that are loaded first.' },
  inject: {
    enum: ['start', 'each_turn', 'on_change', 'reference'],
    description: 'When you see it; reference: only where $ID names it.',
  },
  on_error: { enum: ['omit', 'stale', 'show'] },
};

/** Agents without feeds need not read of the actions on them; they can call them all the same. */
export const hasFeeds = ({ context_feeds: feeds }: Pick<AgentManifest, 'context_feeds'>): boolean =>
  feeds.some(isOwnFeed);
