/** JSON that was parsed, read without trusting its shape. */
export type Bag = Readonly<Record<string, unknown>>;

export const isBag = (value: unknown): value is Bag =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Collects what a provider would refuse, each with the path of the field. */
export class Problems {
  readonly found: string[] = [];

  add(path: string, what: string): void {
    this.found.push(`${path}: ${what}`);
  }

  /** The value if it is an object, else a problem and an empty one. */
  object(value: unknown, path: string): Bag {
    if (isBag(value)) return value;
    this.add(path, `expected an object, but got ${kindOf(value)}`);
    return {};
  }

  list(value: unknown, path: string): readonly unknown[] {
    if (Array.isArray(value)) return value;
    this.add(path, `expected an array, but got ${kindOf(value)}`);
    return [];
  }

  text(value: unknown, path: string): string {
    if (typeof value === 'string') return value;
    this.add(path, `expected a string, but got ${kindOf(value)}`);
    return '';
  }

  /** A text that providers refuse if it is empty or only white space. */
  filled(value: unknown, path: string): string {
    const text = this.text(value, path);
    if (typeof value === 'string' && text.trim() === '') this.add(path, 'text must not be empty');
    return text;
  }

  /** A string of JSON that holds an object, as the arguments of a call do. */
  jsonObject(value: unknown, path: string): void {
    const text = this.text(value, path);
    try {
      if (!isBag(JSON.parse(text))) this.add(path, 'the arguments are not a JSON object');
    } catch {
      this.add(path, 'the arguments are not valid JSON');
    }
  }

  /** Only these fields are known; providers refuse unknown ones. */
  known(value: Bag, names: readonly string[], path: string): void {
    for (const name of Object.keys(value))
      if (!names.includes(name)) this.add(path, `unknown field "${name}"`);
  }

  matches(text: string, pattern: RegExp, path: string): void {
    if (!pattern.test(text)) this.add(path, `"${text.slice(0, 80)}" does not match ${pattern.source}`);
  }

  /** Adds `key` to `seen`, and reports it if it was there. */
  unique(key: string, seen: Set<string>, path: string): void {
    if (seen.has(key)) this.add(path, `"${key.slice(0, 80)}" was used before`);
    seen.add(key);
  }

  /** The encoded body, against the limit of the provider. */
  size(body: unknown, most: number): void {
    const bytes = Buffer.byteLength(JSON.stringify(body) ?? '');
    if (bytes > most) this.add('body', `has ${bytes} bytes, more than ${most}`);
  }
}

const kindOf = (value: unknown): string =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'an array'
      : value === undefined
        ? 'nothing'
        : typeof value;

/** Calls of one message wait for the results that the next messages must bring. */
export class Pairing {
  /** Ids of every call in the request. */
  private readonly all = new Set<string>();
  private open = new Map<string, string>();

  private readonly problems: Problems;

  constructor(problems: Problems) {
    this.problems = problems;
  }

  call(id: string, path: string): void {
    this.problems.unique(id, this.all, path);
    this.open.set(id, path);
  }

  result(id: string, path: string): void {
    if (!this.open.delete(id))
      this.problems.add(path, `"${id.slice(0, 80)}" answers no call of the message before`);
  }

  /** The place where all calls must have been answered. */
  settled(): void {
    for (const [id, path] of this.open)
      this.problems.add(path, `the call "${id.slice(0, 80)}" has no result`);
    this.open = new Map();
  }

  get waiting(): boolean {
    return this.open.size > 0;
  }
}
