import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { z } from 'zod';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { agent } from '../../manifest/schema/agent.ts';
import type { ModelObject } from '../../models/model-object.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import type { DefinedArtifact } from './define-artifact.ts';
import type { DefinedRelic } from './define-relic.ts';
import type { DefinedTool } from './define-tool.ts';
import type { DefinedWorkflow } from './define-workflow.ts';
import type { Written } from './written.ts';

type AgentDocument = z.input<typeof agent>;
type Imports = NonNullable<AgentDocument['import']>;
type OwnKeys = '$schema' | 'kind' | 'model' | 'models' | 'metadata' | 'output' | 'import';

/** The keys of the manifest that are the same in code. */
type Sections = Written<Omit<AgentDocument, OwnKeys>>;

/** An agent, written in code. Keys, defaults and checks are those of a manifest (docs/manifests.md). */
export interface AgentDefinition<Output extends AgentOutput | undefined> extends Sections {
  /** `provider/model`, `scripted:FILE`, or a model itself: of the AI SDK (specification v2 to v4), or one of your own. */
  readonly model?: string | ModelObject;
  /** Names usable in llm actions; `fast` writes summaries. */
  readonly models?: Readonly<Record<string, string | ModelObject>>;
  readonly metadata?: AgentMetadata;
  /** The final response must be JSON of this schema; what the schema gives is the result. */
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

export type AgentOutput =
  | {
      readonly schema: StandardSchemaV1;
      /** The JSON Schema that the model reads, where the library cannot write it itself. */
      readonly jsonSchema?: JsonObject;
    }
  | { readonly schema: JsonObject };

/** What a session of the agent results in: the schema's own type, JSON, or, without a schema, text. */
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
