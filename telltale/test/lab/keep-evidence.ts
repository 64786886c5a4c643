import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Evidence, Verdict } from './evidence.ts';

/** Writes what a failed round left into its folder, to be looked at: a file a log, and what did not hold. */
export function keepEvidence(
  folder: string,
  { lines, seen, owned, asked }: Evidence,
  verdict: Verdict,
): void {
  mkdirSync(join(folder, 'streams'), { recursive: true });
  for (const [stream, events] of lines)
    writeFileSync(join(folder, 'streams', `${nameOf(stream)}.jsonl`), `${events.join('\n')}\n`);
  for (const [stream, events] of seen)
    if (events.some((line, index) => line !== lines.get(stream)?.[index]))
      writeFileSync(join(folder, 'streams', `${nameOf(stream)}.seen.jsonl`), `${events.join('\n')}\n`);
  const rest = { breaches: verdict.breaches, asked, owned };
  for (const [name, value] of Object.entries(rest))
    writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(value, null, 1)}\n`);
}

/** Ids of called runs hold what no file's name may. */
const nameOf = (stream: string): string => stream.replaceAll('/', '_');
