import type { SessionState } from '../../events/state.ts';
import type { FieldMetrics } from '../../events/state-metrics.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { LoadTokenizer } from '../../kernel/tokenizer.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { AgentTargets } from '../../targets/create-targets.ts';
import type { TargetCall } from '../../targets/target.ts';

type Used = Parameters<NonNullable<TargetCall['charge']>>;

/** What the sources of one session's feeds have of the world. */
export interface SourceDeps {
  readonly agent: Pick<AgentManifest, 'model' | 'models'>;
  /** The session as it is at the time of each load. */
  readonly state: SessionState;
  readonly targets: Pick<AgentTargets, 'find' | 'all' | 'deps'>;
  /** `${agent.*}`. */
  readonly agentView: () => JsonObject;
  readonly tokenizer: LoadTokenizer;
  /** Runs a workflow to its end; its output. */
  readonly runWorkflow: (
    name: string,
    params: JsonObject,
    signal: AbortSignal,
    feed: string,
  ) => Promise<Json>;
  /** The metadata of another agent as it last was, by `onlyCalled` for this session; undefined where it has never run. */
  readonly agentMetadata: (name: string, onlyCalled: boolean) => Promise<JsonObject | undefined>;
  /** What the session spent in each value of its enum fields; without it `metrics` gives the totals alone. */
  readonly stateMetrics?: () => Promise<readonly FieldMetrics[]>;
  /** Whether the model brought the feed in, or one that it is made of: it may then only make calls that change nothing. */
  readonly isModels?: (feed: string) => boolean;
  /** Takes one of the slots of a target that has a limit; what it gives, gives it back. */
  readonly takeSlot: (key: string, max: number, signal: AbortSignal) => (() => void) | Promise<() => void>;
  /** What a feed's call of a model used. */
  readonly charge?: (feed: string, ...used: Used) => void;
  /** Puts a note on the session's log, each text once. */
  readonly note?: (what: string) => void;
}
