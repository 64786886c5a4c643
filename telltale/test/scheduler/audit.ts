import { type ActionStatus, type DeclaredAction, hasEnded } from '../../src/log/action.ts';
import type { SessionEvent } from '../../src/log/event.ts';

/**
 * An independent, slow and simple account of what a scheduler may do: it reads the log from the front and knows nothing
 * of graphs. `problems` are what should not have happened.
 */
export interface Audit {
  readonly problems: readonly string[];
  readonly actions: ReadonlyMap<string, Seen>;
}

interface Seen {
  readonly action: DeclaredAction;
  /** Its place among the declared. */
  readonly order: number;
  status: ActionStatus;
  attempts: number;
  because?: string;
  /** The last try has failed, and another will come. */
  resting: boolean;
}

export interface Circumstances {
  readonly parallelActions: number;
  /** Places on the log at which the process was started anew. */
  readonly restarts: readonly number[];
  /** The place after which nothing may start. */
  readonly cancelledAt?: number;
  /** Ids that may still get members. */
  readonly openGroup: string;
  /** Names that stand for something without an action. */
  readonly outside: readonly string[];
  /** Whether the actions of this turn still wait for its end. */
  readonly turnOpen: boolean;
}

const bad = (seen: Seen) => hasEnded(seen.status) && seen.status !== 'completed';
const isLoop = ({ action }: Seen) => action.name === 'foreach';
const loopActions = ({ action }: Seen) => action.parameters.actions as unknown as readonly DeclaredAction[];

interface Named {
  readonly name: string;
  /** `$id` as the whole string, not `{{id}}` in a text. */
  readonly whole: boolean;
}

/** Ids named in the strings of a value. The random graphs know no other references. */
const namesIn = (value: unknown): readonly Named[] => {
  if (typeof value !== 'string')
    return typeof value === 'object' && value !== null ? Object.values(value).flatMap(namesIn) : [];
  const whole = /^\$(\w+)$/.exec(value)?.[1];
  if (whole !== undefined) return [{ name: whole, whole: true }];
  return [...value.matchAll(/\{\{(\w+)\}\}/g)].map(([, name = '']) => ({ name, whole: false }));
};

export function audit(events: readonly SessionEvent[], circumstances: Circumstances): Audit {
  const problems: string[] = [];
  const actions = new Map<string, Seen>();
  let running = new Set<string>();
  let turnsEnded = 0;

  /** What `id` stands for: itself, the members of a group, all rounds of a loop's action (and the loop). */
  const expanded = (id: string): readonly Seen[] => {
    const one = actions.get(id);
    if (one !== undefined) return [one];
    const base = /^(\w+)\[\d+\]$/.exec(id)?.[1];
    return base === undefined ? collected(id) : expanded(base); // a round that was not made stands for all
  };

  /** Where a round was named before it was made, all rounds may be meant. */
  const loosely = (id: string): readonly Seen[] => {
    const base = /^(\w+)\[\d+\]$/.exec(id)?.[1];
    return base === undefined ? expanded(id) : [...expanded(id), ...expanded(base)];
  };

  const collected = (id: string): readonly Seen[] =>
    [...actions.values()].filter(
      (seen) =>
        seen.action.base === id ||
        (seen.action.group === id && !isLoop(seen)) ||
        (isLoop(seen) && loopActions(seen).some((action) => action.id === id || action.group === id)),
    );

  /** What must have succeeded before it may start. `late`: `$id`s that named nothing when it was declared. */
  const needsOf = (seen: Seen): { ids: readonly string[]; late: readonly string[] } => {
    const { action } = seen;
    const names = isLoop(seen) ? namesIn(action.parameters.in) : namesIn(action.parameters);
    const siblings = siblingsOf(seen);
    const ids = [...(action.depends_on ?? [])];
    const late: string[] = [];
    for (const { name, whole } of names) {
      if (action.locals !== undefined && Object.hasOwn(action.locals, name)) continue;
      if (name === action.id) continue; // nothing had the name before: ids are taken once
      if (siblings.includes(name)) ids.push(`${name}[${action.index}]`);
      else if (expanded(name).some((other) => other.order < seen.order)) ids.push(name);
      // A list may be declared behind its loop, as what `depends_on` names.
      else if (isLoop(seen) && !circumstances.outside.includes(name)) ids.push(name);
      else if (whole) late.push(name);
    }
    return { ids, late };
  };

  const siblingsOf = ({ action }: Seen): readonly string[] => {
    if (action.base === undefined) return [];
    const loop = [...actions.values()].find(
      (seen) => isLoop(seen) && loopActions(seen).some(({ id }) => id === action.base),
    );
    return loop === undefined ? [] : loopActions(loop).map(({ id }) => id);
  };

  /** Everything `seen` waits for, directly or not. */
  const reach = (seen: Seen): { actions: ReadonlySet<Seen>; unseen: boolean; held: boolean } => {
    const found = new Set<Seen>();
    let unseen = false;
    let held = seen.action.name === 'mail';
    const work = [seen];
    for (let at = work.pop(); at !== undefined; at = work.pop()) {
      if (at !== seen && hasEnded(at.status)) continue;
      const { ids, late } = needsOf(at);
      unseen ||= ids.some((id) => loosely(id).length === 0);
      // What a variable names that was declared meanwhile is waited for, too.
      for (const id of [...ids, ...late])
        for (const other of loosely(id)) {
          held ||= other.action.name === 'mail' && other.status === 'waiting';
          if (found.has(other)) continue;
          found.add(other);
          work.push(other);
        }
    }
    return { actions: found, unseen, held };
  };

  const check = (fine: boolean, what: string, event: SessionEvent) => {
    if (!fine) problems.push(`${event.seq} ${event.type} ${'id' in event ? event.id : ''}: ${what}`);
  };

  const end = (id: string, status: ActionStatus, event: SessionEvent): Seen | undefined => {
    const seen = actions.get(id);
    check(seen !== undefined, 'was never declared', event);
    if (seen === undefined) return undefined;
    check(!hasEnded(seen.status), `had ended before: ${seen.status}`, event);
    seen.status = status;
    seen.resting = false;
    running.delete(id);
    return seen;
  };

  for (const event of events) {
    if (circumstances.restarts.includes(event.seq - 1)) running = new Set();
    switch (event.type) {
      case 'turn.completed':
      case 'turn.failed':
        turnsEnded++;
        break;
      case 'action.declared': {
        check(!actions.has(event.action.id), 'was declared before', event);
        const order = actions.size;
        actions.set(event.action.id, {
          action: event.action,
          order,
          status: 'waiting',
          attempts: 0,
          resting: false,
        });
        break;
      }
      case 'action.started': {
        const seen = actions.get(event.id);
        if (seen === undefined) {
          problems.push(`${event.id} started without a declaration`);
          break;
        }
        check(!hasEnded(seen.status), 'started after its end', event);
        check(event.attempt === seen.attempts + 1, 'has lost count of its attempts', event);
        check(!running.has(event.id), 'runs already', event);
        const restarted = circumstances.restarts.some((place) => place < event.seq);
        check(seen.attempts === 0 || seen.resting || restarted, 'was started twice', event);
        check(
          seen.action.name !== 'pay' || seen.attempts === 0 || seen.resting,
          'must not be run again',
          event,
        );
        check(
          circumstances.cancelledAt === undefined || event.seq <= circumstances.cancelledAt,
          'started after everything was cancelled',
          event,
        );
        if (seen.attempts === 0)
          for (const id of needsOf(seen).ids) {
            const others = expanded(id);
            check(others.length > 0, `started before ${id} was declared`, event);
            for (const other of others)
              check(other.status === 'completed', `started before ${other.action.id}`, event);
          }
        seen.status = 'running';
        seen.attempts = event.attempt;
        seen.resting = false;
        if (!isLoop(seen)) running.add(event.id);
        check(running.size <= circumstances.parallelActions, `${running.size} run at once`, event);
        break;
      }
      case 'action.retrying': {
        const seen = actions.get(event.id);
        check(running.delete(event.id), 'retries what does not run', event);
        if (seen !== undefined) seen.resting = true;
        break;
      }
      case 'action.completed':
        check(actions.get(event.id)?.status === 'running', 'completed without a start', event);
        end(event.id, 'completed', event);
        break;
      case 'action.failed':
        end(event.id, 'failed', event);
        break;
      case 'action.cancelled':
        end(event.id, 'cancelled', event);
        break;
      case 'action.interrupted':
        check(actions.get(event.id)?.status === 'running', 'was interrupted without having run', event);
        end(event.id, 'interrupted', event);
        break;
      case 'action.skipped': {
        const seen = actions.get(event.id);
        if (seen !== undefined) {
          check(seen.status === 'waiting', 'was skipped though it had started', event);
          checkSkip(seen, event);
        }
        const ended = end(event.id, 'skipped', event);
        if (ended !== undefined && event.because !== undefined) ended.because = event.because;
        break;
      }
      default:
        break;
    }
  }

  function checkSkip(seen: Seen, event: Extract<SessionEvent, { type: 'action.skipped' }>): void {
    const { ids, late } = needsOf(seen);
    switch (event.reason) {
      case 'dependency': {
        const others = [...ids, ...late].flatMap(loosely);
        check(others.some(bad), 'was skipped though nothing it needs has failed', event);
        const root = actions.get(event.because ?? '');
        check(
          root !== undefined && bad(root),
          `was skipped because of ${event.because}, which did not fail`,
          event,
        );
        break;
      }
      case 'unknown_dependency':
        check(turnsEnded > 0, 'was skipped before the end of a turn', event);
        check(
          ids.some((id) => expanded(id).length === 0),
          'was skipped though all it needs is known',
          event,
        );
        break;
      case 'turn_failed':
        check(seen.action.name === 'mail', 'does not wait for its turn', event);
        break;
      case 'deadlock': {
        const { actions: reached, unseen, held } = reach(seen);
        const cycle =
          reached.has(seen) ||
          ids.some((id) => id.replace(/\[\d+\]$/, '') === seen.action.id) ||
          ids.includes(seen.action.group ?? '');
        const holds = seen.action.mode === 'sync' || seen.action.group !== undefined || isLoop(seen);
        check(cycle || (holds && (unseen || held)), 'was skipped though it could have started', event);
        break;
      }
      case 'if':
        check(false, 'has no test', event);
        break;
    }
  }

  checkNothingStuck();
  return { problems, actions };

  /** Everything that has not ended has something to wait for. */
  function checkNothingStuck(): void {
    const { openGroup, parallelActions, turnOpen } = circumstances;
    for (const seen of actions.values()) {
      if (seen.status !== 'waiting') continue;
      const { ids, late } = needsOf(seen);
      const named = [...ids, ...late].flatMap(loosely);
      if (ids.flatMap(expanded).some(bad)) problems.push(`${seen.action.id} waits for what has failed`);
      const waits =
        named.some(({ status }) => !hasEnded(status)) ||
        (turnOpen && [...ids, ...late].some((id) => expanded(id).length === 0)) ||
        (turnOpen && seen.action.name === 'mail') ||
        ids.includes(openGroup) ||
        running.size >= parallelActions;
      if (!waits) problems.push(`${seen.action.id} waits for nothing`);
    }
  }
}
