import type { SessionEvent } from '../../src/log/event.ts';
import {
  call,
  cameToNothing,
  type GraphModel,
  isOpen,
  type Modelled,
  passed,
  shut,
  type Try,
} from './graph-model.ts';

/** As the protocol has them: `on_error: retry`, and the back-off between tries. */
const RETRIES_OF_ON_ERROR = 3;
const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 30_000;

/** Takes the next event of the log, and says what is wrong with it. */
export function saw(model: GraphModel, event: SessionEvent): readonly string[] {
  model.seen++;
  passed(model, event.at);
  switch (event.type) {
    case 'fault':
      if (event.code !== 'deadlock' && event.code !== 'duplicate_id') return [`fault ${event.code}`];
      model.faults[event.code]++;
      return [];
    case 'action.declared': {
      const one = model.actions.get(event.action.id);
      if (one === undefined || one.onLog) return [`declared ${event.action.id}, which nobody asked for`];
      one.onLog = true;
      return [];
    }
    case 'action.started':
    case 'action.completed':
    case 'action.failed':
    case 'action.skipped':
    case 'action.retrying':
    case 'action.cancelled':
    case 'action.interrupted':
    case 'action.compensated': {
      const one = model.actions.get(event.id);
      if (one === undefined || !one.onLog) return [`${event.type} ${event.id}, which was not declared`];
      model.kinds.add(kindOf(event));
      return event.type === 'action.started' ? started(model, one, event.attempt) : moved(model, one, event);
    }
    default:
      return [];
  }
}

/** What should have happened by now, where nothing more will happen by itself. */
export function owed(model: GraphModel): readonly string[] {
  const problems: string[] = [];
  const hasPlace = running(model) < model.parallelActions;
  for (const one of model.actions.values()) {
    const coming = comingOf(model, one);
    if (coming.length > 0 || !one.onLog) problems.push(`${one.action.id} ${shouldHave(coming)}`);
    else if (hasPlace && isReady(model, one)) problems.push(`${one.action.id} should have started`);
  }
  for (const [code, excess] of Object.entries(model.faults))
    if (excess !== 0) problems.push(`fault ${code}: ${excess} more than should be`);
  return problems;
}

/** `completed`, `failed boom`, `skipped dependency`, … */
function kindOf(event: SessionEvent): string {
  const short = event.type.replace('action.', '');
  if (event.type === 'action.skipped') return `${short} ${event.reason}`;
  return event.type === 'action.failed' || event.type === 'action.retrying'
    ? `${short} ${event.error.code}`
    : short;
}

const shouldHave = (coming: readonly string[]) => `should have ${coming.join(' or ') || 'said nothing'}`;

function started(model: GraphModel, one: Modelled, attempt: number): readonly string[] {
  const { id } = one.action;
  const problems: string[] = [];
  if (!isReady(model, one)) problems.push(`${id} started, but ${whyNot(model, one)}`);
  if (attempt !== one.attempts + 1) problems.push(`${id} has lost count of its tries`);
  if (running(model) >= model.parallelActions) problems.push(`${id} started without a place`);
  const made: Try = { id, attempt };
  one.attempts = attempt;
  one.phase = { at: 'running', try: made };
  if (one.target !== 'pay') call(model, made);
  return problems;
}

/** Its end, or a rest before its next try. */
function moved(
  model: GraphModel,
  one: Modelled,
  event: Exclude<SessionEvent, { type: 'action.started' }>,
): readonly string[] {
  const { id } = one.action;
  const kind = kindOf(event);
  const coming = comingOf(model, one);
  const problems = coming.includes(kind) ? [] : [`${id} ${kind}, but ${shouldHave(coming)}`];
  const end = (at: 'completed' | 'failed' | 'skipped' | 'cancelled') => {
    one.phase = { at };
    model.ended.push(id);
  };
  if (event.type === 'action.retrying') {
    if (event.delay_ms > Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (one.attempts - 1)))
      problems.push(`${id} rests for ${event.delay_ms} ms after try ${one.attempts}`);
    one.phase = { at: 'resting', until: event.at + event.delay_ms };
  } else if (event.type === 'action.completed') end('completed');
  else if (event.type === 'action.cancelled') end('cancelled');
  else if (event.type === 'action.failed') {
    end('failed');
    if (one.action.on_error === 'fail' && model.life === 'open') {
      model.fatal = id;
      shut(model, 'failed');
    }
  } else if (event.type === 'action.skipped') {
    if (event.reason === 'deadlock') model.faults.deadlock--;
    if (!isWhy(model, one, event.reason, event.because))
      problems.push(`${id} ${kind} because of ${event.because}, which is not why`);
    end('skipped');
  }
  return problems;
}

const running = ({ actions }: GraphModel) =>
  [...actions.values()].filter(({ phase }) => phase.at === 'running').length;

const isHeld = (model: GraphModel, { target, turn }: Modelled) => target === 'mail' && turn === model.turn;

const isDone = ({ actions }: GraphModel, id: string) => actions.get(id)?.phase.at === 'completed';

function isReady(model: GraphModel, one: Modelled): boolean {
  if (model.life !== 'open' || one.cancelled) return false;
  if (one.phase.at === 'resting') return one.phase.until <= model.now;
  return one.phase.at === 'waiting' && !isHeld(model, one) && one.needs.every((id) => isDone(model, id));
}

function whyNot(model: GraphModel, { cancelled, phase, needs }: Modelled): string {
  if (model.life !== 'open') return `the session is ${model.life}`;
  if (cancelled) return 'its cancel was asked for';
  if (phase.at !== 'waiting') return `it is ${phase.at}`;
  const missing = needs.filter((id) => !isDone(model, id));
  return missing.length > 0 ? `it needs ${missing.join(', ')}` : 'its turn has not ended';
}

/** Which events, other than a start, must come of it now: one of these. */
function comingOf(model: GraphModel, one: Modelled): readonly string[] {
  const { phase } = one;
  const given = one.cancelled ? ['cancelled'] : [];
  switch (phase.at) {
    case 'waiting':
      return [...given, ...skipsOf(model, one)];
    case 'resting':
      return given;
    case 'running':
      return phase.try.calledAt === undefined ? given : endsOf(model, one, phase.try);
    case 'completed':
    case 'failed':
    case 'skipped':
    case 'cancelled':
      return [];
  }
}

function skipsOf(model: GraphModel, one: Modelled): readonly string[] {
  const { needs, turn, target } = one;
  const skips: string[] = [];
  if (needs.some((id) => cameToNothing(model, id))) skips.push('skipped dependency');
  if (turn < model.turn && needs.some((id) => !model.actions.has(id)))
    skips.push('skipped unknown_dependency');
  if (target === 'mail' && model.brokenTurns.has(turn)) skips.push('skipped turn_failed');
  if (isStuck(model, one)) skips.push('skipped deadlock');
  return skips;
}

/** It waits for itself, or holds up the stream that would have to bring what it waits for. */
function isStuck(model: GraphModel, one: Modelled): boolean {
  const before = reach(model, one, isOpen);
  if (before.has(one)) return true;
  if (one.action.mode !== 'sync' || one.turn < model.turn) return false;
  return [one, ...before].some(
    (each) => isOpen(each) && (isHeld(model, each) || each.needs.some((id) => !model.actions.has(id))),
  );
}

/** What it needs, directly or through actions like these. */
function reach(
  model: GraphModel,
  one: Modelled,
  through: (each: Modelled) => boolean,
): ReadonlySet<Modelled> {
  const found = new Set<Modelled>();
  const work = [one];
  for (let at = work.pop(); at !== undefined; at = work.pop())
    for (const id of at.needs) {
      const other = model.actions.get(id);
      if (other === undefined || found.has(other)) continue;
      found.add(other);
      if (through(other)) work.push(other);
    }
  return found;
}

/** Whether a skip names what it came of. */
function isWhy(model: GraphModel, one: Modelled, reason: string, because = ''): boolean {
  if (reason === 'unknown_dependency') return one.needs.includes(because) && !model.actions.has(because);
  if (reason !== 'dependency') return true;
  const root = model.actions.get(because);
  if (root === undefined || !cameToNothing(model, because)) return false;
  return reach(model, one, ({ phase }) => phase.at === 'skipped').has(root);
}

/** A try ends when its target comes back; one that was aborted when its grace is over at the latest. */
function endsOf(model: GraphModel, one: Modelled, { outcome, aborted, attempt }: Try): readonly string[] {
  if (outcome === undefined && (aborted === undefined || model.now < aborted.at + model.graceMs)) return [];
  if (aborted?.why === 'cancelled') return ['cancelled'];
  // Where the target came back at the instant of the cancel, either may count.
  const given = one.cancelled ? ['cancelled'] : [];
  const code = aborted === undefined ? outcome : 'timeout';
  if (code === 'well') return ['completed', ...given];
  const { retry, on_error } = one.action;
  const retries = retry ?? (on_error === 'retry' ? RETRIES_OF_ON_ERROR : 0);
  if (attempt > retries || code === 'not_permitted') return [`failed ${code}`, ...given];
  return one.cancelled ? given : [`retrying ${code}`];
}
