import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { z } from 'zod';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { WrittenStep } from '../../manifest/schema/steps/step.ts';
import type { workflow } from '../../manifest/schema/workflow.ts';

interface About {
  /** The name that invocations use. */
  readonly name: string;
  readonly version?: string;
  /** What it decides. */
  readonly description?: string;
}

/**
 * A function whose text becomes part of the artifact's source. It runs in the sandbox with the invocation's
 * `args` and a `DecisionContext`. It cannot use outer variables, only its arguments and the artifact's other
 * methods.
 */
// biome-ignore lint/suspicious/noExplicitAny: what an invocation's `args` are stands where the artifact is asked.
export type ArtifactMethod = (...args: any[]) => unknown;

/** An artifact written in code, as source text or as plain functions. */
export type ArtifactDefinition = About &
  (
    | {
        /**
         * JavaScript that defines the methods, or without methods the text of a prompt
         * (`prompt_artifact_id`).
         */
        readonly source: string;
        readonly methods?: Readonly<Record<string, { readonly description?: string }>>;
      }
    | {
        readonly source?: never;
        readonly methods: Readonly<
          Record<string, ArtifactMethod | { readonly description?: string; readonly run: ArtifactMethod }>
        >;
      }
  );

/** An artifact for use in agents. It is checked with the first agent that uses it. */
export interface DefinedArtifact {
  readonly kind: 'Artifact';
  readonly name: string;
  readonly definition: object;
}

/**
 * Defines sandboxed code that makes decisions. The store keeps its versions, as for artifacts in manifests.
 */
export function defineArtifact(definition: ArtifactDefinition): DefinedArtifact {
  return Object.freeze({
    kind: 'Artifact',
    name: definition.name,
    definition: Object.freeze({ ...definition }),
  });
}

/** An operation of a relic. `Of` is the output of its schema, and unknown for a JSON Schema. */
export interface RelicOperation<Of = JsonObject> {
  /** The model reads it: half a sentence. */
  readonly description: string;
  /** The schema of an object. Without it the operation takes no parameters. */
  readonly parameters?: StandardSchemaV1<unknown, Of> | (JsonObject & { readonly '~standard'?: never });
  /** The JSON Schema of `parameters` that the model reads, if the library cannot convert the schema. */
  readonly jsonSchema?: JsonObject;
  /** true: may run again after a crash. */
  readonly idempotent?: boolean;
  readonly run: (parameters: unknown extends Of ? JsonObject : Of, context: ToolContext) => unknown;
}

export interface RelicDefinition<Operations> {
  readonly name: string;
  /** What it stores. The model reads this. */
  readonly description?: string;
  /** Sessions are pinned to it, as for tools. */
  readonly version?: string;
  readonly operations: { readonly [Name in keyof Operations]: RelicOperation<Operations[Name]> };
  /** The operation of a call that names none. */
  readonly default?: keyof Operations & string;
  /** Resolves if the service works. It is the operation `health`. Without it the relic counts as healthy. */
  readonly health?: (context: ToolContext) => unknown;
  /** true: every operation may be run again after a crash. */
  readonly idempotent?: boolean;
  readonly approval?: 'always' | 'never';
  readonly timeout?: Quantity;
}

/** A relic for use in agents. It is checked with the first agent that uses it. */
export interface DefinedRelic {
  readonly kind: 'Relic';
  readonly name: string;
  readonly definition: object;
}

/** An operation without its types. */
export interface KeptOperation {
  readonly description?: string;
  readonly parameters?: Schema;
  readonly jsonSchema?: JsonObject;
  readonly idempotent?: boolean;
  readonly run?: (parameters: unknown, context: unknown) => unknown;
}

/** Defines a service of the program that outlives sessions. Operations are typed by their schemas. */
export function defineRelic<Operations>(definition: RelicDefinition<Operations>): DefinedRelic {
  return Object.freeze({
    kind: 'Relic',
    name: definition.name,
    definition: Object.freeze({ ...definition }),
  });
}

/** What a tool's function gets in addition to its parameters. */
export interface ToolContext {
  /** The frozen `${agent.*}` snapshot, created on first access. */
  readonly agent: JsonObject;
  /** Aborted on time-out and cancellation. The function should end soon then. */
  readonly signal: AbortSignal;
  /** The same for every attempt of an action, also after a restart. */
  readonly idempotencyKey: string;
  /** Shows a partial result live, if the tool has `stream: true`. */
  readonly progress: (data: Json) => void;
}

export interface ToolDefinition<Parameters extends Schema, Output extends StandardSchemaV1> {
  readonly name: string;
  /** What it does. The model reads this. */
  readonly description?: string;
  /** Sessions are pinned to it. Change it if running sessions must not continue with the new function. */
  readonly version?: string;
  /** Checked before each call. `run` gets the output of the schema. Without it the tool takes any object. */
  readonly parameters?: Parameters;
  /** The JSON Schema of `parameters` that the model reads, where the library cannot write it itself. */
  readonly jsonSchema?: JsonObject;
  /** The schema of the result, or `{ schema, max_bytes }`. The output of the schema is written to the log. */
  readonly output?: Output | ToolOutput<Output>;
  /** true: may be run again after a crash. */
  readonly idempotent?: boolean;
  /** true: no turn waits for it, and its result arrives as an update. Applies to async calls. */
  readonly background?: boolean;
  /** on_turn_end: the call waits until the response has ended successfully. */
  readonly start?: 'on_close' | 'on_turn_end';
  /** always: a person approves each call. */
  readonly approval?: 'always' | 'strict' | 'never';
  /** The time for each attempt: `30s`, or a number of seconds. */
  readonly timeout?: Quantity;
  /** How many calls may run at once, over all sessions, runs and workers of a fleet. Unlimited without it. */
  readonly max_parallel?: number;
  /** true: calls of `progress` are shown as `action.progress`. */
  readonly stream?: boolean;
  readonly run: (
    parameters: ReadAs<Parameters>,
    context: ToolContext,
  ) => WrittenAs<Output> | Promise<WrittenAs<Output>>;
}

export interface ToolOutput<Output extends StandardSchemaV1> {
  readonly schema?: Output | JsonObject;
  /** `64KiB`, or a number of bytes. */
  readonly max_bytes?: Quantity;
}

/** A tool for use in agents. It is checked with the first agent that uses it. */
export interface DefinedTool {
  readonly kind: 'Tool';
  readonly name: string;
  readonly definition: object;
}

/**
 * Defines a tool whose parameters are typed by a schema: Zod, Valibot, ArkType, any Standard Schema, or JSON
 * Schema.
 */
export function defineTool<
  Parameters extends Schema = JsonObject,
  Output extends StandardSchemaV1 = StandardSchemaV1<unknown>,
>(definition: ToolDefinition<Parameters, Output>): DefinedTool {
  return Object.freeze({
    kind: 'Tool',
    name: definition.name,
    definition: Object.freeze({ ...definition }),
  });
}

type WorkflowDocument = z.input<ReturnType<typeof workflow>>;
type DefinitionsOwnKeys = '$schema' | 'kind' | 'input' | 'steps' | 'states';
type StateDocument = NonNullable<WorkflowDocument['states']>[string];

/** The keys of the manifest that code can use unchanged. */
type DefinitionsSections = Written<Omit<WorkflowDocument, DefinitionsOwnKeys>>;

/** A step, as in a manifest. */
export type StepDefinition = Written<WrittenStep>;

export interface StateDefinition extends Written<Omit<StateDocument, 'steps'>> {
  /** The steps that run when the state is entered. */
  readonly steps?: readonly StepDefinition[];
}

/** A workflow written in code. Keys, defaults and checks are those of a manifest (docs/workflows.md). */
export interface WorkflowDefinition<Input extends Schema> extends DefinitionsSections {
  /**
   * Checked before a run starts. The output of the schema is the run's input. Without it a run takes any
   * object.
   */
  readonly input?: Input;
  /** The JSON Schema of `input` that models read, if the library cannot convert the schema. */
  readonly jsonSchema?: JsonObject;
  /** The steps, in order or as a graph of `needs`. */
  readonly steps?: readonly StepDefinition[];
  /** A state machine instead of steps. */
  readonly states?: Readonly<Record<string, StateDefinition>>;
}

/** The input that a run accepts. */
export type InputOf<Input> = Input extends StandardSchemaV1 ? StandardSchemaV1.InferInput<Input> : JsonObject;

/** A workflow for use in agents, whose runs take `Input`. It is checked with the first agent that uses it. */
export interface DefinedWorkflow<Input = JsonObject> {
  readonly kind: 'Workflow';
  readonly name: string;
  readonly definition: object;
  /** Set if `input` is a schema of a schema library. */
  readonly input?: StandardSchemaV1<Input> | undefined;
}

/**
 * Defines a workflow whose input is typed by a schema: Zod, Valibot, ArkType, any Standard Schema, or JSON
 * Schema.
 */
export function defineWorkflow<Input extends Schema = JsonObject>(
  definition: WorkflowDefinition<Input>,
): DefinedWorkflow<InputOf<Input>> {
  return Object.freeze({
    kind: 'Workflow',
    name: definition.name,
    definition: Object.freeze({ ...definition }),
    input: standardOf(definition.input) as StandardSchemaV1<InputOf<Input>> | undefined,
  });
}

/** A duration (`30s`, `5m`, or seconds) or a size (`64KiB`, or bytes), as in a manifest. */
export type Quantity = string | number;

/** The input type of a manifest's schema, with read-only lists and maps. */
export type Written<T> = Json extends T
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Written<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Written<T[Key]> }
      : T;

/** A Standard Schema (Zod, Valibot, ArkType and others) or a JSON Schema (2020-12). */
export type Schema = StandardSchemaV1 | JsonObject;

/** The output type of a schema. */
export type ReadAs<Of> = Of extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Of> : JsonObject;

/** The input type of a schema. */
export type WrittenAs<Of> = Of extends StandardSchemaV1 ? StandardSchemaV1.InferInput<Of> : unknown;

/** ArkType's schemas are functions. */
export const isStandardSchema = (value: unknown): value is StandardSchemaV1 =>
  (typeof value === 'object' || typeof value === 'function') &&
  value !== null &&
  typeof (value as Partial<StandardSchemaV1>)['~standard']?.validate === 'function';

/** The value as a Standard Schema, if it is one. */
export const standardOf = (schema: unknown): StandardSchemaV1 | undefined =>
  isStandardSchema(schema) ? schema : undefined;
