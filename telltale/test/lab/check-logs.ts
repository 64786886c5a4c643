import { unsoundCauses } from '../log/unsound-causes.ts';
import type { Evidence, StreamLog, Verdict } from './evidence.ts';

/** Of many that are wrong the first say enough. */
const MOST_NAMED = 5;

/** Holds the logs against themselves, and against what was read of them before. */
export function checkLogs(evidence: Evidence, verdict: Verdict): void {
  for (const log of evidence.streams.values()) {
    verdict.hold(
      'ended',
      log.status === 'completed',
      () => `${log.stream} (${log.name}) is ${log.status}${errorOf(log)}`,
    );
    const wrong = log.log.events.findIndex(({ seq }, index) => seq !== index + 1);
    verdict.hold(
      'gapless',
      wrong < 0,
      () => `${log.stream}: event ${wrong + 1} has the seq ${log.log.events[wrong]?.seq}`,
    );
    checkWaits(log, verdict);
  }
  const logs = new Map([...evidence.streams].map(([stream, { log }]) => [stream, log.events]));
  const unsound = unsoundCauses(logs);
  verdict.hold('causes', unsound.length === 0, () => unsound.slice(0, MOST_NAMED).join('; '));
  for (const [stream, seen] of evidence.seen) {
    const lines = evidence.lines.get(stream) ?? [];
    const other = seen.findIndex((line, index) => line !== lines[index]);
    verdict.hold(
      'forks',
      other < 0,
      () => `${stream}: event ${other + 1} was ${seen[other]}, and is ${lines[other]}`,
    );
  }
  checkEpochs(evidence, verdict);
}

function errorOf({ log }: StreamLog): string {
  const last = log.events.findLast(({ type }) => type === 'session.failed' || type === 'workflow.failed');
  return last !== undefined && 'error' in last ? `: ${last.error?.code} ${last.error?.message}` : '';
}

function checkWaits({ stream, log }: StreamLog, verdict: Verdict): void {
  if (log.kind !== 'run') return;
  const set = new Map<string, number>();
  const fired = new Set<string>();
  for (const event of log.events) {
    if (event.type === 'timer.set') {
      verdict.hold('waits', !set.has(event.id), () => `${stream}: ${event.id} was set twice`);
      set.set(event.id, event.due);
    }
    if (event.type !== 'timer.fired') continue;
    verdict.hold('waits', !fired.has(event.id), () => `${stream}: ${event.id} fired twice`);
    fired.add(event.id);
    const due = set.get(event.id) ?? Number.POSITIVE_INFINITY;
    verdict.hold('waits', event.at >= due, () => `${stream}: ${event.id} fired ${due - event.at} ms early`);
  }
  for (const id of set.keys())
    verdict.hold('waits', fired.has(id), () => `${stream}: ${id} was set, and never fired`);
}

function checkEpochs({ owned }: Evidence, verdict: Verdict): void {
  const last = new Map<string, { readonly epoch: number; readonly owner: string }>();
  for (const { stream, epoch, owner } of owned) {
    const before = last.get(stream);
    last.set(stream, { epoch, owner });
    if (before === undefined) continue;
    const rises = epoch > before.epoch || (epoch === before.epoch && owner === before.owner);
    verdict.hold(
      'forks',
      rises,
      () => `${stream}: epoch ${before.epoch} of ${before.owner}, then epoch ${epoch} of ${owner}`,
    );
  }
}
