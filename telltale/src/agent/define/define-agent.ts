import { resolve } from 'node:path';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { z } from 'zod';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { loadManifests } from '../../manifest/load-manifests.ts';
import type { agent } from '../../manifest/schema/agent.ts';
import type { ModelObject } from '../../models/model-object.ts';
import { type ValidationResult, validateNow } from '../../tools/code/code-tool.ts';
import { badManifest, hashOf } from '../load-agent.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import { type AgentCode, agentCode } from './agent-code.ts';
import { agentManifest } from './agent-manifest.ts';
import type { DefinedArtifact, DefinedRelic, DefinedTool, DefinedWorkflow, Written } from './definitions.ts';

export interface DefineAgentOptions {
  /**
   * The base folder of paths in imports, `permissions` and `scripted:` files. The working folder by default.
   */
  readonly folder?: string;
  /**
   * The environment for `${NAME}` in imported files: `process.env` by default. The definition itself is not
   * substituted.
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
}

/**
 * Checks an agent written in code and everything that it imports. Throws `bad_manifest` with all mistakes.
 */
export async function defineAgent<Output extends AgentOutput | undefined = undefined>(
  definition: AgentDefinition<Output>,
  options: DefineAgentOptions = {},
): Promise<LoadedAgent<ResultOf<Output>>> {
  options.signal?.throwIfAborted();
  const folder = resolve(options.folder ?? '.');
  const source = await agentManifest(definition as unknown as Readonly<Record<string, unknown>>, folder);
  const loaded = await loadManifests([source], { env: options.env ?? {}, signal: options.signal });
  if (!loaded.ok) throw badManifest(source.label, loaded.diagnostics, ALL_OF_THEM);
  const [project] = loaded.projects;
  const found = project?.manifests.find(({ code }) => code === source.code);
  if (project === undefined || found?.manifest.kind !== 'Agent')
    throw badManifest(source.label, loaded.diagnostics, 'Give an object with a "name".');
  const agent = {
    manifest: found.manifest,
    project,
    path: source.label,
    folder,
    hash: hashOf(project.manifests),
    source,
  };
  return Object.freeze({ ...agent, ...readerOf<ResultOf<Output>>(agentCode(agent)) });
}

const ALL_OF_THEM = '"diagnostics" of the error lists all mistakes.';

const readerOf = <Output>(code: AgentCode | undefined): Pick<LoadedAgent<Output>, 'readResult'> => {
  const schema = code?.output;
  return schema === undefined
    ? {}
    : { readResult: (result: Json) => readOutputWith(schema, result) as Output };
};

type AgentDocument = z.input<typeof agent>;
type Imports = NonNullable<AgentDocument['import']>;
type OwnKeys = '$schema' | 'kind' | 'model' | 'models' | 'fallback_models' | 'metadata' | 'output' | 'import';

/** The keys of the manifest that code can use unchanged. */
type Sections = Written<Omit<AgentDocument, OwnKeys>>;

/** An agent written in code. Keys, defaults and checks are those of a manifest (docs/manifests.md). */
export interface AgentDefinition<Output extends AgentOutput | undefined> extends Sections {
  /** `provider/model`, `scripted:FILE`, or a model itself: of the AI SDK (specification v2 to v4), or one of your own. */
  readonly model?: string | ModelObject;
  /** Names usable in llm actions; `fast` writes summaries. */
  readonly models?: Readonly<Record<string, string | ModelObject | ModelWithOptions>>;
  /** Models that a turn falls back to, in this order, if its model fails. */
  readonly fallback_models?: readonly (string | ModelObject)[];
  readonly metadata?: AgentMetadata;
  /** The final response must be JSON of this schema. The output of the schema is the result. */
  readonly output?: Output;
  /** Tools made with `defineTool`, paths and globs of manifests, `builtin:NAME`, MCP servers. */
  readonly tools?: readonly (DefinedTool | Written<NonNullable<Imports['tools']>[number]>)[];
  /** Relics made with `defineRelic`, or paths of manifests. */
  readonly relics?: readonly (DefinedRelic | string)[];
  /** Agents that were defined or loaded, or paths of manifests. */
  readonly agents?: readonly (LoadedAgent<unknown> | string)[];
  /** Workflows made with `defineWorkflow`, or paths of manifests. */
  readonly workflows?: readonly (DefinedWorkflow<unknown> | string)[];
  /** Artifacts made with `defineArtifact`, or paths of manifests. */
  readonly artifacts?: readonly (DefinedArtifact | string)[];
}

/** A named model with sampling options of its own. */
export interface ModelWithOptions extends NonNullable<AgentDocument['model_options']> {
  readonly model: string | ModelObject;
}

export type AgentOutput =
  | {
      readonly schema: StandardSchemaV1;
      /** The JSON Schema that the model reads, if the library cannot convert the schema. */
      readonly jsonSchema?: JsonObject;
    }
  | { readonly schema: JsonObject };

/** The result type of a session: the output of the schema, JSON, or text without a schema. */
export type ResultOf<Output> = Output extends { readonly schema: infer Schema }
  ? Schema extends StandardSchemaV1
    ? StandardSchemaV1.InferOutput<Schema>
    : Json
  : string;

type AgentMetadata = Written<Omit<NonNullable<AgentDocument['metadata']>, 'fields'>> & {
  readonly fields?: Readonly<Record<string, MetadataFieldDefinition>>;
};

interface AnyField {
  readonly description?: string;
  /** true: the value survives a reset. */
  readonly sticky?: boolean;
}

/** A field that the model may set, as in a manifest. `values` without `type` is an enum. */
export type MetadataFieldDefinition = AnyField &
  (
    | {
        readonly type?: 'enum';
        readonly values: readonly (string | number | boolean)[];
        readonly default?: string | number | boolean;
      }
    | {
        readonly type: 'string';
        readonly max_length?: number;
        readonly pattern?: string;
        readonly default?: string;
      }
    | {
        readonly type: 'number';
        readonly min?: number;
        readonly max?: number;
        readonly integer?: boolean;
        readonly default?: number;
      }
    | { readonly type: 'boolean'; readonly default?: boolean }
    | {
        readonly type: 'object';
        readonly schema?: JsonObject;
        readonly merge?: 'replace' | 'deep';
        readonly default?: JsonObject;
      }
    | {
        readonly type: 'array';
        readonly items?: MetadataFieldDefinition;
        readonly max_items?: number;
        readonly default?: readonly Json[];
      }
  );

/**
 * Checks a final response with the schema. The schema must be synchronous, because the decision is needed at
 * once.
 */
export const judgeOutput = (schema: StandardSchemaV1, value: Json): ValidationResult =>
  validateNow(schema, value, outputWaits);

/** Reads a result that was checked before. */
function readOutputWith(schema: StandardSchemaV1, value: Json): unknown {
  const judged = judgeOutput(schema, value);
  if (judged.ok) return judged.value;
  throw outputChanged(judged.problem);
}

const outputWaits = () =>
  new RuntimeError('async_schema', 'The schema of "output" answers with a promise.', {
    hint: "Use a schema without asynchronous checks there; those of a tool's parameters may have them. Zod answers so also where a check or a transform throws.",
  });

const outputChanged = (problem: string) =>
  new RuntimeError('bad_output', `The result on the log does not fit the schema of "output": ${problem}`, {
    hint: 'Pass the agent as it was when the session ended.',
  });
