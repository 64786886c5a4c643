export { type ErrorJson, RuntimeError } from '../lib/errors.ts';
export type { Json, JsonObject } from '../lib/json.ts';
export type { ActionState, ActionStatus, DeclaredAction } from '../log/action.ts';
export type { Cause, EventBody, EventOf, EventType, LiveEvent, SessionEvent } from '../log/event.ts';
export { fold, reduce } from '../log/reduce.ts';
export { foldRun, reduceRun } from '../log/reduce-run.ts';
export type { ReviewKind } from '../log/reviews.ts';
export type { RunEvent, RunEventBody, RunEventOf, RunEventType } from '../log/run-event.ts';
export type { AcceptChanges, ChangeDecisions, StepChange, WorkflowChanges } from '../log/run-state.ts';
export { emptyRun, type RunState, type RunStatus, type StepState } from '../log/run-state.ts';
export { emptyRunSummary, foldRunSummary, type RunSummary } from '../log/run-summary.ts';
export type { Usage } from '../log/session-events.ts';
export type {
  CountedMessage,
  CountedPart,
  PromptContent,
  PromptDifference,
  SessionPrompt,
} from '../log/session-prompt.ts';
export {
  emptySummary,
  foldSummary,
  type QuarantineNote,
  type SessionSummary,
  type StateSpan,
} from '../log/session-summary.ts';
export { emptyState, type SessionState, type SessionStatus } from '../log/state.ts';
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
