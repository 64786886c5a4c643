import type { SessionEvent } from '../../src/log/event.ts';
import { stepName } from '../../src/log/reduce-run.ts';
import { leftOpen } from '../recovery/say.ts';
import { type Act, actsOf } from './acts.ts';
import type { Evidence, StreamLog, Verdict } from './evidence.ts';
import { partsOf } from './journal.ts';
import { LAB_ORDER } from './lab-project.ts';
import { LAB_TOOLS } from './lab-tool.ts';

/** The lines of the journal about one key, by their numbers. */
interface Noted {
  readonly before: number[];
  readonly after: number[];
  tool: string;
}

/** Holds the journal, which no store knows of, against the logs. */
export function checkEffects(evidence: Evidence, verdict: Verdict): void {
  const noted = new Map<string, Noted>();
  for (const [index, { what, key, tool }] of evidence.journal.entries()) {
    const known = noted.get(key) ?? { before: [], after: [], tool };
    known[what].push(index);
    noted.set(key, known);
  }
  const acts = new Map<string, Act>();
  for (const log of evidence.streams.values()) {
    const own = actsOf(log);
    for (const act of own.values()) acts.set(act.key, act);
    checkActs(own, noted, verdict);
    checkOrder(log, own, noted, verdict);
    checkSkips(log, own, verdict);
  }
  checkNoted(evidence, noted, acts, verdict);
}

function checkActs(
  acts: ReadonlyMap<string, Act>,
  noted: ReadonlyMap<string, Noted>,
  verdict: Verdict,
): void {
  for (const act of acts.values()) {
    verdict.hold('settled', act.ends.length === 1, () => `${act.key} has ${act.ends.length} ends`);
    const done = noted.get(act.key);
    if (act.tool !== undefined && act.completed !== undefined)
      verdict.hold(
        'effects',
        (done?.after.length ?? 0) > 0,
        () => `${act.key} has completed, and was not done`,
      );
    if (act.interrupted.length === 0) continue;
    verdict.hold(
      'doubt',
      act.tool?.idempotent !== true && act.starts.length > 0,
      () =>
        `${act.key} was interrupted, ${act.starts.length === 0 ? 'and had not begun' : 'and may be done again'}`,
    );
  }
}

function checkNoted(
  { completedAt }: Evidence,
  noted: ReadonlyMap<string, Noted>,
  acts: ReadonlyMap<string, Act>,
  verdict: Verdict,
): void {
  for (const [key, { before, tool }] of noted) {
    const idempotent = LAB_TOOLS.find(({ name }) => name === tool)?.idempotent ?? false;
    const starts = acts.get(key)?.starts.length ?? 0;
    if (!idempotent)
      verdict.hold('once', before.length <= 1, () => `${key} (${tool}) was done ${before.length} times`);
    // What may be done again is begun while its intent is on its way to the log, and may be lost with what it follows
    // from: that is interrupted then, and this never began.
    const isLogged = idempotent
      ? starts > 0 || acts.get(key)?.skipped?.reason === 'dependency'
      : starts >= before.length;
    verdict.hold('intent', isLogged, () =>
      acts.has(key)
        ? `${key} (${tool}) was begun ${before.length} times, and ${starts} times on the log`
        : `${key} (${tool}) was begun, and ${partsOf(key).stream} does not know of it`,
    );
    const over = completedAt.get(key);
    if (over !== undefined)
      verdict.hold(
        'again',
        before.every((index) => index < over),
        () =>
          `${key} (${tool}) had completed, and was begun again in line ${before.find((at) => at >= over)}`,
      );
  }
}

function checkOrder(
  { stream, name, log }: StreamLog,
  acts: ReadonlyMap<string, Act>,
  noted: ReadonlyMap<string, Noted>,
  verdict: Verdict,
): void {
  const nameOf = (id: string) => (log.kind === 'run' ? stepName(id) : id);
  for (const [first, then] of LAB_ORDER[name] ?? [])
    for (const act of acts.values()) {
      if (nameOf(act.id) !== then || act.starts.length === 0) continue;
      const all = [...acts.values()].filter(({ id }) => nameOf(id) === first);
      const beside = all.filter(({ id }) => roundOf(id) === roundOf(act.id));
      for (const before of beside.length > 0 ? beside : all) {
        const [began = 0] = act.starts;
        const [ended = Number.POSITIVE_INFINITY] = before.ends;
        verdict.hold(
          'order',
          ended < began,
          () => `${stream}: ${act.id} began before ${before.id} had ended`,
        );
        const [start] = noted.get(act.key)?.before ?? [];
        const [end] = noted.get(before.key)?.after ?? [];
        if (start !== undefined && end !== undefined && before.completed !== undefined)
          verdict.hold('order', end < start, () => `${stream}: ${act.id} was done before ${before.id}`);
      }
    }
}

/** The log of a session says why each action was skipped: the script orders none that could not run on a quiet day. */
function checkSkips(
  { stream, name, log }: StreamLog,
  acts: ReadonlyMap<string, Act>,
  verdict: Verdict,
): void {
  if (log.kind !== 'session') return;
  const order = LAB_ORDER[name] ?? [];
  const needs = (then: string, first: string): boolean =>
    order.some(([before, behind]) => behind === then && (before === first || needs(before, first)));
  const brokenOff = brokenGroups(log.events);
  for (const { id, skipped } of acts.values()) {
    if (skipped === undefined) continue;
    const { reason, because = '' } = skipped;
    const members = [...acts.values()].filter(({ groups }) => groups.includes(because));
    const isDue =
      reason === 'dependency' &&
      ((acts.get(because)?.interrupted.length ?? 0) > 0
        ? needs(id, because)
        : brokenOff.has(because) && members.some((member) => needs(id, member.id)));
    verdict.hold('skips', isDue, () => `${stream}: ${id} was skipped (${reason}) because of "${because}"`);
  }
}

/** The `<parallel>`s that were open in the text of turns that broke off. */
function brokenGroups(events: readonly SessionEvent[]): ReadonlySet<string> {
  const broken = new Set<string>();
  let said = '';
  for (const event of events) {
    if (event.type === 'turn.started') said = '';
    else if (event.type === 'model.output') said += event.text;
    else if (event.type === 'turn.failed') for (const id of leftOpen(said)) broken.add(id);
  }
  return broken;
}

/** What stands in front of a step's name. */
const roundOf = (address: string): string => address.slice(0, address.lastIndexOf('/') + 1);
