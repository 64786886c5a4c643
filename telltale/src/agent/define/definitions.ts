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
 * A function whose text becomes part of the artifact's source. It runs in the sandbox, gets the invocation's `args` and
 * then a `DecisionContext`, and closes over nothing: it sees its arguments and the artifact's other methods by name.
 */
// biome-ignore lint/suspicious/noExplicitAny: what an invocation's `args` are stands where the artifact is asked.
export type ArtifactMethod = (...args: any[]) => unknown;

/** An artifact, written in code: as source text, or as plain functions. */
export type ArtifactDefinition = About &
  (
    | {
        /** JavaScript that defines the methods; without any, the text of a prompt (`prompt_artifact_id`). */
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

/** An artifact that agents can be given. Checked with the first agent that it is given to. */
export interface DefinedArtifact {
  readonly kind: 'Artifact';
  readonly name: string;
  readonly definition: object;
}

/** Sandboxed code that takes decisions. The store keeps it in versions, as it does one of a manifest. */
export function defineArtifact(definition: ArtifactDefinition): DefinedArtifact {
  return Object.freeze({
    kind: 'Artifact',
    name: definition.name,
    definition: Object.freeze({ ...definition }),
  });
}

/** `Of` is what the operation's schema gives; nothing is known of it where that is a JSON Schema. */
export interface RelicOperation<Of = JsonObject> {
  /** The model reads it: half a sentence. */
  readonly description: string;
  /** Of an object. No parameters without it. */
  readonly parameters?: StandardSchemaV1<unknown, Of> | (JsonObject & { readonly '~standard'?: never });
  /** The JSON Schema of `parameters` that the model reads, where the library cannot write it itself. */
  readonly jsonSchema?: JsonObject;
  /** true: may be run again after a crash. */
  readonly idempotent?: boolean;
  readonly run: (parameters: unknown extends Of ? JsonObject : Of, context: ToolContext) => unknown;
}

export interface RelicDefinition<Operations> {
  readonly name: string;
  /** What it keeps; the model reads it. */
  readonly description?: string;
  /** Sessions are pinned to it, as to a tool's. */
  readonly version?: string;
  readonly operations: { readonly [Name in keyof Operations]: RelicOperation<Operations[Name]> };
  /** The operation of a call that names none. */
  readonly default?: keyof Operations & string;
  /** Resolves if the service answers. It is the operation `health`; without it the relic counts as well. */
  readonly health?: (context: ToolContext) => unknown;
  /** true: every operation may be run again after a crash. */
  readonly idempotent?: boolean;
  readonly approval?: 'always' | 'never';
  readonly timeout?: Quantity;
}

/** A relic that agents can be given. Checked with the first agent that it is given to. */
export interface DefinedRelic {
  readonly kind: 'Relic';
  readonly name: string;
  readonly definition: object;
}

/** As it is kept: what its types were has done its work. */
export interface KeptOperation {
  readonly description?: string;
  readonly parameters?: Schema;
  readonly jsonSchema?: JsonObject;
  readonly idempotent?: boolean;
  readonly run?: (parameters: unknown, context: unknown) => unknown;
}

/** A service of the program that outlives sessions, with operations typed by their schemas. */
export function defineRelic<Operations>(definition: RelicDefinition<Operations>): DefinedRelic {
  return Object.freeze({
    kind: 'Relic',
    name: definition.name,
    definition: Object.freeze({ ...definition }),
  });
}

/** What a tool's function gets beside its parameters. */
export interface ToolContext {
  /** The frozen `${agent.*}` snapshot; made when it is looked at. */
  readonly agent: JsonObject;
  /** Aborted on time-out and when the session is cancelled: end soon then. */
  readonly signal: AbortSignal;
  /** The same for every try of one action, also after a restart. */
  readonly idempotencyKey: string;
  /** Shows a partial result live, where the tool says `stream: true`. */
  readonly progress: (data: Json) => void;
}

export interface ToolDefinition<Parameters extends Schema, Output extends StandardSchemaV1> {
  readonly name: string;
  /** What it does; the model reads it. */
  readonly description?: string;
  /** Sessions are pinned to it: change it when the function changes so much that a running session must not go on. */
  readonly version?: string;
  /** Checked before each call; what it gives is what `run` gets. Any object without it. */
  readonly parameters?: Parameters;
  /** The JSON Schema of `parameters` that the model reads, where the library cannot write it itself. */
  readonly jsonSchema?: JsonObject;
  /** What the result must be: a schema, or `{ schema, max_bytes }`. What the schema gives is what goes on the log. */
  readonly output?: Output | ToolOutput<Output>;
  /** true: may be run again after a crash. */
  readonly idempotent?: boolean;
  /** true: no turn waits for it; its result comes as an update. Counts where a call is async. */
  readonly background?: boolean;
  /** on_turn_end: a side effect that waits until the response has ended well. */
  readonly start?: 'on_close' | 'on_turn_end';
  /** always: a person approves each call. */
  readonly approval?: 'always' | 'strict' | 'never';
  /** For each try: `30s`, or a number of seconds. */
  readonly timeout?: Quantity;
  /** How many calls of it run at once, over all sessions and runs, and over all workers of a fleet. No limit without it. */
  readonly max_parallel?: number;
  /** true: what `progress` is called with is shown as `action.progress`. */
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

/** A tool that agents can be given. Checked with the first agent that it is given to. */
export interface DefinedTool {
  readonly kind: 'Tool';
  readonly name: string;
  readonly definition: object;
}

/** A tool whose parameters are typed by its schema: Zod, Valibot, ArkType, any Standard Schema, or JSON Schema. */
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

/** The keys of the manifest that are the same in code. */
type DefinitionsSections = Written<Omit<WorkflowDocument, DefinitionsOwnKeys>>;

/** A step, as in a manifest. */
export type StepDefinition = Written<WrittenStep>;

export interface StateDefinition extends Written<Omit<StateDocument, 'steps'>> {
  /** What runs when it is entered. */
  readonly steps?: readonly StepDefinition[];
}

/** A workflow, written in code. Keys, defaults and checks are those of a manifest (docs/workflows.md). */
export interface WorkflowDefinition<Input extends Schema> extends DefinitionsSections {
  /** Checked before a run begins; what it gives is the run's input. Any object without it. */
  readonly input?: Input;
  /** The JSON Schema of `input` that models read, where the library cannot write it itself. */
  readonly jsonSchema?: JsonObject;
  /** What runs: in order, or as a graph where `needs` is given. */
  readonly steps?: readonly StepDefinition[];
  /** A machine in place of steps. */
  readonly states?: Readonly<Record<string, StateDefinition>>;
}

/** What a run may be given: what the schema takes. */
export type InputOf<Input> = Input extends StandardSchemaV1 ? StandardSchemaV1.InferInput<Input> : JsonObject;

/** A workflow that agents can be given, whose runs take `Input`. Checked with the first agent that it is given to. */
export interface DefinedWorkflow<Input = JsonObject> {
  readonly kind: 'Workflow';
  readonly name: string;
  readonly definition: object;
  /** Where `input` is a schema of a library's own. */
  readonly input?: StandardSchemaV1<Input> | undefined;
}

/** A workflow whose input is typed by its schema: Zod, Valibot, ArkType, any Standard Schema, or JSON Schema. */
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

/** What a manifest's schema takes, from a program: lists and maps may be read-only there. */
export type Written<T> = Json extends T
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Written<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Written<T[Key]> }
      : T;

/** A schema of Zod, Valibot, ArkType or any other library of the Standard Schema, or a JSON Schema (2020-12). */
export type Schema = StandardSchemaV1 | JsonObject;

/** What a function gets that is called with values of a schema. */
export type ReadAs<Of> = Of extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Of> : JsonObject;

/** What may be written in place of a value of a schema, before the schema has seen it. */
export type WrittenAs<Of> = Of extends StandardSchemaV1 ? StandardSchemaV1.InferInput<Of> : unknown;

/** ArkType's schemas are functions. */
export const isStandardSchema = (value: unknown): value is StandardSchemaV1 =>
  (typeof value === 'object' || typeof value === 'function') &&
  value !== null &&
  typeof (value as Partial<StandardSchemaV1>)['~standard']?.validate === 'function';

/** What is a schema of a library's own, if it is one. */
export const standardOf = (schema: unknown): StandardSchemaV1 | undefined =>
  isStandardSchema(schema) ? schema : undefined;
