import type { JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { compileCheck } from '../../targets/check-parameters.ts';
import type { Target } from '../../targets/target.ts';

/** A run that is cancelled may wait for its steps to stop, and undo what it did. */
const GRACE_MS = 60_000;

const ANY_OBJECT: JsonObject = { type: 'object' };

/** A workflow as something that actions can call. It is run by the session that calls it. */
export function workflowTarget(manifest: WorkflowManifest): Target {
  const { name, description } = manifest;
  const parameters = (manifest.input as JsonObject | undefined) ?? ANY_OBJECT;
  return {
    kind: 'workflow',
    name,
    description: description ?? `The workflow ${name}.`,
    parameters,
    // After a crash its run goes on where its log ends: no step that has completed is done again.
    idempotent: true,
    start: 'on_close',
    timeoutMs: Number.POSITIVE_INFINITY, // its steps have limits of their own, and may wait for days
    graceMs: GRACE_MS,
    check: compileCheck(parameters, `workflow "${name}"`),
    run: () => Promise.reject(notInSession(name)),
  };
}

const notInSession = (name: string) =>
  new RuntimeError('workflow_outside', `The workflow "${name}" can be called only from a session.`, {
    hint: 'Start a run of it with runtime.workflows.start.',
  });
