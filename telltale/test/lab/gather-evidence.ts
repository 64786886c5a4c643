import type { Quiet } from './drain.ts';
import type { Evidence, StreamLog } from './evidence.ts';
import { partsOf } from './journal.ts';
import { LAB_ANSWERS } from './lab-project.ts';
import type { Stage } from './lab-stage.ts';
import { readLog } from './observer.ts';

/** Reads everything once more, from the first event on. What was begun after the quiet moment is left out. */
export async function gatherEvidence({
  store,
  journal,
  observer,
  workload,
  giver,
  quiet,
}: Pick<Stage, 'store' | 'journal' | 'observer' | 'workload' | 'giver'> & {
  readonly quiet: Quiet;
}): Promise<Evidence> {
  const streams = new Map<string, StreamLog>();
  const lines = new Map<string, readonly string[]>();
  for (const stream of quiet.streams) {
    const read = await readLog(store, stream);
    if (read === undefined || read.lines.length === 0) continue;
    streams.set(stream, read.log);
    lines.set(stream, read.lines);
  }
  const known = (key: string) => quiet.streams.has(partsOf(key).stream);
  return {
    streams,
    lines,
    quietAt: quiet.at,
    journal: journal.read().filter(({ key }) => known(key)),
    seen: new Map([...observer.seen].filter(([stream]) => quiet.streams.has(stream))),
    completedAt: observer.completedAt,
    owned: observer.owned,
    asked: workload.asked,
    undisturbed: LAB_ANSWERS,
    clocksSet: (giver.given.clock ?? 0) > 0,
  };
}
