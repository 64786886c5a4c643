import type { WhyChain } from '../../../../../telltale/src/client/api.ts';
import type { SessionEvent } from '../../../../../telltale/src/log/event.ts';
import type { RunEvent } from '../../../../../telltale/src/log/run-event.ts';
import { eventClause } from './event-clause.ts';
import { runEventClause } from './run-event-clause.ts';

export type StreamEvent = SessionEvent | RunEvent;

/** A link of the chain: what happened, and where. `stream` is set if it is on another log than the link before. */
export interface WhyLink {
  readonly event: StreamEvent;
  readonly stream: string;
  readonly isRun: boolean;
  readonly seq: number;
  readonly clause: string;
  readonly isElsewhere: boolean;
}

export interface WhyStory {
  /** The whole story in one sentence. */
  readonly summary: string;
  readonly links: readonly WhyLink[];
  /** How it started: `outside`, or a cause that is on no log any more. */
  readonly origin: string;
}

const isRunEvent = (event: StreamEvent): event is RunEvent => 'run' in event && !('session' in event);

const streamOf = (event: StreamEvent): string => (isRunEvent(event) ? event.run : event.session);

const clauseOf = (event: StreamEvent): string =>
  isRunEvent(event) ? runEventClause(event) : eventClause(event);

export function whyStory({ events, lost }: WhyChain): WhyStory {
  const links = events.map((event, at): WhyLink => {
    const effect = events[at - 1];
    return {
      event,
      stream: streamOf(event),
      isRun: isRunEvent(event),
      seq: event.seq,
      clause: clauseOf(event),
      isElsewhere: effect !== undefined && streamOf(effect) !== streamOf(event),
    };
  });
  const origin =
    lost === undefined
      ? 'A person or a program started it all.'
      : `Before that, event ${lost.seq} of ${lost.stream}, which is no longer in this store.`;
  return { summary: summaryOf(links), links, origin };
}

/** Links that a summary omits, because they repeat their neighbors. */
const PLAIN: ReadonlySet<string> = new Set([
  'action.started',
  'model.output',
  'workflow.asked',
  'timer.set',
  'step.started',
]);
/** How many causes a summary names in addition to the event. */
const MAX_TOLD = 4;

function summaryOf(links: readonly WhyLink[]): string {
  const [asked, ...causes] = links;
  if (asked === undefined) return '';
  const telling = causes.filter(({ event }) => !PLAIN.has(event.type));
  const told = telling.length <= MAX_TOLD ? telling : [...telling.slice(0, MAX_TOLD - 1), telling.at(-1)];
  const parts = told.flatMap((link) => (link === undefined ? [] : [partOf(link)]));
  const text = [asked.clause, ...parts].join(', because ').replace(', because', ' because');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

const partOf = ({ clause, seq, event }: WhyLink): string => {
  if (event.type === 'turn.started') return clause;
  const turn =
    'turn' in event && event.turn > 0 && event.type !== 'session.started' ? ` in turn ${event.turn}` : '';
  return `${clause} (event ${seq})${turn}`;
};
