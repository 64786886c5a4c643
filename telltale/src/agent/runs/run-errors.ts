import type { ErrorJson } from '../../lib/errors.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { RunState } from '../../log/run-state.ts';
import type { LoadedAgent } from '../loaded-agent.ts';

export const runEnded = (run: string, status: string) =>
  new RuntimeError('run_ended', `${run} has ended (${status}): there is nothing left to resume.`, {
    hint: 'Start a new run: telltale workflow run MANIFEST WORKFLOW',
  });

export const runQuarantined = (run: string) =>
  new RuntimeError('quarantined', `${run} is quarantined. It does not continue until somebody resumes it.`, {
    hint: `To see why: telltale show ${run}. To resume it: telltale workflow resume ${run}`,
  });

export const runChanged = ({
  id,
  manifest: { path },
  origin,
}: Pick<RunState, 'id' | 'manifest' | 'origin'>) => {
  // A called run continues with its caller, and a run that guides a session continues with that session.
  const resumed =
    origin.leads === true && origin.session !== undefined
      ? `resume ${origin.session.id}`
      : `workflow resume ${origin.parent?.run ?? id}`;
  return new RuntimeError(
    'manifest_changed',
    `The manifest ${path} is not the one that ${id} started with.`,
    {
      hint: `Put it back as it was, start a new run, or accept the changes: telltale ${resumed} --accept-changes`,
    },
  );
};

/** The same for programs, which pass the workflow itself. */
export const runChangedInCode = (run: string, path: string) =>
  new RuntimeError(
    'manifest_changed',
    `The workflow given for ${run} (${path}) is not the one it started with.`,
    {
      hint: `Give the one it started with, or accept the changes: runtime.workflows.resume("${run}", { workflow, acceptChanges: true })`,
    },
  );

export const workflowGone = (workflow: string, { manifest: { name }, path }: LoadedAgent<unknown>) =>
  new RuntimeError('no_workflow', `The agent "${name}" (${path}) no longer has the workflow "${workflow}".`, {
    hint: 'Import it again, or cancel the run.',
  });

export const runInCode = (run: string, path: string) =>
  new RuntimeError(
    'agent_in_code',
    `${run} was started by a program (${path}), and only that program can continue it.`,
    {
      hint: 'In that program: runtime.workflows.resume(id, { workflow }).',
    },
  );

export const runOfOther = (run: string, other: string) =>
  new RuntimeError('run_has_parent', `${run} was called by ${other}, which works on it.`, {
    hint: `Resume that one: telltale workflow resume ${other}`,
  });

export const runFailed = (workflow: string, run: string, { code, message, hint }: ErrorJson) =>
  new RuntimeError('workflow_failed', `The workflow "${workflow}" (${run}) failed: ${message}`, {
    hint: hint ?? `To see what happened: telltale workflow show ${run}`,
    cause: new RuntimeError(code, message, { hint }),
  });

export const RUN_CANCELLED = 'workflow_cancelled';

export const runCancelled = (workflow: string, run: string, reason: string) =>
  new RuntimeError(RUN_CANCELLED, `The workflow "${workflow}" (${run}) was cancelled: ${reason}`, {
    hint: `To see what happened: telltale workflow show ${run}`,
  });

export const badInput = (workflow: string, problem: RuntimeError) =>
  new RuntimeError(
    'bad_input',
    `The input of the workflow "${workflow}" does not fit its schema. ${problem.message}`,
    {
      hint: problem.hint,
      cause: problem,
    },
  );

/** How deeply runs may call each other. */
export const MAX_CHAIN = 20;

export const chainTooLong = (chain: readonly string[]) =>
  new RuntimeError(
    'workflow_depth',
    `Workflows have called each other ${MAX_CHAIN} times: ${chain.join(' → ')}.`,
    {
      hint: 'End the circle by a condition.',
    },
  );

export const runIdTaken = (workflow: string, run: string) =>
  new RuntimeError(
    'run_id_taken',
    `The workflow "${workflow}" cannot be called here: its run would be ${run}, which is another one.`,
    { hint: 'Call it under another id.' },
  );

export const runLeads = (run: string, session: string) =>
  new RuntimeError('run_leads', `${run} guides the session ${session} and continues together with it.`, {
    hint: `Resume that one: telltale resume ${session}`,
  });
