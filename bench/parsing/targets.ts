/** One line of a measurement: what a contestant needed and found at one chunk size. */
export interface Row {
  readonly name: string;
  readonly chunk: number;
  readonly megabytesPerSecond: number;
  readonly nsPerChunk: number;
  readonly cpuMs: number;
  readonly wallMs: number;
  /** Its CPU time divided by ours in the same round; the median over the rounds. */
  readonly timeToOurs: number;
  readonly timeToOursRange: readonly [low: number, high: number];
  /** Absent for contestants that read no bodies. */
  readonly intact?: number;
  readonly phantom?: number;
  readonly stopped?: string;
}

export interface Verdict {
  readonly target: string;
  readonly found: string;
  readonly met: boolean;
}

export interface Judged {
  readonly rows: readonly Row[];
  readonly ours: string;
  readonly minimal: string;
  readonly htmlparser2: string;
  readonly bodies: number;
  /** The hash of the events for each way of feeding. */
  readonly fingerprints: Readonly<Record<string, string>>;
}

/** The targets of the parser, as far as what was measured can decide them. */
export function judge({
  rows,
  ours,
  minimal,
  htmlparser2,
  bodies,
  fingerprints,
}: Judged): readonly Verdict[] {
  const at = (name: string, chunk: number) => rows.find((row) => row.name === name && row.chunk === chunk);
  const verdicts: Verdict[] = [];
  const floor = at(minimal, 4);
  if (floor) {
    const times = 1 / floor.timeToOurs;
    verdicts.push({
      target: 'at most 1.5 times the minimal machine’s time at 4 characters',
      found: `${times.toFixed(2)} times`,
      met: times <= 1.5,
    });
  }
  for (const [chunk, wanted] of [
    [4, 2],
    [64, 3],
  ] as const) {
    const peer = at(htmlparser2, chunk);
    if (!peer) continue;
    verdicts.push({
      target: `at least ${wanted} times htmlparser2’s speed at ${chunk} characters`,
      found: `${peer.timeToOurs.toFixed(2)} times`,
      met: peer.timeToOurs >= wanted,
    });
  }
  for (const row of rows.filter(({ name }) => name === ours)) {
    verdicts.push({
      target: `every body intact at ${row.chunk} characters, and none that nobody said`,
      found: `${row.intact ?? 0} of ${bodies}, ${row.phantom ?? 0} not said`,
      met: row.intact === bodies && row.phantom === 0,
    });
  }
  const hashes = new Set(Object.values(fingerprints));
  verdicts.push({
    target: `the same events for ${Object.keys(fingerprints).join(', ')}`,
    found:
      hashes.size === 1 ? `one hash, ${[...hashes][0]!.slice(0, 12)}` : `${hashes.size} different hashes`,
    met: hashes.size === 1,
  });
  return verdicts;
}
