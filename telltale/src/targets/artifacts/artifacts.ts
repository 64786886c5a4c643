import type { FallbackReason } from '../../kernel/invoke-record.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';

/** One version of an artifact. Versions are never changed and never go away. */
export interface ArtifactVersion {
  readonly name: string;
  /** Counts from 1. */
  readonly version: number;
  readonly language: 'js';
  readonly source: string;
  readonly methods: readonly string[];
  readonly description?: string;
  /** `manifest`, `genesis`, or who wrote it: `agent:NAME`, `user`. */
  readonly author: string;
  /** The version it was made from. */
  readonly parent?: number;
  /** Where an old version was put back. */
  readonly restores?: number;
  readonly at: number;
}

export interface ArtifactDraft {
  readonly name: string;
  readonly source: string;
  readonly methods: readonly string[];
  readonly description?: string;
}

/** The artifacts of a store: shared by all that use it. */
export interface Artifacts {
  /** The newest version, or that one. */
  read(name: string, version?: number): Promise<ArtifactVersion | undefined>;
  /** All versions, oldest first. */
  versions(name: string): Promise<readonly ArtifactVersion[]>;
  names(): Promise<readonly string[]>;
  /** A new version. Rejects with what is wrong with the source, or where `author` may not. */
  write(draft: ArtifactDraft, author: string): Promise<ArtifactVersion>;
  /** Puts an old version back, as a new one. */
  rollback(name: string, to: number, author: string): Promise<ArtifactVersion>;
  /**
   * A manifest's artifact is version 1, where there is none yet. Where the newest version came from a manifest, too, and
   * this one says something else, it is a new version; what somebody else has changed since stays as it is. Where they
   * went back to a manifest's version, what manifests have not said before is a new version, too: whoever went back from
   * something else that a manifest said does not get that again.
   */
  seed(draft: ArtifactDraft): Promise<void>;
}

/** What every decision is given, as the last argument. */
export interface DecisionContext extends JsonObject {
  readonly agent_id: string;
  readonly current_state: string | null;
  readonly step_name: string | null;
  readonly balance: number | null;
  /** Of the last actions or steps that have ended; 1 where there is none. */
  readonly success_rate: number;
  /** The last 10. */
  readonly recent_actions: JsonObject[];
  readonly last_result: Json;
  readonly metadata: JsonObject;
  readonly variables: JsonObject;
}

export interface ArtifactCall {
  readonly artifact: string;
  readonly method: string;
  readonly args: readonly Json[];
  readonly context: DecisionContext;
  /** Of its `Math.random`: the same gives the same answer. */
  readonly seed: string;
  readonly signal: AbortSignal;
  /** Its newest version, where the caller has just read it. */
  readonly newest?: ArtifactVersion | undefined;
}

export type ArtifactAnswer =
  | {
      readonly ok: true;
      readonly value: Json;
      readonly version: number;
      readonly ms: number;
      /**
       * Other artifacts that it asked, and their versions, 0 for one that is missing: the answer holds as long as
       * these are the newest.
       */
      readonly asked?: readonly { readonly artifact: string; readonly version: number }[];
    }
  | {
      readonly ok: false;
      readonly reason: FallbackReason;
      readonly message: string;
      readonly version?: number;
      readonly ms: number;
    };

/** Asks an artifact, in the sandbox. Never rejects but with the signal's reason. */
export type CallArtifact = (call: ArtifactCall) => Promise<ArtifactAnswer>;
