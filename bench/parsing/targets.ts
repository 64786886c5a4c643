/** Whether one parser read the whole transcript, or each turn had one of its own, as in a runtime. */
export const FEEDS = { stream: 'one stream', turns: 'one parser a turn' } as const;
export type Feed = keyof typeof FEEDS;

/** One line of a measurement: what a contestant needed and found with one feed at one chunk size. */
export interface Row {
  readonly name: string;
  readonly feed: Feed;
  readonly chunk: number;
  readonly megabytesPerSecond: number;
  readonly nsPerChunk: number;
  readonly cpuMs: number;
  readonly wallMs: number;
  /** Its CPU time divided by ours in the same round; the median over the rounds. */
  readonly timeToOurs: number;
  readonly timeToOursRange: readonly [low: number, high: number];
  /** Its quickest sample divided by our quickest: what the ratio is when the neighbours are quiet. */
  readonly bestToOurs: number;
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

/** How many times htmlparser2's speed is asked for, by characters a chunk. */
const WANTED: Readonly<Record<number, number>> = { 4: 2, 64: 3 };

/** The targets of the parser, as far as what was measured can decide them. */
export function judge({
  rows,
  ours,
  minimal,
  htmlparser2,
  bodies,
  fingerprints,
}: Judged): readonly Verdict[] {
  const verdicts: Verdict[] = [];
  for (const own of rows.filter(({ name }) => name === ours)) {
    const rival = (name: string) =>
      rows.find((row) => row.name === name && row.chunk === own.chunk && row.feed === own.feed);
    const where = `at ${own.chunk} characters, ${FEEDS[own.feed]}`;
    const least = own.chunk === 4 ? rival(minimal) : undefined;
    if (least) {
      const times = 1 / least.timeToOurs;
      verdicts.push({
        target: `at most 1.5 times the minimal machine’s time ${where}`,
        found: `${times.toFixed(2)} times`,
        met: times <= 1.5,
      });
    }
    const peer = rival(htmlparser2);
    const wanted = WANTED[own.chunk];
    if (peer && wanted !== undefined)
      verdicts.push({
        target: `at least ${wanted} times htmlparser2’s speed ${where}`,
        found: `${peer.timeToOurs.toFixed(2)} times`,
        met: peer.timeToOurs >= wanted,
      });
    verdicts.push({
      target: `every body intact and none that nobody said ${where}`,
      found: `${own.intact ?? 0} of ${bodies}, ${own.phantom ?? 0} not said`,
      met: own.intact === bodies && own.phantom === 0,
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
