export { createSimulatedClock, type SimulatedClock } from '../lib/simulated-clock.ts';
export type { Expectation, ScriptCall, ScriptPart, ScriptTurn } from '../models/scripted/script.ts';
export type { ScriptedModelOptions } from '../models/scripted/scripted-model.ts';
export type { MemoryStoreOptions } from '../store/memory/memory-store.ts';
export type { ArtifactAnswer } from '../tools/artifacts/artifacts.ts';
export type { ArtifactTested } from '../tools/artifacts/test-artifact.ts';
export type { CheckSurvivor, CrashOptions, CrashScenario, Survivor } from './crash.ts';
export {
  type CrashEverywhereOptions,
  type CrashPoint,
  crashAt,
  crashEverywhere,
  crashPoints,
  resumeEverywhere,
} from './crash.ts';
export type { EventPattern } from './expect-events.ts';
export { type EventExpectations, expectEvents } from './expect-events.ts';
export {
  type AgentRun,
  collectEvents,
  createMemoryStore,
  type FinishedRun,
  type RunAgentOptions,
  type RunWorkflowOptions,
  runAgent,
  runWorkflow,
} from './run-agent.ts';
export { type HeardModel, hear, scripted } from './scripted.ts';
export { type TestArtifactOptions, testArtifact } from './test-artifact.ts';
