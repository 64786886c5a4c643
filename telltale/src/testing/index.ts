export { createSimulatedClock, type SimulatedClock } from '../kernel/simulated-clock.ts';
export type { Expectation, ScriptCall, ScriptPart, ScriptTurn } from '../models/scripted/script.ts';
export type { ScriptedModelOptions } from '../models/scripted/scripted-model.ts';
export type { MemoryStoreOptions } from '../store/memory/memory-store.ts';
export type { ArtifactAnswer } from '../targets/artifacts/artifacts.ts';
export type { ArtifactTested } from '../targets/artifacts/test-artifact.ts';
export { collectEvents } from './collect-events.ts';
export {
  type CrashEverywhereOptions,
  type CrashPoint,
  crashAt,
  crashEverywhere,
  crashPoints,
} from './crash.ts';
export type { CheckSurvivor, CrashOptions, CrashScenario, Survivor } from './crash-scenario.ts';
export type { EventPattern } from './event-pattern.ts';
export { type EventExpectations, expectEvents } from './expect-events.ts';
export { createMemoryStore } from './memory-store.ts';
export { resumeEverywhere } from './resume-everywhere.ts';
export { type AgentRun, type RunAgentOptions, runAgent } from './run-agent.ts';
export { type FinishedRun, type RunWorkflowOptions, runWorkflow } from './run-workflow.ts';
export { type HeardModel, hear, scripted } from './scripted.ts';
export { type TestArtifactOptions, testArtifact } from './test-artifact.ts';
