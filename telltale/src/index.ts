import type {
  AgentDefinition,
  AgentOutput,
  DefineAgentOptions,
  ResultOf,
} from './agent/define/define-agent.ts';
import type { LoadAgentOptions } from './agent/load-agent.ts';
import type { LoadedAgent } from './agent/loaded-agent.ts';
import type { LoadWorkflowOptions } from './agent/runs/load-workflow.ts';
import type { LoadedWorkflow } from './agent/runs/run-types.ts';
import type { Runtime, RuntimeOptions } from './agent/runtime-types.ts';
import type { JsonObject } from './lib/json.ts';
import type { LoadOptions as LoadManifestsOptions, ManifestText } from './manifest/load-manifests.ts';
import type { LoadResult } from './manifest/project/project.ts';
import type { ManifestKind } from './manifest/schema/kinds.ts';
import type { ValidateResult } from './manifest/validate-manifests.ts';
import type { OpenMcpServer } from './tools/mcp/mcp-server.ts';
import type { WorkflowGraph } from './workflows/graph/graph-of.ts';

export type {
  AgentDefinition,
  AgentOutput,
  DefineAgentOptions,
  MetadataFieldDefinition,
  ResultOf,
} from './agent/define/define-agent.ts';
export type { Schema } from './agent/define/definitions.ts';
export {
  type ArtifactDefinition,
  type ArtifactMethod,
  type DefinedArtifact,
  type DefinedRelic,
  type DefinedTool,
  type DefinedWorkflow,
  defineArtifact,
  defineRelic,
  defineTool,
  defineWorkflow,
  type InputOf,
  type RelicDefinition,
  type RelicOperation,
  type StateDefinition,
  type StepDefinition,
  type ToolContext,
  type ToolDefinition,
  type ToolOutput,
  type WorkflowDefinition,
} from './agent/define/definitions.ts';
export type { LoadAgentOptions } from './agent/load-agent.ts';
export type { LoadedAgent } from './agent/loaded-agent.ts';
export type { AnsweredReview } from './agent/reviews/answer-review.ts';
export type { ReviewDetails, ReviewReply } from './agent/reviews/read-review.ts';
export type { ReviewFilter } from './agent/reviews/review-table.ts';
export { findWorkflow } from './agent/runs/find-workflow.ts';
export type { LoadWorkflowOptions } from './agent/runs/load-workflow.ts';
export type { AskRun, RunQuestion } from './agent/runs/run-questions.ts';
export type {
  DueTime,
  HookHeaders,
  Listening,
  ListenOptions,
  LoadedWorkflow,
  OutsideOutcome,
  ResumeRunOptions,
  RunOptions,
  RunResult,
  RunUsage,
  WorkflowRun,
  Workflows,
} from './agent/runs/run-types.ts';
export type {
  FeedTrial,
  FeedTrialOptions,
  ForkOptions,
  OnWaiting,
  PromptOptions,
  PromptPreviewOptions,
  ReadOptions,
  ResumeOptions,
  Runtime,
  RuntimeOptions,
  Session,
  SessionResult,
  StartOptions,
} from './agent/runtime-types.ts';
export type { DerivedTriggers, RegisteredTriggerType } from './agent/variables/derived-triggers.ts';
export type { FeedReading, FeedView } from './feeds/feed.ts';
export type { FallbackReason, GivenPart, InvokeRecord, ProviderPart } from './lib/calls.ts';
export type { Clock } from './lib/clock.ts';
export { createSystemClock, sleep } from './lib/clock.ts';
export { type ErrorJson, RuntimeError } from './lib/errors.ts';
export type { Json, JsonObject } from './lib/json.ts';
export type { ActionState, ActionStatus, DeclaredAction } from './log/action.ts';
export type {
  Cause,
  ChildEventBody,
  EventBody,
  EventOf,
  EventType,
  HookRecord,
  LiveEvent,
  MessageFrom,
  ObservedEvent,
  ParentRef,
  SessionEvent,
} from './log/event.ts';
export type { FeedState } from './log/feed-event.ts';
export type { ReplacedReview, ReviewAnswer, ReviewRequest } from './log/review-event.ts';
export type { OpenReview, ReviewKind } from './log/reviews.ts';
export type {
  ApprovalRequest,
  PinnedStep,
  RunEvent,
  RunEventBody,
  RunEventOf,
  RunEventType,
  RunOrigin,
  StepDecision,
} from './log/run-event.ts';
export type {
  AcceptChanges,
  AcceptedChange,
  ApprovalState,
  ChangeDecisions,
  RunState,
  RunStatus,
  StepChange,
  StepState,
  WorkflowChanges,
} from './log/run-state.ts';
export type { FieldError, Usage, VariableClass } from './log/session-events.ts';
export type {
  CountedMessage,
  CountedPart,
  PromptContent,
  PromptDifference,
  SessionPrompt,
} from './log/session-prompt.ts';
export type { Review, SessionState, SessionStatus } from './log/state.ts';
export {
  type FieldMetrics,
  stateMetrics,
  type ValueChange,
  type ValueMetrics,
} from './log/state-metrics.ts';
export type { Diagnostic, Excerpt } from './manifest/diagnostic.ts';
export type { Palette } from './manifest/format-diagnostic.ts';
export { formatDiagnostic } from './manifest/format-diagnostic.ts';
export type { ManifestText } from './manifest/load-manifests.ts';
export type {
  LoadedManifest,
  LoadedSource,
  LoadResult,
  Project,
  ResolvedImport,
} from './manifest/project/project.ts';
export type {
  AgentManifest,
  ArtifactManifest,
  Manifest,
  ManifestKind,
  RelicManifest,
  ToolManifest,
  WorkflowManifest,
} from './manifest/schema/kinds.ts';
export type { ValidateResult } from './manifest/validate-manifests.ts';
export type {
  IndexOptions,
  IndexProgress,
  IndexReport,
  LearnedFact,
  Memory,
  MemoryAnswer,
  MemoryEdge,
  MemoryNode,
  MemoryQuery,
} from './memory/memory.ts';
export type {
  Model,
  ModelEnd,
  ModelMessage,
  ModelPrice,
  ModelRequest,
  ModelSink,
  ModelTool,
  ModelUsage,
  ToolAnswer,
} from './models/model.ts';
export type { ModelObject } from './models/model-object.ts';
export type { CountedOpening } from './prompt/opening.ts';
export type { Fact, FactSubject, GraphStats, SymbolKind } from './store/graph.ts';
export type { Store, StreamInfo } from './store/store.ts';
export type { ArtifactVersion, DecisionContext } from './tools/artifacts/artifacts.ts';
export type {
  McpAnswer,
  McpCall,
  McpHttpStart,
  McpProcessStart,
  McpPrompt,
  McpPromptAnswer,
  McpPromptArgument,
  McpPrompts,
  McpRequest as McpAsk,
  McpResourceList,
  McpResources,
  McpSend,
  McpServer,
  McpServerStart,
  McpTool,
  OpenMcpServer,
} from './tools/mcp/mcp-server.ts';
export type { Answer, Approve } from './tools/target.ts';
export type { GraphEdge, GraphGroup, GraphNode, WorkflowGraph } from './workflows/graph/graph-of.ts';
export { graphOf } from './workflows/graph/graph-of.ts';
export { mermaidOf } from './workflows/graph/mermaid-of.ts';

// YAML, the schemas and the glob matcher take 0.3 s to load (measured): whoever only imports the package does not wait.

/** The lowest Node that Telltale runs on; `engines` in package.json says the same, and a test compares them. */
const MINIMUM_NODE = '22.15.0';

// Acts on import: else an old Node fails with an error from deep inside.
if (isOlder(process.versions.node, MINIMUM_NODE))
  throw new Error(
    `Telltale needs Node ${MINIMUM_NODE} or newer, and this is Node ${process.versions.node}: install a newer one from https://nodejs.org.`,
  );

function isOlder(version: string, wanted: string): boolean {
  const [have, want] = [version, wanted].map((each) => each.split('.').map(Number));
  const at = want?.findIndex((number, index) => have?.[index] !== number) ?? -1;
  return at !== -1 && (have?.[at] ?? 0) < (want?.[at] ?? 0);
}

/** `env` is the process's environment unless a program passes another. */
const withEnvironment = <Options extends { readonly env?: Env | undefined }>(
  options: Options | undefined,
) => ({
  ...options,
  env: options?.env ?? process.env,
});

type Env = Readonly<Record<string, string | undefined>>;

/** Options of `loadManifests` and `validateManifests`. */
export type LoadOptions = Omit<LoadManifestsOptions, 'env' | 'checkModules'> &
  Partial<Pick<LoadManifestsOptions, 'env'>>;

/** Opens the store and runs agents on it: `sqlite:.telltale/telltale.db` by default, `memory` for none at all. */
export async function createRuntime(options?: RuntimeOptions): Promise<Runtime> {
  const { createRuntime: create } = await import('./agent/create-runtime.ts');
  return create({ mcp: openMcpServer, ...withEnvironment(options) });
}

/** The MCP client is loaded when an agent that imports a server is first run: it takes longer than all the rest. */
const openMcpServer: OpenMcpServer = async (start) => {
  const { createMcpClient } = await import('./mcp/open-mcp-server.ts');
  return createMcpClient()(start);
};

/** Reads an agent's manifest and all it imports. Throws an error of code `bad_manifest` with all that is wrong. */
export async function loadAgent(path: string, options?: LoadAgentOptions): Promise<LoadedAgent> {
  const { loadAgent: load } = await import('./agent/load-agent.ts');
  return load(path, withEnvironment(options));
}

/** Reads an agent's manifest and finds one of its workflows: the one that `workflow` names, or the only one. */
export async function loadWorkflow(path: string, options?: LoadWorkflowOptions): Promise<LoadedWorkflow> {
  const { loadWorkflow: load } = await import('./agent/runs/load-workflow.ts');
  return load(path, withEnvironment(options));
}

/** Checks an agent that is written in code, and all it imports. Throws `bad_manifest` with all that is wrong. */
export async function defineAgent<Output extends AgentOutput | undefined = undefined>(
  definition: AgentDefinition<Output>,
  options?: DefineAgentOptions,
): Promise<LoadedAgent<ResultOf<Output>>> {
  const { defineAgent: define } = await import('./agent/define/define-agent.ts');
  return define(definition, withEnvironment(options));
}

/** Reads manifests and all they import, and checks them. Mistakes in them are in `diagnostics`, not thrown. */
export async function loadManifests(
  paths: readonly (string | ManifestText)[],
  options?: LoadOptions,
): Promise<LoadResult> {
  const { loadManifests: load } = await import('./manifest/load-manifests.ts');
  return load(paths, withEnvironment(options));
}

/** `loadManifests` for paths that may be folders: what `telltale validate` does. */
export async function validateManifests(
  paths: readonly (string | ManifestText)[],
  options?: LoadOptions,
): Promise<ValidateResult> {
  const { validateManifests: validate } = await import('./manifest/validate-manifests.ts');
  return validate(paths, withEnvironment(options));
}

/** The JSON Schema (2020-12) of a kind of manifest. */
export async function manifestJsonSchema(kind: ManifestKind): Promise<JsonObject> {
  const { manifestJsonSchema: schemaOf } = await import('./manifest/check-manifest.ts');
  return schemaOf(kind);
}

/** The graph as an SVG that follows the reader's light or dark. */
export async function svgOf(graph: WorkflowGraph): Promise<string> {
  const { svgOf: draw } = await import('./workflows/graph/svg/svg-of.ts');
  return draw(graph);
}
