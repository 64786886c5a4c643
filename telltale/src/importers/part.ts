import type { Json, JsonObject } from '../lib/json.ts';
import { isJsonObject } from '../lib/json.ts';
import type { IssuePath } from '../manifest/diagnostic.ts';
import { type Report, SourceFields } from './report.ts';

/** A map of a source file that knows where it stands, so that the maps inside it are read and reported the same way. */
export class Part extends SourceFields {
  readonly label: string | null;
  readonly path: IssuePath;
  readonly report: Report;
  readonly prefix: string;
  readonly #children: Part[] = [];

  constructor(value: JsonObject, label: string | null, path: IssuePath, report: Report, prefix = '') {
    super(value, { step: label, path }, report, prefix);
    this.label = label;
    this.path = path;
    this.report = report;
    this.prefix = prefix;
  }

  /** The map under a key; undefined if there is none. */
  part(key: string): Part | undefined {
    const value = this.value[key];
    if (!isJsonObject(value)) return undefined;
    this.take(key);
    // Lines are looked up by the first key of a construct, which is the one with the prefix.
    const child = new Part(value, this.label, this.path, this.report, `${this.prefix}${key}.`);
    this.#children.push(child);
    return child;
  }

  /** Reports what was not read, in the maps inside it, too. */
  override rest(why?: string): void {
    super.rest(why);
    for (const child of this.#children) child.rest(why);
  }

  /**
   * Calls `read` with the maps of a list, or of a map of maps, under a key; `kind` is what they are called in the report,
   * '' for the same as this map. Other entries are reported as left. Keys of these maps that nobody has read are
   * reported by `rest`.
   */
  each(key: string, kind: string, read: (item: Part, name: string) => void): void {
    const value = this.take(key);
    if (value === undefined) return;
    if (Array.isArray(value)) this.#items([...value.entries()], key, kind, read);
    else if (isJsonObject(value)) this.#items(Object.entries(value), key, kind, read);
    else this.note(key, 'left', 'it is neither a list nor a map');
  }

  #items(
    items: readonly (readonly [string | number, Json])[],
    key: string,
    kind: string,
    read: (item: Part, name: string) => void,
  ): void {
    for (const [at, value] of items) {
      if (!isJsonObject(value)) {
        if (value !== null) this.note(`${key}[${at}]`, 'left', 'a map was expected here');
        continue;
      }
      const name = nameIn(value, at);
      const item = new Part(
        value,
        kind === '' ? this.label : `${kind} ${name}`,
        [...this.path, key, at],
        this.report,
      );
      this.#children.push(item);
      read(item, name);
    }
  }

  /** Says that a name that was read is kept, or what it is now. */
  renamed(key: string, now: string): void {
    const isKept = textOf(this.value[key]) === now;
    this.note(key, isKept ? 'kept' : 'changed', isKept ? key : `it is ${now}`);
  }

  /** The first of these keys that it has. */
  keyOf(...keys: readonly string[]): string | undefined {
    return keys.find((key) => this.value[key] !== undefined && this.value[key] !== null);
  }

  text(key: string): string | undefined {
    return textOf(this.take(key));
  }
}

const NAME_KEYS = ['name', 'key', 'id', 'function', 'agent_name', 'agent', 'trigger'];

/** What a map of a list is called; the key it stands under counts first. */
function nameIn(value: JsonObject, at: string | number): string {
  if (typeof at === 'string') return at;
  for (const key of NAME_KEYS) {
    const name = value[key];
    if (typeof name === 'string' && name.trim() !== '') return name.trim();
  }
  return String(at + 1);
}

export const textOf = (value: Json | undefined): string | undefined =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined;

export const textsOf = (value: Json | undefined): readonly string[] =>
  (Array.isArray(value) ? value : [value]).flatMap((each) => textOf(each) ?? []);

/** A map without the keys that have no value. */
export function mapOf(entries: { readonly [key: string]: Json | undefined }): JsonObject {
  const map: Record<string, Json> = {};
  for (const [key, value] of Object.entries(entries)) if (value !== undefined) map[key] = value;
  return map;
}

/** Lists by name without the empty ones; undefined if all are empty. */
export function filledOf(lists: { readonly [key: string]: readonly Json[] }): JsonObject | undefined {
  const filled = Object.entries(lists).filter(([, list]) => list.length > 0);
  return filled.length === 0 ? undefined : Object.fromEntries(filled);
}

/** Text as a template that means itself: dollars before a brace are doubled. */
export const plainText = (text: string): string => text.replace(/\$+(?=\{)/g, (dollars) => dollars + dollars);

/** A value whose texts mean themselves. */
export function plainValue(value: Json): Json {
  if (typeof value === 'string') return plainText(value);
  if (Array.isArray(value)) return value.map(plainValue);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plainValue(each)]));
}
