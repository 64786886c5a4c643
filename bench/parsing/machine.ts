import { cpus, loadavg } from 'node:os';

/** What the figures were taken on; the load says how much company there was. */
export function describeMachine(): string {
  const [first] = cpus();
  const load = loadavg()[0]!.toFixed(1);
  return `Node ${process.version}, ${cpus().length} × ${first?.model ?? 'unknown CPU'}, load average ${load}`;
}
