import type { Covered } from '../lib/approved-files.ts';
import type { RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { Model, ModelUsage } from '../models/model.ts';
import type { RunCommand } from './process/command-request.ts';

export type TargetKind = 'tool' | 'agent' | 'relic' | 'workflow' | 'llm' | 'artifact' | 'internal';

/** The usage of a model call. */
export interface ChargedUsage extends ModelUsage {
  /** true if the provider reported no figures and they were estimated. */
  readonly estimated?: true;
}

/**
 * One attempt of an action, as its target sees it. Call its methods on the object itself, because calls may share them.
 */
export interface TargetCall {
  readonly session: string;
  /** The action's id. */
  readonly id: string;
  /** Parameters with references resolved, already checked against the target's schema. */
  readonly input: JsonObject;
  /** Counts from 1. */
  readonly attempt: number;
  /** Aborted on timeout and cancellation. `run` must then end soon. */
  readonly signal: AbortSignal;
  /** The same for every attempt of an action, also after a restart. */
  readonly idempotencyKey: string;
  /** The frozen `${agent.*}` snapshot. It is created when it is first read. */
  agent(): JsonObject;
  /** Reports a partial result, which is shown live. */
  progress(data: Json): void;
  /** Reports the usage of a model call. Called before `run` ends, even if it fails. */
  charge?(usage: ChargedUsage, model: Model): void;
  /** What a person approved for this action: the `grants` of its approval. */
  readonly granted?: readonly string[] | undefined;
  /** The model that a prompt should use instead of its own. */
  readonly model?: string | undefined;
  /** Puts a note on the session's log, each text once per session. */
  note?(what: string): void;
}

/** What a person has to approve before a call may start. */
export interface ApprovalNeed extends Covered {
  /** The target's name for messages: `tool "deploy"`. */
  readonly target: string;
  /** What the call would do, in a few words. */
  readonly what: string;
  /** The part of the manifest that requires the approval. */
  readonly because: string;
  /** The grants that the approval gives. `run` checks them and refuses a call that does something else. */
  readonly grants: readonly string[];
  /**
   * An approval for the rest of the session. The `key` is the same for all calls that it covers. Absent if each call
   * needs its own approval.
   */
  readonly always?: { readonly key: string; readonly covers: string };
}

/** One of the operations of a target with an `operation` parameter. */
export interface TargetOperation {
  /** The model reads this half sentence. */
  readonly description: string;
  /** JSON Schemas by parameter name. */
  readonly parameters: Readonly<Record<string, JsonObject>>;
  readonly required?: readonly string[];
  /** Whether it may be repeated after a crash. A function if that depends on the parameters. */
  readonly idempotent: boolean | ((input: JsonObject) => boolean);
}

/** Something an action can call: a tool, an agent, a relic, a workflow, a prompt or an artifact. */
export interface Target {
  readonly kind: TargetKind;
  readonly name: string;
  readonly description: string;
  /** JSON Schema (2020-12) of the parameters. The model reads it. */
  readonly parameters: JsonObject;
  /** The operations, if an "operation" parameter chooses one. */
  readonly operations?: Readonly<Record<string, TargetOperation>> | undefined;
  /** The operation of a call that names none. */
  readonly byDefault?: string | undefined;
  /** An example for the prompt: a read-only call, its result, and an answer based on it. */
  readonly example?: { readonly input: JsonObject; readonly output: Json; readonly answer: string };
  /** Whether it may be repeated after a crash. */
  readonly idempotent: boolean;
  /** Replaces `idempotent` if that depends on the parameters. */
  idempotentFor?(input: JsonObject): boolean;
  readonly start: 'on_close' | 'on_turn_end';
  /** Whether an async call runs in the background, so that no turn waits for it. */
  readonly background?: boolean;
  /**
   * Limits the calls that run at the same time, across all sessions and runs. Whoever calls `run` must have acquired
   * one of these slots and releases it afterwards. The key is the name, so agents with a tool of the same name share
   * the slots.
   */
  readonly slots?: { readonly key: string; readonly max: number } | undefined;
  /** The time limit of each attempt, unless the action sets its own. */
  readonly timeoutMs?: number;
  /** How long it may take to stop after its signal is aborted, if it needs more than the default. */
  readonly graceMs?: number;
  /** Adds an omitted operation to the parameters. Hooks, people and the log see the result. */
  inFull?(input: JsonObject): JsonObject;
  /** Returns what is wrong with the parameters, with the path. Undefined if they are fine. */
  check(input: JsonObject): RuntimeError | undefined;
  /**
   * Returns what a person has to approve before this call may start. Throws or rejects if the call is not allowed at
   * all. Absent if no call ever needs approval. Without the approval, `run` refuses.
   */
  needs?(
    input: JsonObject,
    context: Pick<TargetCall, 'agent'>,
  ): ApprovalNeed | undefined | Promise<ApprovalNeed | undefined>;
  /**
   * A hash of what a call would run at this moment: its manifest and its code files. An approval covers this definition
   * only. Absent for built-in targets.
   */
  definition?(): string;
  /** Rejects with a RuntimeError, or with whatever a user's code throws. The result is plain JSON of limited size. */
  run(call: TargetCall): Promise<Json>;
}

/** Everything that the actions of one agent can call. */
export interface TargetTable {
  find(kind: TargetKind, name: string): Target | undefined;
  /** In the order of the manifest. */
  readonly all: readonly Target[];
  /** Runs a program with the same permissions as the agent's command tools. */
  readonly command: RunCommand;
  /** Closes whatever outlives a call, such as servers and connections. */
  close(): Promise<void>;
}

/** A person's decision about an approval. */
export interface Answer {
  readonly approved: boolean;
  /** Approved for the rest of the session, if that was offered. */
  readonly always?: boolean;
  /** The chosen option of a workflow step. */
  readonly choice?: string;
  readonly by?: string;
  readonly note?: string;
}

/** Asks a person and resolves with the decision. The signal is aborted once the decision no longer matters. */
export type Approve = (
  question: Covered & {
    readonly what: string;
    readonly target: string;
    readonly input: JsonObject;
    /** What `always` would cover for the rest of the session. Absent if it is not offered. */
    readonly always?: string;
    /** What has changed since an earlier approval, which no longer counts. */
    readonly changed?: readonly string[];
    readonly signal: AbortSignal;
  },
) => Promise<boolean | Answer>;
