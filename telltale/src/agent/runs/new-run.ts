import type { JsonObject } from '../../lib/json.ts';
import type { Cause } from '../../log/event.ts';
import type { RunOrigin } from '../../log/run-event.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { Ground } from './run-environment.ts';

/** Variables that outlive a run: what each is kept by, and the values that were found. */
export interface KeptByRun {
  readonly scopes: Readonly<Record<string, string>>;
  readonly values: JsonObject;
}

/** A run that is to be made. */
export interface NewRun {
  readonly id: string;
  readonly workflow: WorkflowManifest;
  readonly ground: Ground;
  readonly input: JsonObject;
  readonly origin: RunOrigin;
  readonly vars?: JsonObject | undefined;
  /** Read by `createRun`. */
  readonly kept?: KeptByRun | undefined;
  readonly balance?: number | undefined;
  readonly cause?: Cause | undefined;
}
