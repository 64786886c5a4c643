import type { Json, JsonObject } from '../kernel/json.ts';
import type { ErrorJson } from '../kernel/runtime-error.ts';
import type { VariableClass } from './value-event.ts';

/** The action that a sub-agent's session stands for. */
export interface ParentRef {
  readonly session: string;
  readonly action: string;
  /** The agents above it by name, from the one that nobody called on: how deep it is. */
  readonly agents: readonly string[];
}

/** The definition that a session is pinned to. */
export interface ManifestPin {
  readonly path: string;
  readonly hash: string;
  readonly code?: true;
  /** Hashes of the scripts, modules and scripted models that it names, by path. A change of one is reported. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Where and when a session began, as its model is told. On the log, so that its prompts are the same after a restart. */
export interface SessionEnvironment {
  /** The day, in UTC: `2026-11-19`. */
  readonly date: string;
  /** The agent's folder, absolute: paths that tools take are relative to it. */
  readonly folder: string;
  /** As Node names it: `linux`, `darwin`, `win32`. */
  readonly platform: string;
}

/** How a session begins, rests, goes on and ends. */
export type LifeEventBody =
  | {
      readonly type: 'session.started';
      readonly agent: string;
      readonly input: string;
      /** Where the manifest was read, and the hash of all it consists of. `code`: parts of it are functions of a program. */
      readonly manifest: ManifestPin;
      readonly model: string;
      readonly parent?: ParentRef;
      /** The session's key, where `protocol.seal` is on. */
      readonly seal?: string;
      /** Absent on logs that were begun before models were told of it. */
      readonly environment?: SessionEnvironment;
      /** Variables given at the start. */
      readonly vars?: JsonObject;
      /** The classes of those that are no runtime variables. */
      readonly classes?: Readonly<Record<string, VariableClass>>;
      /** Whose variables of `key: user` it has, where it has any. */
      readonly user?: string;
      /** The values metadata begins with: defaults, or what the agent's last run left. */
      readonly metadata?: JsonObject;
      /** The fields of metadata that are enums: the states that the agent says it is in. */
      readonly states?: readonly string[];
      readonly balance?: number;
      /** In place of the manifest's `limits.turns`. */
      readonly max_turns?: number;
      /** A final response ends the exchange, not the session: it then waits for the next message. */
      readonly chat?: true;
      /** A run gives it its tasks, and ends it: the agent is told how to complete a step. */
      readonly led?: true;
      /** Where this session was branched off from. */
      readonly forked?: { readonly session: string; readonly seq: number };
    }
  | { readonly type: 'session.completed'; readonly result: Json }
  | { readonly type: 'session.failed'; readonly error: ErrorJson }
  | { readonly type: 'session.stalled'; readonly error: ErrorJson }
  | { readonly type: 'session.cancelled'; readonly reason: string; readonly by: string }
  | {
      readonly type: 'session.resumed';
      readonly by: string;
      /** In place of the limit that the session was started with. */
      readonly max_turns?: number;
      /** In place of the balance that it was started with, where the manifest has another by now. */
      readonly budget?: number;
      /** It goes on as a chat, whatever it was. */
      readonly chat?: true;
      /** What it is pinned to from here on, where its manifest or a file of it has changed. */
      readonly manifest?: ManifestPin;
      /** Files that its manifest names and that have changed since. */
      readonly changed_files?: readonly string[];
    }
  /** `for: 'message'`: a chat has nothing to do until somebody says something. */
  | { readonly type: 'session.waiting'; readonly for: string };
