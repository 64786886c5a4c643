export type { ActionState, ActionStatus, DeclaredAction } from '../events/action.ts';
export type { Cause, EventBody, EventOf, EventType, LiveEvent, SessionEvent } from '../events/event.ts';
export { fold, reduce } from '../events/reduce.ts';
export { foldRun, reduceRun } from '../events/reduce-run.ts';
export type { ReviewKind } from '../events/reviews.ts';
export type { RunEvent, RunEventBody, RunEventOf, RunEventType } from '../events/run-event.ts';
export type { AcceptChanges, ChangeDecisions, StepChange, WorkflowChanges } from '../events/run-state.ts';
export { emptyRun, type RunState, type RunStatus, type StepState } from '../events/run-state.ts';
export { emptyRunSummary, foldRunSummary, type RunSummary } from '../events/run-summary.ts';
export type { Usage } from '../events/session-events.ts';
export type {
  CountedMessage,
  CountedPart,
  PromptContent,
  PromptDifference,
  SessionPrompt,
} from '../events/session-prompt.ts';
export {
  emptySummary,
  foldSummary,
  type QuarantineNote,
  type SessionSummary,
  type StateSpan,
} from '../events/session-summary.ts';
export { emptyState, type SessionState, type SessionStatus } from '../events/state.ts';
export { type ErrorJson, RuntimeError } from '../kernel/errors.ts';
export type { Json, JsonObject } from '../kernel/json.ts';
export type {
  AgentDetails,
  AgentInfo,
  AnswerReview,
  ApiError,
  ApiGraph,
  ArtifactInfo,
  ArtifactSource,
  ArtifactTestResult,
  AuditEntry,
  CreatedToken,
  CreateToken,
  EventQuery,
  FleetInfo,
  ForkSession,
  Health,
  LaidAsideInfo,
  ManifestProblem,
  MemoryQueryInfo,
  ModelChoice,
  NotificationInfo,
  Page,
  PageQuery,
  Readiness,
  ResumeRun,
  ResumeSession,
  ReviewDetailsInfo,
  ReviewInfo,
  Role,
  RunQuery,
  SessionQuery,
  SignalRun,
  StartRun,
  StartSession,
  TestArtifact,
  TokenInfo,
  Whoami,
  WhyChain,
  WorkerInfo,
  WorkflowInfo,
  WriteArtifact,
} from './api.ts';
export type {
  CallOptions,
  ClientOptions,
  Followed,
  FollowOptions,
  LiveSnapshot,
  TelltaleClient,
} from './client.ts';
export { createClient } from './create-client.ts';
