import type { Covered } from '../lib/approved-files.ts';
import type { RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { Model, ModelUsage } from '../models/model.ts';
import type { RunCommand } from './process/command-request.ts';

export type TargetKind = 'tool' | 'agent' | 'relic' | 'workflow' | 'llm' | 'artifact' | 'internal';

/** What a call of a model used. */
export interface ChargedUsage extends ModelUsage {
  /** true where the provider gave no figures and they were counted here. */
  readonly estimated?: true;
}

/** One try of an action, as a target gets it. Its methods are called on it: calls may share them. */
export interface TargetCall {
  readonly session: string;
  /** The action's id. */
  readonly id: string;
  /** Resolved parameters; already checked against the target's schema. */
  readonly input: JsonObject;
  /** From 1 on. */
  readonly attempt: number;
  /** Aborted on time-out and cancellation; `run` must then end soon. */
  readonly signal: AbortSignal;
  /** The same for every try of one action, also after a restart. */
  readonly idempotencyKey: string;
  /** The frozen `${agent.*}` snapshot, made when it is asked for. */
  agent(): JsonObject;
  /** Partial results, shown live. */
  progress(data: Json): void;
  /** What a call of a model used; called before `run` ends, also where it fails. */
  charge?(usage: ChargedUsage, model: Model): void;
  /** What a person approved for this action: the `grants` of its `Need`. */
  readonly granted?: readonly string[] | undefined;
  /** The model that a prompt is to ask, in place of its own. */
  readonly model?: string | undefined;
  /** Puts a note on the session's log, each text once a session. */
  note?(what: string): void;
}

/** What a person has to approve before a call may start. */
export interface Need extends Covered {
  /** `tool "deploy"`. */
  readonly target: string;
  /** What it would do, in a few words. */
  readonly what: string;
  /** What of the manifest demands it. */
  readonly because: string;
  /** What the approval is for, as `run` will look for it: a call that turns out to do something else is refused. */
  readonly grants: readonly string[];
  /**
   * What it may be approved for, for the rest of a session: the `key` is the same for all calls that are covered. Absent
   * where each call has to be asked about.
   */
  readonly always?: { readonly key: string; readonly covers: string };
}

/** One of the things that a target with an `operation` parameter can do. */
export interface TargetOperation {
  /** The model reads it: half a sentence. */
  readonly description: string;
  /** JSON Schemas by name. */
  readonly parameters: Readonly<Record<string, JsonObject>>;
  readonly required?: readonly string[];
  /** Whether it may be made again after a crash; where that depends on the parameters, what they say. */
  readonly idempotent: boolean | ((input: JsonObject) => boolean);
}

/** Something an action can call. */
export interface Target {
  readonly kind: TargetKind;
  readonly name: string;
  readonly description: string;
  /** JSON Schema (2020-12) of the parameters; the model reads it. */
  readonly parameters: JsonObject;
  /** Where "operation" chooses what it does: what each takes. */
  readonly operations?: Readonly<Record<string, TargetOperation>> | undefined;
  /** The operation of a call that names none. */
  readonly byDefault?: string | undefined;
  /** A call that only reads, what it could return and what to make of that: the example in the prompt. */
  readonly example?: { readonly input: JsonObject; readonly output: Json; readonly answer: string };
  /** Whether it may be run again after a crash. */
  readonly idempotent: boolean;
  /** Where that depends on the parameters: counts in place of `idempotent`. */
  idempotentFor?(input: JsonObject): boolean;
  readonly start: 'on_close' | 'on_turn_end';
  /** Whether an async call of it runs in the background: no turn waits for it. */
  readonly background?: boolean;
  /**
   * Where only so many calls of it run at once, over all sessions and runs: whoever calls `run` has taken one of these
   * slots before, and gives it back afterwards. The key is by its name: agents with a tool of that name share them.
   */
  readonly slots?: { readonly key: string; readonly max: number } | undefined;
  /** Time for each try, unless the action sets its own. */
  readonly timeoutMs?: number;
  /** How long it may take to stop once its signal is aborted, where it needs more than most. */
  readonly graceMs?: number;
  /** The parameters as they are meant, where they leave out the operation. Hooks, people and the log see these. */
  inFull?(input: JsonObject): JsonObject;
  /** What is wrong with the parameters, with the path; undefined if nothing is. */
  check(input: JsonObject): RuntimeError | undefined;
  /**
   * What a person has to approve before this call may start; throws or rejects where it may not be made at all. Absent
   * where no call of it ever has to be asked for. Without the approval `run` refuses.
   */
  needs?(input: JsonObject, context: Pick<TargetCall, 'agent'>): Need | undefined | Promise<Need | undefined>;
  /**
   * The hash of what a call would run, as it is now: its manifest, and the files that are its code. An approval is of
   * this definition and of no other. Absent where it is part of the runtime.
   */
  definition?(): string;
  /** Rejects with a RuntimeError, or with whatever a user's code throws. The result is plain JSON of bounded size. */
  run(call: TargetCall): Promise<Json>;
}

/** All that the actions of one agent can call. */
export interface TargetTable {
  find(kind: TargetKind, name: string): Target | undefined;
  /** In the order of the manifest. */
  readonly all: readonly Target[];
  /** Runs a program under the same permissions as the agent's command tools. */
  readonly command: RunCommand;
  /** Ends what outlives a call (servers, connections). */
  close(): Promise<void>;
}

/** A person's word, and whose it is. */
export interface Answer {
  readonly approved: boolean;
  /** Approved for the rest of the session, where the question offers that. */
  readonly always?: boolean;
  /** Which of the options that a workflow's step gives. */
  readonly choice?: string;
  readonly by?: string;
  readonly note?: string;
}

/** Asks a person; resolves with their word. The signal is aborted once the answer no longer matters. */
export type Approve = (
  question: Covered & {
    readonly what: string;
    readonly target: string;
    readonly input: JsonObject;
    /** What the answer `always` covers for the rest of the session. Absent where it is not offered. */
    readonly always?: string;
    /** What has changed since it was approved before, where it was: that approval counts no longer. */
    readonly changed?: readonly string[];
    readonly signal: AbortSignal;
  },
) => Promise<boolean | Answer>;
