import { visibleCovered } from '../../lib/approved-files.ts';
import type { ErrorJson } from '../../lib/errors.ts';
import { identityText } from '../../lib/ids.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { visibleText } from '../../lib/text.ts';
import type { SessionEvent } from '../../log/event.ts';
import type { RunEvent } from '../../log/run-event.ts';
import { clip } from './channels.ts';

/** Something that people may want to know about. */
export interface Notice {
  /** The names that rules use for it. `notify` for a step's message. */
  readonly about: readonly string[];
  readonly message: string;
  readonly data: JsonObject;
  /** The channel that a step chose. */
  readonly to?: string;
}

/** The event types that can become notices. All others are skipped immediately. */
const TYPES = [
  ...(['session.completed', 'session.failed', 'session.stalled', 'session.cancelled'] as const),
  ...(['turn.failed', 'action.failed', 'review.requested', 'step.stuck', 'custom'] as const),
  ...(['workflow.completed', 'workflow.failed', 'workflow.cancelled'] as const),
];
const NOTICED: ReadonlySet<string> = new Set(TYPES);

type Noticed<Event> = Extract<Event, { readonly type: (typeof TYPES)[number] }>;

export const mayBeNotice = (event: WatchedEvent): event is Noticed<WatchedEvent> =>
  NOTICED.has(event.type) && (event.type !== 'custom' || event.name === 'notify');

const MAX_MESSAGE = 1_000;
/** The most characters of its data as JSON. Larger data is on the log. */
const MAX_DATA = 16_384;
/** The most characters quoted from a result. */
const MAX_QUOTE = 300;

/** The notice for an event. Undefined if there is none. */
export function noticeOf(event: WatchedEvent, place: StreamPlace): Notice | undefined {
  if (!mayBeNotice(event)) return undefined;
  const said = isOfRun(event) ? ofRun(event, place) : ofSession(event as Noticed<SessionEvent>, place);
  if (said === undefined) return undefined;
  return {
    ...said,
    message: clip(visibleText(said.message.replaceAll('\0', ' ')), MAX_MESSAGE),
    data: bounded(said.data),
  };
}

function bounded(data: JsonObject): JsonObject {
  const { length } = JSON.stringify(data);
  return length <= MAX_DATA ? data : { left_out: `${length} characters` };
}

function ofSession(event: Noticed<SessionEvent>, { agent, isTop }: StreamPlace): Notice | undefined {
  const top = (message: string, data: JsonObject, ...more: readonly string[]) =>
    isTop ? { about: [event.type, ...more], message, data } : undefined;
  switch (event.type) {
    case 'session.completed':
      return top(`${agent} is done: ${quote(event.result)}`, { result: event.result });
    case 'session.failed':
      return top(`${agent} failed: ${event.error.message}`, { error: errorOf(event) });
    case 'session.stalled':
      return top(`${agent} has stalled: ${event.error.message}`, { error: errorOf(event) }, 'stuck');
    case 'session.cancelled':
      return top(`${agent} was cancelled by ${identityText(event.by)}: ${event.reason}`, {
        reason: event.reason,
        by: event.by,
      });
    case 'turn.failed':
      return top(`A turn of ${agent} failed: ${event.error.message}`, { error: errorOf(event) });
    case 'action.failed':
      return top(`The action ${event.id} of ${agent} failed: ${event.error.message}`, {
        action: event.id,
        error: errorOf(event),
      });
    case 'review.requested': {
      const { review, target, what, because } = event;
      return {
        about: [event.type],
        message: `${agent} waits for you: ${what}`,
        data: { review, target, what, because, ...visibleCovered(event) },
      };
    }
    case 'custom':
      return ofStep(event.data);
    // It is on the run's own log, too.
    case 'workflow.completed':
    case 'workflow.failed':
    case 'workflow.cancelled':
      return undefined;
  }
}

function ofRun(
  event: Noticed<RunEvent>,
  { isTop, workflow = 'a workflow' }: StreamPlace,
): Notice | undefined {
  const top = (message: string, data: JsonObject) =>
    isTop ? { about: [event.type], message, data: { workflow, ...data } } : undefined;
  switch (event.type) {
    case 'workflow.completed':
      return top(`The workflow ${workflow} is done: ${quote(event.output)}`, { output: event.output });
    case 'workflow.failed':
      return top(`The workflow ${workflow} failed: ${event.error.message}`, { error: errorOf(event) });
    case 'workflow.cancelled':
      return top(`The workflow ${workflow} was cancelled by ${identityText(event.by)}: ${event.reason}`, {
        reason: event.reason,
        by: event.by,
      });
    case 'review.requested': {
      const { review, step, prompt, options, assignee, due } = event;
      return {
        about: [event.type],
        message: `The workflow ${workflow} waits for ${assignee ?? 'you'}: ${prompt}`,
        data: {
          review,
          workflow,
          step,
          prompt,
          options,
          ...(assignee === undefined ? {} : { assignee }),
          ...(due === undefined ? {} : { due }),
        },
      };
    }
    case 'step.stuck':
      return {
        about: ['stuck'],
        message: `The step ${event.step} of ${workflow} is stuck: ${event.why}`,
        data: { workflow, step: event.step, why: event.why },
      };
    case 'custom':
      return ofStep(event.data);
  }
}

const errorOf = ({
  error: { code, message, hint, retryable },
}: {
  readonly error: ErrorJson;
}): JsonObject => ({ code, message, retryable, ...(hint === undefined ? {} : { hint }) });

/** The notice that a `notify` step puts on a log. */
function ofStep(written: Json): Notice | undefined {
  if (!isJsonObject(written)) return undefined;
  const { message, to, data = null, workflow } = written;
  if (typeof message !== 'string') return undefined;
  return {
    about: ['notify'],
    message,
    data: { data, ...(typeof workflow === 'string' ? { workflow } : {}) },
    ...(typeof to === 'string' && to !== '' ? { to } : {}),
  };
}

const quote = (value: Json): string =>
  clip(typeof value === 'string' ? value : JSON.stringify(value), MAX_QUOTE);

export type WatchedEvent = SessionEvent | RunEvent;

/** The owner of a stream. */
export interface StreamPlace {
  /** The top-level agent. Its rules apply to everything it starts. */
  readonly agent: string;
  /** Whether no agent or run above it handles its result. */
  readonly isTop: boolean;
  /** The workflow of a run. */
  readonly workflow?: string;
}

export const isOfRun = <Event extends WatchedEvent>(event: Event): event is Event & RunEvent =>
  !('session' in event);

export const streamOf = (event: WatchedEvent): string => (isOfRun(event) ? event.run : event.session);

export function placeOf(event: WatchedEvent): StreamPlace | undefined {
  if (event.type === 'session.started') {
    const { agent, parent } = event;
    return { agent: parent?.agents[0] ?? agent, isTop: parent === undefined };
  }
  if (event.type !== 'workflow.started') return undefined;
  const { manifest, origin, workflow } = event;
  return {
    agent: origin.agents[0] ?? manifest.agent,
    isTop: origin.parent === undefined && origin.action === undefined && origin.leads !== true,
    workflow,
  };
}
