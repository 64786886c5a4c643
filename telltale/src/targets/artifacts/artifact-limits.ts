import type { SandboxLimits } from '../sandbox/sandbox.ts';

/** Of one decision, those that it asks others for included. */
export const ARTIFACT_LIMITS: SandboxLimits = {
  timeMs: 100,
  memoryBytes: 16 * 1024 * 1024,
  outputBytes: 256 * 1024,
};

/** An artifact may ask another one, which asks another one, which asks another one. */
export const MAX_ARTIFACT_DEPTH = 3;

/** Questions that one decision may ask other artifacts, at every depth together. */
export const MAX_ARTIFACT_QUESTIONS = 16;

/** How long a decision waits while the scripts of others hold the sandbox; then its fallback counts. */
export const MAX_ARTIFACT_WAIT_MS = 5_000;
