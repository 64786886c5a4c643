import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import type { IssuePath } from '../manifest/diagnostic.ts';
import type { Report, ReportOutcome } from './report.ts';
import { mapOf, textOf } from './values.ts';

/**
 * One map of a source file, read key by key. Each read says what becomes of the value, and `rest` reports every key that
 * nobody read, also in the maps inside. So nothing is dropped silently. An absent or null value is read as undefined and
 * not reported.
 */
export class SourceMap {
  readonly value: JsonObject;
  /** The step, agent or other part of the file that the report names; null for the file as a whole. */
  readonly label: string | null;
  /** Where the map is in its file; undefined if it comes from another file. */
  readonly path: IssuePath | undefined;
  readonly report: Report;
  /** Comes before each key in the report: `engine.` for the keys of a nested map. */
  readonly #prefix: string;
  readonly #read = new Set<string>();
  readonly #maps = new Map<string, SourceMap>();
  readonly #items: SourceMap[] = [];

  constructor(value: object, label: string | null, path: IssuePath | undefined, report: Report, prefix = '') {
    this.value = value as JsonObject;
    this.label = label;
    this.path = path;
    this.report = report;
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

  #take(key: string, outcome: ReportOutcome, how: string): Json | undefined {
    const value = this.take(key);
    if (value !== undefined) this.note(key, outcome, how);
    return value;
  }

  /** Reads each of these keys with the same outcome: each key with what became of it. */
  noteAll(outcome: ReportOutcome, how: Readonly<Record<string, string>>): void {
    for (const [key, text] of Object.entries(how)) this.#take(key, outcome, text);
  }

  /** The value without an entry in the report. Whoever reads it calls `note`. */
  take(key: string): Json | undefined {
    this.#read.add(key);
    return this.value[key] ?? undefined;
  }

  text(key: string): string | undefined {
    return textOf(this.take(key));
  }

  /** Reports on a construct: a key, or a key with what it is about: `references ID`, `loop.condition`. */
  note(construct: string, outcome: ReportOutcome, how: string): void {
    this.#read.add(construct).add(construct.split(/[ .[]/, 1)[0] ?? construct);
    this.report.note(this.label, this.path, `${this.#prefix}${construct}`, outcome, how);
  }

  /** Reports a key as kept if it could be converted, and as left otherwise. */
  either(key: string, isKept: boolean, how: string, why: string): void {
    this.note(key, isKept ? 'kept' : 'left', isKept ? how : why);
  }

  /** Reports a key whose value is a name, which may be another name now. */
  renamed(key: string, name: string, how = key): void {
    const isKept = textOf(this.value[key])?.trim() === name;
    this.note(key, isKept ? 'kept' : 'changed', `${how} ${name}`);
  }

  /** Whether anything has read or reported the key. */
  isRead(key: string): boolean {
    return this.#read.has(key);
  }

  /** The first of these keys that the map has. */
  keyOf(...keys: readonly string[]): string | undefined {
    return keys.find((key) => (this.value[key] ?? undefined) !== undefined);
  }

  /** The map under a key; undefined if there is none. */
  part(key: string): SourceMap | undefined {
    return isJsonObject(this.value[key]) ? this.map(key) : undefined;
  }

  /** The map under a key; an empty one if there is none. */
  map(key: string): SourceMap {
    const known = this.#maps.get(key);
    if (known !== undefined) return known;
    const value = this.value[key];
    if (isJsonObject(value)) this.#read.add(key);
    const inner = isJsonObject(value) ? value : {};
    // The path of the report ends with the first part of the construct: `engine` of `engine.primary`.
    const map = new SourceMap(inner, this.label, this.path, this.report, `${this.#prefix}${key}.`);
    this.#maps.set(key, map);
    return map;
  }

  /**
   * Calls `read` with the maps of a list, or of a map of maps. `kind` is what the report calls them; '' for the same as
   * this map. Other entries are reported as left.
   */
  each(key: string, kind: string, read: (item: SourceMap, name: string) => void): void {
    const value = this.take(key);
    if (value === undefined) return;
    if (typeof value !== 'object' || value === null) {
      this.note(key, 'left', 'it is neither a list nor a map');
      return;
    }
    const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
    for (const [at, item] of entries as readonly (readonly [string | number, Json])[]) {
      if (isJsonObject(item)) {
        const name = nameIn(item, at);
        const path = this.path === undefined ? undefined : [...this.path, key, at];
        const map = new SourceMap(item, kind === '' ? this.label : `${kind} ${name}`, path, this.report);
        this.#items.push(map);
        read(map, name);
      } else if (item !== null) this.note(`${key}[${at}]`, 'left', 'a map was expected here');
    }
  }

  /** Reports the keys of a map inside that are not among `known`, which is separated by spaces. */
  leaveOthers(construct: string, value: unknown, known: string): void {
    for (const key of Object.keys(mapOf(value)))
      if (!known.split(' ').includes(key))
        this.note(`${construct}.${key}`, 'left', 'nothing here corresponds to it');
  }

  /** Reads each of the keys, separated by spaces, as `left` does. */
  leave(keys: string, why: string): void {
    for (const key of keys.split(' ')) this.left(key, why);
  }

  /** Reports the keys that were not read, here and in the maps inside. */
  rest(why = 'nothing here corresponds to it'): void {
    for (const [key, value] of Object.entries(this.value))
      if (!this.#read.has(key) && (value ?? undefined) !== undefined) this.note(key, 'left', why);
    for (const inner of [...this.#maps.values(), ...this.#items]) inner.rest(why);
  }
}

const NAME_KEYS = ['name', 'key', 'id', 'function', 'agent_name', 'agent', 'trigger'];

/** The name of an entry of a map or a list. */
function nameIn(value: JsonObject, at: string | number): string {
  if (typeof at === 'string') return at;
  for (const key of NAME_KEYS) {
    const name = value[key];
    if (typeof name === 'string' && name.trim() !== '') return name.trim();
  }
  return String(at + 1);
}
