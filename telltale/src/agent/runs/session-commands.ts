import { toRuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { EventBody } from '../../log/event.ts';
import { WORKFLOW_WRITER } from '../../log/fold-values.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { InboxMessage } from '../../store/store.ts';
import type { ApplyMetadata } from '../metadata-writer.ts';
import type { SessionLog } from '../session-log.ts';
import type { SetVariable } from '../variables/session-variables.ts';
import { type AskMessage, type EndMessage, RUN_ASKS, RUN_ENDED, type RunEnd } from './run-messages.ts';

export interface SessionCommandDeps {
  readonly log: SessionLog;
  readonly workflows: ReadonlyMap<string, WorkflowManifest>;
  readonly applyMetadata: ApplyMetadata;
  readonly setVariable: SetVariable;
}

/** Executes commands of runs to their session, each once, and records how the runs ended. */
export interface SessionCommands {
  /** Handles a message of the inbox. Returns false if it is not from a run. */
  take(message: InboxMessage): boolean;
  /** Records the end of a run that a trigger started, unless it is on the log already. */
  ended(message: EndMessage, consumed?: readonly number[]): void;
}

export function createSessionCommands(deps: SessionCommandDeps): SessionCommands {
  const { log } = deps;
  const ended: SessionCommands['ended'] = ({ run, workflow, end, charged, cause }, consumed) => {
    const { state } = log;
    const beside = consumed === undefined ? undefined : { consumed };
    if (!state.runs.some((each) => each.run === run)) {
      // The end was read from the run's own log before the message arrived.
      if (consumed !== undefined) log.append(known(run, 'its end'), cause, beside);
      return;
    }
    const told = isTold(deps.workflows.get(workflow)?.news, end) ? { told: true as const } : {};
    log.append({ ...endEvent(end), run, workflow, ...told }, cause, beside);
    if (charged > 0 && state.balance !== undefined) {
      const balance = state.balance - charged;
      log.append({ type: 'budget.charged', what: 'artifact', amount: charged, balance }, cause);
    }
  };
  return {
    ended,
    take({ id, kind, body }) {
      if (kind === RUN_ENDED) ended(body as unknown as EndMessage, [id]);
      else if (kind === RUN_ASKS) execute(deps, body as unknown as AskMessage, [id]);
      else return false;
      return true;
    },
  };
}

function execute(
  { log, applyMetadata, setVariable }: SessionCommandDeps,
  { run, workflow, key, act, cause }: AskMessage,
  consumed: readonly number[],
): void {
  const { orders } = log.state;
  if (orders.some((each) => each.run === run && each.keys.includes(key))) {
    log.append(known(run, `"${key}"`), cause, { consumed });
    return;
  }
  const place = log.append({ type: 'workflow.asked', run, workflow, key, what: act.kind }, cause, {
    consumed,
  });
  const by = `${WORKFLOW_WRITER}${workflow}`;
  switch (act.kind) {
    case 'set_metadata':
      applyMetadata(act.values, by, place, run);
      return;
    case 'set_variable':
      for (const [name, value] of Object.entries(act.values))
        try {
          setVariable(name, value, 'workflow', { as: by, run, cause: place });
        } catch (thrown) {
          // The workflow has continued already, so the log is the only place for the problem.
          const { message, hint = '' } = toRuntimeError(thrown);
          log.append({ type: 'audit', who: by, what: `$${name} was not set. ${message} ${hint}` }, place);
        }
      return;
    case 'notify':
      log.append({ type: 'custom', name: 'notify', data: noticeOf(act, run, workflow) }, place);
      return;
    case 'emit':
      log.append({ type: 'custom', name: act.event, data: act.data ?? null }, place);
      return;
  }
}

const noticeOf = (
  { message, to, data }: Extract<AskMessage['act'], { readonly kind: 'notify' }>,
  run: string,
  workflow: string,
): JsonObject => ({
  message,
  ...(to === undefined ? {} : { to }),
  ...(data === undefined ? {} : { data }),
  workflow,
  run,
});

const known = (run: string, what: string) =>
  ({ type: 'audit', who: 'runtime', what: `${run} said ${what} again: it was done before` }) as const;

const isTold = (news: WorkflowManifest['news'] | undefined, { status }: RunEnd): boolean =>
  news === 'ends' || (news === 'failures' && status !== 'completed');

/** The event for an end, without the run and the workflow. */
function endEvent(end: RunEnd): DistributiveOmit<EndEventBody, 'run' | 'workflow' | 'told'> {
  switch (end.status) {
    case 'completed':
      return { type: 'workflow.completed', output: end.output };
    case 'failed':
      return { type: 'workflow.failed', error: end.error };
    case 'cancelled':
      return { type: 'workflow.cancelled', reason: end.reason };
  }
}

type EndEventBody = Extract<
  EventBody,
  { readonly type: 'workflow.completed' | 'workflow.failed' | 'workflow.cancelled' }
>;
type DistributiveOmit<T, Keys extends string> = T extends unknown ? Omit<T, Keys> : never;
