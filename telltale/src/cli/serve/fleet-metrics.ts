import { codeIn } from '../../session/fleet/fleet.ts';
import type { Runtime } from '../../session/runtime-types.ts';

/** What `/metrics` says of the places of a process, and of the queue and the quarantine of its fleet. */
export async function fleetMetrics({ places, fleet }: Pick<Runtime, 'places' | 'fleet'>): Promise<string> {
  let text = '';
  if (places !== undefined)
    text +=
      metric('telltale_capacity', 'gauge', 'Sessions and runs that this process works on at most.', [
        ['', places.capacity],
      ]) +
      metric('telltale_working', 'gauge', 'Sessions and runs that this process has accepted.', [
        ['', places.taken],
      ]);
  if (fleet === undefined) return text;
  const { queue, laidAside } = await fleet.status();
  const byReason = new Map<string, number>();
  for (const { why } of laidAside) {
    const reason = codeIn(why) ?? 'other';
    byReason.set(reason, (byReason.get(reason) ?? 0) + 1);
  }
  const others = queue.laidAside - laidAside.length;
  if (others > 0) byReason.set('other', (byReason.get('other') ?? 0) + others);
  const reasons = [...byReason].map(([reason, count]): Sample => [`{reason="${reason}"}`, count]);
  return (
    text +
    metric('telltale_waiting', 'gauge', 'Sessions and runs of the fleet that wait for a worker.', [
      ['', queue.waiting],
    ]) +
    metric('telltale_waiting_seconds', 'gauge', 'For how long the oldest of them has waited.', [
      ['', queue.lagMs / 1_000],
    ]) +
    metric('telltale_quarantined', 'gauge', 'Sessions and runs that no worker can go on with.', reasons) +
    metric('telltale_work_retries_total', 'counter', 'Failures here after which work was offered again.', [
      ['', fleet.figures().retries],
    ])
  );
}

/** Its labels and its value. */
type Sample = readonly [labels: string, value: number];

function metric(name: string, kind: string, help: string, samples: readonly Sample[]): string {
  const lines = samples.map(([labels, value]) => `${name}${labels} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${lines.join('')}`;
}
