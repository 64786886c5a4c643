import type { Json, JsonObject } from '../lib/json.ts';
import type { IssuePath } from '../manifest/diagnostic.ts';

/** What became of a construct: as it was, in another form, or not converted. */
export type ReportOutcome = 'kept' | 'changed' | 'left';

export interface Entry {
  /** The step, agent or other part of the file it belongs to; null for the file as a whole. */
  readonly step: string | null;
  /** The key, or what stands behind it. */
  readonly construct: string;
  readonly outcome: ReportOutcome;
  /** What it is now, or why it could not be converted. */
  readonly how: string;
  readonly line?: number;
  /** Where it stands, if in another file than the one the report is about. */
  readonly file?: string;
}

/** The place of a construct: the part it belongs to, and where that stands; no path where another file has it. */
export interface ReportPlace {
  readonly step: string | null;
  readonly path?: IssuePath | undefined;
}

export interface Report {
  note(place: ReportPlace, construct: string, outcome: ReportOutcome, how: string): void;
  /** Whether anything was said of a key. */
  has(place: ReportPlace, key: string): boolean;
  entries(): readonly Entry[];
}

/** A report on one file. `lineOf` gives the line of a path in it, from 1. */
export function createReport(lineOf: (path: IssuePath) => number, file?: string): Report {
  const entries = new Map<string, Entry>();
  const keys = new Set<string>();
  return {
    note({ step, path }, construct, outcome, how) {
      const key = keyOf(construct);
      const id = JSON.stringify([step, construct, outcome, how]);
      keys.add(JSON.stringify([step, key]));
      if (entries.has(id)) return;
      const line = path === undefined ? {} : { line: lineOf([...path, key]) };
      entries.set(id, { step, construct, outcome, how, ...line, ...(file === undefined ? {} : { file }) });
    },
    has: ({ step }, key) => keys.has(JSON.stringify([step, key])),
    entries: () => [...entries.values()],
  };
}

/** `promptBlocks.goal` belongs to `promptBlocks`. */
const keyOf = (construct: string): string => construct.split(/[ .[]/, 1)[0] ?? construct;

export const countsOf = (entries: readonly Entry[]): Readonly<Record<ReportOutcome, number>> => {
  const of = (outcome: ReportOutcome) => entries.filter((entry) => entry.outcome === outcome).length;
  return { kept: of('kept'), changed: of('changed'), left: of('left') };
};

/** What was changed or left, as comments in the manifest. */
export const remarksOf = (entries: readonly Entry[]): readonly string[] =>
  entries.flatMap(({ step, construct, outcome, how }) => {
    if (outcome === 'kept') return [];
    return [`${step === null ? '' : `${step}, `}${construct} (${outcome}): ${how}`];
  });

/**
 * One map of a source file, read key by key. Each read says what becomes of the value; `rest` reports every key that
 * nobody read, so nothing is dropped silently. An absent or null value is read as undefined and not reported.
 */
export class SourceFields {
  readonly value: JsonObject;
  readonly #place: Required<ReportPlace>;
  readonly #report: Report;
  /** What stands in front of a key in the report: `engine.` for the keys of a nested map. */
  readonly #prefix: string;
  readonly #read = new Set<string>();

  constructor(value: JsonObject, place: Required<ReportPlace>, report: Report, prefix = '') {
    this.value = value;
    this.#place = place;
    this.#report = report;
    this.#prefix = prefix;
  }

  kept(key: string, how: string = key): Json | undefined {
    return this.#take(key, 'kept', how);
  }

  changed(key: string, how: string): Json | undefined {
    return this.#take(key, 'changed', how);
  }

  left(key: string, why: string): Json | undefined {
    return this.#take(key, 'left', why);
  }

  /** The value without a word in the report: whoever reads it says what becomes of it with `note`. */
  take(key: string): Json | undefined {
    this.#read.add(key);
    return this.value[key] ?? undefined;
  }

  note(key: string, outcome: ReportOutcome, how: string): void {
    this.#read.add(key);
    const { step, path } = this.#place;
    this.#report.note({ step, path }, `${this.#prefix}${key}`, outcome, how);
  }

  /** Notes a key as kept if it could be converted, and as left if not. */
  either(key: string, isKept: boolean, how: string, why: string): void {
    this.note(key, isKept ? 'kept' : 'left', isKept ? how : why);
  }

  /** Notes a key whose value is a name, which may have become another one. */
  named(key: string, name: string, how = key): void {
    this.note(key, this.value[key] === name ? 'kept' : 'changed', `${how} ${name}`);
  }

  /** The map under a key, to be read key by key itself; an empty one if there is none. */
  map(key: string): SourceFields {
    const value = this.value[key];
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (isMap) this.#read.add(key);
    const inside = isMap ? (value as JsonObject) : {};
    return new SourceFields(inside, this.#place, this.#report, `${this.#prefix}${key}.`);
  }

  /** Reads each of the keys, parted by spaces, as `left` does. */
  leave(keys: string, why: string): void {
    for (const key of keys.split(' ')) this.left(key, why);
  }

  /** Reports the keys that were not read. */
  rest(why = 'nothing here corresponds to it'): void {
    for (const [key, value] of Object.entries(this.value))
      if (!this.#read.has(key) && value !== null) this.note(key, 'left', why);
  }

  #take(key: string, outcome: ReportOutcome, how: string): Json | undefined {
    const value = this.take(key);
    if (value !== undefined) this.note(key, outcome, how);
    return value;
  }
}
