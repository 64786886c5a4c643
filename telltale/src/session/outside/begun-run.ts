import type { WorkflowRun } from '../runs/run-types.ts';

/** A run that was begun: `made` settles once it is on its log, and rejects with `stream_exists` where it was before. */
export interface BegunRun {
  readonly run: WorkflowRun;
  readonly made: Promise<void>;
}
