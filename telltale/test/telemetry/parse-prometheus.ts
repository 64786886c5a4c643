/** A sample of Prometheus' text format. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: readonly Sample[];
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|\})/;
const NUMBER = /^ ([+-]?(?:Inf|NaN|\d+(?:\.\d+)?(?:e[+-]?\d+)?))$/;

/** Strict: whatever the format's page does not allow throws, and so do histograms that do not add up. */
export function parsePrometheus(text: string): ReadonlyMap<string, Family> {
  if (text !== '' && !text.endsWith('\n')) throw new Error('The last line has no end.');
  const families = new Map<string, { name: string; help: string; type: string; samples: Sample[] }>();
  const lines = text.split('\n').slice(0, -1);
  for (let at = 0; at < lines.length; ) {
    const help = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(lines[at++] ?? '');
    const type = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram)$/.exec(lines[at++] ?? '');
    if (help === null || type === null || help[1] !== type[1])
      throw new Error(`No HELP and TYPE before line ${at}: ${lines[at - 2]}`);
    const name = help[1] as string;
    if (families.has(name)) throw new Error(`${name} comes twice.`);
    const family = { name, help: help[2] as string, type: type[2] as string, samples: [] as Sample[] };
    families.set(name, family);
    while (at < lines.length && !lines[at]?.startsWith('#'))
      family.samples.push(sampleOf(lines[at++] as string));
    check(family);
  }
  return families;
}

function sampleOf(line: string): Sample {
  const name = NAME.exec(line)?.[0];
  if (name === undefined) throw new Error(`No sample: ${line}`);
  let rest = line.slice(name.length);
  const labels: Record<string, string> = {};
  if (rest.startsWith('{')) {
    rest = rest.slice(1);
    for (let last = ','; last === ','; ) {
      const label = LABEL.exec(rest);
      if (label === null) throw new Error(`No label at "${rest}" of ${line}`);
      const [all, key = '', value = '', end = ''] = label;
      if (key in labels) throw new Error(`${key} comes twice: ${line}`);
      labels[key] = value.replaceAll(/\\(["\\n])/g, (_, each) => (each === 'n' ? '\n' : each));
      rest = rest.slice(all.length);
      last = end;
    }
  }
  const number = NUMBER.exec(rest);
  if (number === null) throw new Error(`No number: ${line}`);
  return { name, labels, value: Number(number[1]?.replace('Inf', 'Infinity')) };
}

function check({ name, type, samples }: Family): void {
  const keys = samples.map((sample) => JSON.stringify([sample.name, sample.labels]));
  if (new Set(keys).size !== keys.length) throw new Error(`${name} has a sample twice.`);
  if (type === 'counter' && !name.endsWith('_total')) throw new Error(`${name} is a counter.`);
  if (type !== 'histogram') {
    if (samples.some((sample) => sample.name !== name)) throw new Error(`${name} has others' samples.`);
    return;
  }
  const groups = new Map<string, Sample[]>();
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels;
    const key = JSON.stringify(labels);
    groups.set(key, [...(groups.get(key) ?? []), sample]);
  }
  for (const group of groups.values()) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => Number(labels.le?.replace('Inf', 'Infinity')));
    const count = group.find((sample) => sample.name === `${name}_count`);
    const sum = group.find((sample) => sample.name === `${name}_sum`);
    if (sum === undefined || count === undefined || buckets.length + 2 !== group.length)
      throw new Error(`${name} is no whole histogram.`);
    if (bounds.at(-1) !== Number.POSITIVE_INFINITY || buckets.at(-1)?.value !== count.value)
      throw new Error(`${name}: +Inf is not the count.`);
    for (let at = 1; at < buckets.length; at++)
      if (
        (bounds[at] as number) <= (bounds[at - 1] as number) ||
        (buckets[at]?.value ?? 0) < (buckets[at - 1]?.value ?? 0)
      )
        throw new Error(`${name}: buckets do not add up.`);
  }
}
