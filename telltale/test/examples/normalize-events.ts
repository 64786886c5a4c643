import type { SessionEvent } from '../../src/log/event.ts';
import type { RunEvent } from '../../src/log/run-event.ts';

/** What differs from run to run: places on the log, times, ids of sessions, and counts that hang on these. */
const VARYING: ReadonlySet<string> = new Set([
  'seq',
  'at',
  'session',
  'child',
  'cause',
  'ms',
  'first_token_ms',
  'delay_ms',
  'usage',
  'cost_usd',
  'manifest',
  'model',
  // Its tokens vary with the times in it; that it only grows is tested for itself.
  'prompt',
  'run',
  'due',
  'origin',
  // The date, the folder and the platform that the model is told.
  'environment',
]);

/** Whether they are on the session's log hangs on who is quicker; the run's own log has them in any case. */
const RUN_ENDS: ReadonlySet<string> = new Set([
  'workflow.completed',
  'workflow.failed',
  'workflow.cancelled',
]);

/**
 * A log as lines of JSON that are the same in every run. First what the model said and what came of it, turn by turn;
 * then each action with all that happened to it, in the order of declaration: actions run side by side, so that the
 * order of their events among each other means nothing. Then each workflow run likewise, with its own log. The raw
 * stream is left out: it is in the script.
 */
export function normalizeEvents(
  events: readonly SessionEvent[],
  places: Readonly<Record<string, string>>,
  runs: readonly (readonly RunEvent[])[] = [],
): string {
  const said: object[] = [];
  const ends = new Map<number, object>();
  const actions = new Map<string, { action: object; events: object[] }>();
  /** Where copies of a sub-agent's events stand, and the action that called it: what they bring about is its own, too. */
  const copies = new Map<number, string>();
  const asked = new Set<number>();
  let turn = 0;
  const endTurn = () => {
    const end = ends.get(turn);
    if (end !== undefined) said.push(end);
    ends.delete(turn);
  };
  for (const event of events) {
    if (event.turn !== turn || event.type === 'session.completed') endTurn();
    turn = event.turn;
    // Commands run without a sandbox on some machines only.
    if (event.type === 'model.output' || (event.type === 'audit' && event.who === 'runtime')) continue;
    // What a run asks of its session, and what comes of it, stands in the run's log.
    if (event.type === 'workflow.asked') asked.add(event.seq);
    if (RUN_ENDS.has(event.type) || event.type === 'workflow.asked') continue;
    if (event.type === 'custom' && asked.has(event.cause.seq)) continue;
    if (event.type === 'action.declared') actions.set(event.action.id, { action: event.action, events: [] });
    else if (event.type === 'turn.completed') ends.set(turn, lasting(event));
    else {
      const { turn: _, id: __, action: ___, ...about } = lasting(event);
      const id = actionOf(event) ?? copies.get(event.cause.seq);
      if ('child' in event) copies.set(event.seq, event.action);
      if (id === undefined) said.push(lasting(event));
      else if (event.type !== 'custom') actions.get(id)?.events.push(about);
    }
  }
  endTurn();
  const logs = runs.map((log) => ({ workflow: workflowOf(log), log: logOf(log) }));
  const lines = [...said, ...actions.values(), ...logs].map((each) =>
    JSON.stringify(each).replace(/\brun_\w{26}\b/g, 'RUN'),
  );
  // The longest first: one place may lie in another.
  const known = Object.entries(places).toSorted(([, a], [, b]) => b.length - a.length);
  return `${lines.map((line) => known.reduce((text, [name, place]) => text.replaceAll(place, name), line)).join('\n')}\n`;
}

/**
 * A log without the words of its turns: what is the same whatever the dialect and whoever streams it. A turn that the
 * runtime cut and one that had just ended by itself are not told apart.
 */
export const withoutWords = (events: readonly SessionEvent[]): readonly SessionEvent[] =>
  events.flatMap((event) => {
    if (event.type === 'thought' || event.type === 'text') return [];
    return [event.type === 'turn.completed' && event.finish === 'cut' ? { ...event, finish: 'stop' } : event];
  });

function actionOf(event: SessionEvent): string | undefined {
  if (event.type.startsWith('action.')) return 'id' in event ? event.id : undefined;
  if ('child' in event) return event.action;
  if (event.type !== 'custom') return undefined;
  return (event.data as { readonly action?: string } | null)?.action;
}

const workflowOf = ([first]: readonly RunEvent[]): string =>
  first?.type === 'workflow.started' ? first.workflow : '';

/** How far a run had come when it was cancelled is a matter of speed, and so is whether a session still hears of it. */
function logOf(log: readonly RunEvent[]): readonly object[] {
  const end = log.at(-1);
  const kept =
    end?.type === 'workflow.cancelled'
      ? [end]
      : log.filter(({ type }) => type !== 'workflow.waiting' && type !== 'custom');
  return kept.map(({ type, ...body }) => ({ type, ...keptOf(body) }));
}

function lasting(event: SessionEvent): Readonly<Record<string, unknown>> {
  const { type, turn, ...body } = event;
  const kept = keptOf(body);
  return {
    turn,
    type,
    ...kept,
    ...('event' in event ? { event: keptOf(event.event) } : {}),
    ...('seen' in event ? { seen: keptOf(event.seen) } : {}),
  };
}

const keptOf = (fields: object) =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !VARYING.has(name)));
