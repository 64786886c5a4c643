import { RESERVED_ROOTS } from '../expressions/templates/parse-template.ts';
import type { Json } from '../lib/json.ts';
import { nearest } from '../lib/nearest.ts';
import { type Finding, MANIFEST_LIMITS, quoted } from './diagnostic.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** A range of the result, and the range of the original text that it came from. */
interface Mapped {
  readonly rawStart: number;
  readonly rawEnd: number;
  readonly outStart: number;
  readonly outEnd: number;
}

export interface Substituted {
  readonly text: string;
  readonly pieces: readonly Mapped[];
  /** The environment variables that were used. Their values stay out of every message. */
  readonly used: readonly { readonly name: string; readonly value: string }[];
  /** References that could not be resolved, with their position in the original text. */
  readonly problems: readonly { readonly finding: Finding; readonly start: number; readonly end: number }[];
  /** Whether the original text consists of exactly one reference. */
  readonly whole: boolean;
}

/** How many characters from the environment may still be inserted into the document. */
export interface EnvRoom {
  left: number;
}

const NO_ITEMS: ReadonlySet<string> = new Set();

/** How many problems of one text are kept, because locating each one takes a walk through it. */
const MAX_PROBLEMS = 16;

/**
 * Replaces `${NAME}` in the text. Undefined if there is none. Values from the environment are never searched for
 * further references, neither here nor when a step runs: `${` in them becomes `$${`, the escape of templates. As in
 * shells, `:-` also replaces a variable that is set but empty.
 */
export function substituteEnv(
  raw: string,
  env: Env,
  items: ReadonlySet<string> = NO_ITEMS,
  room: EnvRoom = { left: MANIFEST_LIMITS.envCharacters },
): Substituted | undefined {
  if (!raw.includes('${')) return undefined;
  const references = findEnvReferences(raw, items);
  if (references.every((piece) => piece.type === 'text')) return undefined;
  let text = '';
  const pieces: Mapped[] = [];
  const used: { name: string; value: string }[] = [];
  const problems: { finding: Finding; start: number; end: number }[] = [];
  for (const piece of references) {
    const { start, end } = piece;
    const replaced = replace(piece, env, used, room, raw, items);
    if (typeof replaced !== 'string' && problems.length < MAX_PROBLEMS)
      problems.push({ finding: replaced, start, end });
    const out = typeof replaced === 'string' ? replaced : raw.slice(start, end);
    pieces.push({ rawStart: start, rawEnd: end, outStart: text.length, outEnd: text.length + out.length });
    text += out;
  }
  return { text, pieces, used, problems, whole: references.length === 1 };
}

function replace(
  piece: SubstituteEnvPiece,
  env: Env,
  used: { name: string; value: string }[],
  room: EnvRoom,
  raw: string,
  items: ReadonlySet<string>,
): string | Finding {
  switch (piece.type) {
    case 'text':
      return piece.text;
    case 'wrong':
      return WRONG[piece.why](piece.name, raw.slice(piece.start, piece.end));
    case 'env': {
      const value = Object.hasOwn(env, piece.name) ? env[piece.name] : undefined;
      if (piece.fallback !== undefined && !value) return piece.fallback;
      if (value === undefined) return unset(piece.name, items);
      room.left -= value.length;
      if (room.left < 0) return tooMuch(piece.name);
      if (!used.some(({ name }) => name === piece.name)) used.push({ name: piece.name, value });
      return escaped(value, raw[piece.end] === '{');
    }
  }
}

function escaped(value: string, beforeBrace: boolean): string {
  const inside = value.replace(/\$+(?=\{)/g, (dollars) => dollars + dollars);
  return beforeBrace ? inside.replace(/\$+$/, (dollars) => dollars + dollars) : inside;
}

/**
 * In capitals it was meant as a variable. Otherwise it may be a misspelled name of something that is resolved when a
 * step runs.
 */
function unset(name: string, items: ReadonlySet<string>): Finding {
  const meant = name === name.toUpperCase() ? undefined : nearest(name, [...items, ...RESERVED_ROOTS]);
  return {
    severity: 'error',
    code: 'env_unset',
    message: `The environment variable ${name} is not set.`,
    hint: `${meant === undefined ? '' : `Did you mean \${${meant}}? `}Set it, or write a default: \${${name}:-…}.`,
  };
}

/** A file with a few thousand references to a long variable would grow to gigabytes. */
const tooMuch = (name: string): Finding => ({
  severity: 'error',
  code: 'too_large',
  message: `With \${${name}} more than ${MANIFEST_LIMITS.envCharacters.toLocaleString('en')} characters of the environment would be put into this document.`,
  hint: 'Insert less, or let the agent read the value from a file or a feed of type env.',
});

const WRONG = {
  nested: (name: string): Finding => ({
    severity: 'error',
    code: 'env_syntax',
    message: `The default of \${${name}:-…} contains another reference.`,
    hint: 'A default is plain text. Use one variable with one default.',
  }),
  unclosed: (name: string): Finding => ({
    severity: 'error',
    code: 'env_syntax',
    message: `\${${name} has no "}".`,
    hint: `Write \${${name}}, or $\${ to get the two characters themselves.`,
  }),
  separator: (name: string, written: string): Finding => ({
    severity: 'error',
    code: 'env_syntax',
    message: `${quoted(written)} is not a reference to an environment variable.`,
    hint: `Write \${${name}} or \${${name}:-default}; $\${ is to get the two characters themselves.`,
  }),
} as const;

/** Resolved by the runtime when a step runs, and never an environment variable. */
const RUNTIME_ROOTS: ReadonlySet<string> = new Set(RESERVED_ROOTS);

export type SubstituteEnvPiece =
  | { readonly type: 'text'; readonly text: string; readonly start: number; readonly end: number }
  | {
      readonly type: 'env';
      readonly name: string;
      /** The text after `:-`. */
      readonly fallback: string | undefined;
      readonly start: number;
      readonly end: number;
    }
  | {
      readonly type: 'wrong';
      readonly why: 'nested' | 'unclosed' | 'separator';
      readonly name: string;
      readonly start: number;
      readonly end: number;
    };

/** A name, followed by the end or by an operator of shells. `${a.b}` and `${a ?? b}` are for the runtime. */
const REFERENCE = /(?<!\$)(\$+)\{[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*(?=[}:=+?#%/^,@!-]|$)(?!\?\?)/g;

/**
 * Finds `${NAME}` and `${NAME:-default}`; a default reaches to the next `}`. Left alone as text: references to runtime
 * roots and to `items` (what a foreach names by `as`), anything else in `${…}` that does not begin with a name, and the escape `$${`, which stays as it is for
 * whoever reads the text later. Dollars before a brace come in pairs, as in `parseTemplate`.
 */
function findEnvReferences(text: string, items: ReadonlySet<string>): readonly SubstituteEnvPiece[] {
  const pieces: SubstituteEnvPiece[] = [];
  let done = 0;
  const lastClose = text.lastIndexOf('}');
  const push = (piece: SubstituteEnvPiece) => {
    if (piece.start > done)
      pieces.push({ type: 'text', text: text.slice(done, piece.start), start: done, end: piece.start });
    pieces.push(piece);
    done = piece.end;
  };
  for (const match of text.matchAll(REFERENCE)) {
    const [matched, dollars = '', name = ''] = match;
    const isEscaped = dollars.length % 2 === 0;
    const start = match.index + dollars.length - 1;
    if (start < done || isEscaped || RUNTIME_ROOTS.has(name) || items.has(name)) continue;
    push(readReference(text, start, match.index + matched.length, name, lastClose));
  }
  if (done < text.length)
    pieces.push({ type: 'text', text: text.slice(done), start: done, end: text.length });
  return pieces;
}

function readReference(
  text: string,
  start: number,
  afterName: number,
  name: string,
  lastClose: number,
): SubstituteEnvPiece {
  if (text[afterName] === '}') return { type: 'env', name, fallback: undefined, start, end: afterName + 1 };
  const close = afterName > lastClose ? -1 : text.indexOf('}', afterName);
  if (close === -1) return { type: 'wrong', why: 'unclosed', name, start, end: afterName };
  const end = close + 1;
  if (!text.startsWith(':-', afterName)) return { type: 'wrong', why: 'separator', name, start, end };
  const fallback = text.slice(afterName + 2, close);
  if (fallback.includes('${')) return { type: 'wrong', why: 'nested', name, start, end };
  return { type: 'env', name, fallback, start, end };
}

const OFF: ReadonlySet<string> = new Set(['', '0', 'false', 'no']);

/**
 * The meaning of `enabled: ${NAME}` for a value of NAME: '', 0, false and no (in any case) are off, everything else is
 * on.
 */
export const enabledFlag = (text: string): boolean => !OFF.has(text.trim().toLowerCase());

/** A variable that was inserted into a document, and its value. */
export interface EnvValue {
  readonly name: string;
  readonly value: string;
}

/** Shorter values occur in other texts by chance, so they are hidden only if they are the whole text. */
const MIN_INSIDE = 3;

/** A manifest that knows which variables were inserted into it. */
export interface FromEnv {
  readonly fromEnv?: readonly EnvValue[];
}

/** Everything that was inserted into these manifests. */
export const envOf = (manifests: readonly FromEnv[]): readonly EnvValue[] =>
  manifests.flatMap(({ fromEnv = [] }) => fromEnv);

/**
 * Makes JSON safe to show: every value from the environment appears as its reference, wherever it ended up, even inside
 * longer texts, in keys and as a number. It goes by where a value came from, not by the name of its key.
 */
export function hideEnv<T extends Json>(shown: T, from: readonly EnvValue[]): T {
  const values = spellings(from);
  if (values.length === 0) return shown;
  const text = (original: string): string => {
    let clean = original;
    for (const { reference, value } of values) {
      if (clean === value) return reference;
      if (value.length >= MIN_INSIDE) clean = clean.replaceAll(value, () => reference);
    }
    return clean;
  };
  const walk = (value: Json): Json => {
    if (typeof value === 'string') return text(value);
    if (typeof value === 'number') {
      const hidden = values.find((each) => each.value === String(value));
      return hidden === undefined ? value : hidden.reference;
    }
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [text(key), walk(inner)]));
  };
  return walk(shown) as T;
}

/**
 * The ways in which a manifest may contain a value, longest first: as it is, escaped, trimmed, or as part of an
 * address.
 */
function spellings(
  from: readonly EnvValue[],
): readonly { readonly reference: string; readonly value: string }[] {
  const found = new Map<string, string>();
  for (const { name, value } of from) {
    const reference = `\${${name}}`;
    const escaped = value.replace(/\$+(?=\{)/g, (dollars) => dollars + dollars);
    for (const each of [value, escaped, value.trim(), encoded(value)])
      if (each !== '' && !found.has(each)) found.set(each, reference);
    const number = Number(value);
    if (value.trim() !== '' && Number.isFinite(number)) found.set(String(number), reference);
  }
  return [...found]
    .map(([value, reference]) => ({ value, reference }))
    .sort((one, other) => other.value.length - one.value.length);
}

function encoded(value: string): string {
  try {
    return encodeURIComponent(value);
  } catch {
    return value; // A lone surrogate cannot be encoded.
  }
}
