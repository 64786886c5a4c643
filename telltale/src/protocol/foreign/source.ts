import type { JsonObject } from '../../kernel/json.ts';
import { readJsonAt } from '../json/tolerant-json.ts';

/** A call as it stands in the text, before it is known where and how it is quoted. */
export interface RawCall {
  readonly name: string;
  readonly parameters: JsonObject;
  /** Fields of the envelope that it carries beside them, such as `id` or `depends_on`; not checked. */
  readonly fields?: JsonObject;
}

/** What a reader of one form found: at least one call, and the index behind the last character that belongs to it. */
export interface Found {
  readonly calls: readonly RawCall[];
  readonly form: ForeignForm;
  readonly end: number;
}

/** The family of formats that a call was written in. */
export type ForeignForm = 'json' | 'xml' | 'tokens' | 'react' | 'code' | 'tags';

const NAME = /^[A-Za-z_][\w.:/-]{0,127}$/;

export const isCallName = (value: unknown): value is string => typeof value === 'string' && NAME.test(value);

const WORK_PER_CHARACTER = 12;
const LEAST_WORK = 65_536;
/** What was read in vain is read again from its next bracket on. */
const COST_OF_FAILURE = 4;

/**
 * The text that is searched. Every search and every reading of JSON is paid for from one budget that grows with the
 * length of the text, so the work stays linear whatever the text holds: once it is used up, nothing more is found.
 */
export class Source {
  readonly text: string;
  readonly names: ReadonlySet<string> | undefined;
  private work: number;
  private readonly nextMark = new Map<string, number>();

  constructor(text: string, names: ReadonlySet<string> | undefined) {
    this.text = text;
    this.names = names;
    this.work = LEAST_WORK + text.length * WORK_PER_CHARACTER;
  }

  isKnown(name: string): boolean {
    return this.names !== undefined && (this.names.has(name) || this.names.has(withoutPrefix(name)));
  }

  /** Where `mark` stands next, at or behind `from`; -1 where it does not. */
  find(mark: string, from: number): number {
    const known = this.nextMark.get(mark);
    if (known !== undefined && (known === -1 || known >= from)) return known;
    if (this.work <= 0) return -1;
    const found = this.text.indexOf(mark, from);
    this.work -= (found === -1 ? this.text.length : found) - from;
    this.nextMark.set(mark, found);
    return found;
  }

  /** The JSON value that begins at `at`, as models write JSON. */
  json(at: number): { readonly value: unknown; readonly end: number } | undefined {
    if (this.work <= 0) return undefined;
    const { value, end } = readJsonAt(this.text, at);
    this.work -= (end - at + 1) * (value === undefined ? COST_OF_FAILURE : 1);
    return value === undefined ? undefined : { value, end };
  }

  /** Matches a sticky pattern at `at`. The pattern has to bound by itself how far it looks. */
  match(pattern: RegExp, at: number): RegExpExecArray | null {
    pattern.lastIndex = at;
    return pattern.exec(this.text);
  }

  /** The index of the first character at or behind `at` that is no white space. */
  skipSpace(at: number): number {
    let next = at;
    while (next < this.text.length && isBlank(this.text.charCodeAt(next))) next++;
    return next;
  }
}

/** White space, a byte order mark and a zero-width space. */
export const isBlank = (c: number): boolean =>
  c === 32 || (c >= 9 && c <= 13) || c === 0xfeff || c === 0x200b || c === 0xa0;

const PREFIX = /^(?:functions|default_api)\./;

/** OpenAI's and Gemini's models write the namespace of their tools in front of a name. */
export const withoutPrefix = (name: string): string => name.replace(PREFIX, '');
