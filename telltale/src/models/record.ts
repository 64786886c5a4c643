import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FRAME_BREAK, FRAME_MARK, readFrameHead, readTurnParts } from '../lib/calls.ts';
import type { Clock } from '../lib/clock.ts';
import { RuntimeError, toRuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import { printable } from '../manifest/diagnostic.ts';
import { makeFolder } from '../manifest/files.ts';
import { isMap } from '../manifest/schema/plain-values.ts';
import type { Model, ModelEnd, ModelRequest, ModelSink } from './model.ts';
import { MODEL_FAILURES, modelEnd, RECORD_FAILED } from './model-errors.ts';
import {
  CHARACTERS_A_TOKEN,
  type Expectation,
  type Script,
  type ScriptCall,
  type ScriptPart,
  type ScriptSaying,
  type ScriptTurn,
  type ScriptTurnOptions,
  textOfParts,
  turnText,
} from './scripted/script.ts';
import { doubleQuoted, yamlText } from './scripted/yaml-text.ts';

/**
 * Records a model as a `scripted:` file at the absolute `path`. The file is complete at any moment. A new session
 * overwrites it, and a resumed one keeps the earlier turns.
 */
export function recordToFile(model: Model, path: string, clock: Clock): Model {
  const temporary = `${path}.part`;
  return recordModel(model, {
    clock,
    before: async (turn) => {
      await makeFolder(dirname(path));
      // Check that the file can be written before a model call costs money.
      await writeFile(temporary, '');
      await rm(temporary);
      const found = await kindOf(path);
      // The file is replaced by renaming, which would destroy a device.
      if (found !== 'nothing' && found !== 'file') throw new Error(`${path} is ${found}`);
      return turn === 1 ? undefined : readBefore(path);
    },
    write: async (script) => {
      try {
        await writeFile(temporary, script);
        await rename(temporary, path);
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
    },
  });
}

async function kindOf(path: string): Promise<'nothing' | 'file' | 'a folder' | 'not a file'> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found === undefined) return 'nothing';
  return found.isFile() ? 'file' : found.isDirectory() ? 'a folder' : 'not a file';
}

/** An existing file that is not a script is not overwritten. */
async function readBefore(path: string): Promise<Script | undefined> {
  const { loadScript } = await import('./scripted/load-script.ts');
  try {
    return await loadScript(path, dirname(path));
  } catch (error) {
    if (error instanceof RuntimeError && error.code === 'file_missing') return undefined;
    throw error;
  }
}

export interface RecordOptions {
  readonly clock: Clock;
  /** Replaces the stored script. Called after each turn, one call at a time. */
  readonly write: (script: string) => Promise<void>;
  /** Called once before the first model call. Returns the recording of earlier turns. */
  readonly before?: (turn: number) => Promise<Script | undefined>;
}

/**
 * Records the turns of a model as a script that replays them: text, reasoning, pace, usage, and failures. A turn is
 * over once it is written. A repeated turn replaces the earlier one.
 */
export function recordModel(model: Model, { clock, write, before }: RecordOptions): Model {
  const turns = new Map<number, ScriptTurn>();
  let begun: Promise<void> | undefined;
  let writing: Promise<void> = Promise.resolve();

  const begin = async (first: number) => {
    const script = await before?.(first);
    const from = script?.firstTurn ?? 1;
    for (const [index, turn] of (script?.turns ?? []).entries())
      if (from + index < first) turns.set(from + index, turn);
  };
  const keep = (number: number, turn: ScriptTurn): Promise<void> => {
    turns.set(number, turn);
    writing = writing
      .catch(() => {}) // reported to the turn it belongs to
      .then(() => write(formatScript(inOrder(turns), model.id)))
      .catch((thrown: unknown) => {
        throw recordFailed(thrown);
      });
    return writing;
  };

  return {
    ...model,
    async stream(request, sink) {
      begun ??= begin(request.turn).catch((thrown: unknown) => {
        throw recordFailed(thrown);
      });
      await begun;
      const { turn, end, error } = await listen(model, request, sink, clock);
      if (end === undefined) {
        const kept = keep(request.turn, turn);
        // A turn that the runtime interrupted is valid, so a missing record must be reported.
        if (request.signal.aborted) await kept;
        // The model's error is more important than a failure to record it.
        else await kept.catch(() => {});
        throw error;
      }
      await keep(request.turn, turn);
      return end;
    },
  };
}

interface RecordHeard {
  readonly turn: ScriptTurn;
  readonly end?: ModelEnd;
  readonly error?: unknown;
}

async function listen(
  model: Model,
  request: ModelRequest,
  sink: ModelSink,
  clock: Clock,
): Promise<RecordHeard> {
  // Output from before a restart was not recorded.
  const before = saidBefore(request);
  let text = '';
  let reasoning = '';
  const asked = clock.monotonic();
  let first: number | undefined;
  let last = asked;
  const note = () => {
    last = clock.monotonic();
    first ??= last;
  };
  const heard = (): ScriptTurn => ({
    text: before + text,
    ...(reasoning === '' ? {} : { reasoning }),
    ...pace(text.length + reasoning.length, asked, first ?? last, last),
  });
  try {
    const end = await model.stream(request, {
      text: (delta) => {
        note();
        text += delta;
        sink.text(delta);
      },
      reasoning: (delta) => {
        note();
        reasoning += delta;
        sink.reasoning(delta);
      },
      part: (part) => sink.part?.(part),
    });
    const { usage, finish } = modelEnd(model.id, end);
    const ending = { ...(usage === undefined ? {} : { usage }), ...(finish === 'stop' ? {} : { finish }) };
    return { turn: { ...heard(), ...ending }, end };
  } catch (error) {
    const { code } = toRuntimeError(error);
    const failWith = MODEL_FAILURES.find((failure) => failure === code && failure !== 'model_broke_off');
    const failing = {
      failAfter: before.length + text.length,
      ...(failWith === undefined ? {} : { failWith }),
    };
    return { turn: { ...heard(), ...failing }, error };
  }
}

/**
 * The output for the same request before each restart. It is at the end of the conversation, in as many messages as
 * there were restarts. Empty if the messages differ from the output, because an interrupted call is shown as text.
 */
function saidBefore({ said = 0, messages }: ModelRequest): string {
  let before = '';
  for (let at = messages.length - 1; at >= 0 && before.length < said; at--) {
    const message = messages[at];
    if (message?.role === 'assistant') before = message.text + before;
  }
  return before.length === said ? before : '';
}

/** Output that arrives at once has no pace. */
function pace(characters: number, asked: number, first: number, last: number) {
  const delayMs = Math.round(first - asked);
  const seconds = (last - first) / 1000;
  const perSecond = Math.round((characters / CHARACTERS_A_TOKEN / seconds) * 10) / 10;
  return {
    ...(delayMs < 1 ? {} : { delayMs }),
    ...(seconds < 0.001 || perSecond === 0 ? {} : { tokensPerSecond: perSecond }),
  };
}

/** A turn that was never recorded fails immediately. */
const UNHEARD: ScriptTurn = { text: '', failAfter: 0 };

function inOrder(turns: ReadonlyMap<number, ScriptTurn>): Script {
  const numbers = [...turns.keys()].sort((a, b) => a - b);
  const first = numbers[0] ?? 1;
  const count = (numbers.at(-1) ?? 0) - first + 1;
  return {
    ...(first === 1 ? {} : { firstTurn: first }),
    turns: Array.from({ length: count }, (_, index) => turns.get(first + index) ?? UNHEARD),
  };
}

const recordFailed = (cause: unknown) =>
  new RuntimeError(RECORD_FAILED, `The model's turns cannot be recorded: ${toRuntimeError(cause).message}`, {
    hint: 'Check the path, the permissions and the disk, or run without recording.',
    cause,
  });

/**
 * Formats a script as a file that `readScript` reads back unchanged. Turns with native calls are written in parts. A
 * comment names `from`. Pure.
 */
export function formatScript(script: Script, from?: string): string {
  const lines = from === undefined ? [] : [`# Recorded from ${printable(from)}.`];
  const { firstTurn, tokensPerSecond, chunk, loop, contextWindow } = script;
  lines.push(
    ...fields('', {
      first_turn: firstTurn,
      tokens_per_second: tokensPerSecond,
      chunk,
      loop,
      context_window: contextWindow,
    }),
    'turns:',
  );
  const saying = formatSaying(INDENT);
  for (const [index, turn] of script.turns.entries())
    lines.push(...saying(turn, (firstTurn ?? 1) + index), ...optionLines(turn));
  return `${lines.join('\n')}\n`;
}

const INDENT = '    ';

function optionLines(turn: ScriptTurnOptions): readonly string[] {
  const { reasoning, expect, usage, delayMs } = turn;
  return [
    ...(reasoning === undefined ? [] : [`${INDENT}reasoning: ${yamlText(reasoning, INDENT)}`]),
    ...(expect === undefined ? [] : expectLines(expect)),
    ...fields(INDENT, {
      tokens_per_second: turn.tokensPerSecond,
      chunk: turn.chunk,
      delay: delayMs === undefined ? undefined : `${delayMs}ms`,
      fail_after: turn.failAfter,
      fail_with: turn.failWith,
      finish: turn.finish,
      usage: usage === undefined ? undefined : `{ ${fields('', { ...usage }).join(', ')} }`,
    }),
  ];
}

function expectLines(expected: readonly Expectation[]): readonly string[] {
  if (expected.length === 0) return [`${INDENT}expect: []`];
  return [
    `${INDENT}expect:`,
    ...expected.map((each) =>
      'contains' in each
        ? `${INDENT}  - contains: ${yamlText(each.contains, `${INDENT}    `)}`
        : `${INDENT}  - not_contains: ${yamlText(each.notContains, `${INDENT}    `)}`,
    ),
  ];
}

function fields(
  indent: string,
  values: Readonly<Record<string, string | number | boolean | undefined>>,
): string[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [`${indent}${key}: ${value}`],
  );
}

/** The most values in inputs shown as maps. A file can have at most 50,000, and a turn needs about ten. */
const MAX_MAP_VALUES = 20_000;

/** Writes the text of a turn as its first lines. `indent` is the indent of a turn's keys. */
function formatSaying(indent: string): (turn: ScriptSaying, number: number) => readonly string[] {
  const dash = `${indent.slice(2)}- `;
  const inner = `${indent}  `;
  let room = MAX_MAP_VALUES;

  const flow = (value: JsonObject): string | undefined => {
    const written = yamlFlow(value);
    if (written === undefined || written.values > room) return undefined;
    room -= written.values;
    return written.text;
  };
  /** Undefined if the call cannot be written this way. Then the turn is written as one text. */
  const callLines = ({ call, id, input, meta, cut }: ScriptCall): readonly string[] | undefined => {
    const keyIndent = `${inner}  `;
    const metaText = meta === undefined ? undefined : flow(meta);
    if (meta !== undefined && metaText === undefined) return undefined;
    const inputText =
      input === undefined
        ? undefined
        : ((typeof input === 'string' ? undefined : flow(input)) ??
          yamlText(typeof input === 'string' ? input : JSON.stringify(input), keyIndent));
    return [
      `${inner}- call: ${nameText(call)}`,
      ...(id === undefined ? [] : [`${keyIndent}id: ${nameText(id)}`]),
      ...(inputText === undefined ? [] : [`${keyIndent}input: ${inputText}`]),
      ...(metaText === undefined ? [] : [`${keyIndent}meta: ${metaText}`]),
      ...(cut === true ? [`${keyIndent}cut: true`] : []),
    ];
  };
  const sayLines = (parts: readonly ScriptPart[]): readonly string[] | undefined => {
    const lines = parts.map((part) =>
      typeof part === 'string' ? [`${inner}- ${yamlText(part, inner)}`] : callLines(part),
    );
    return lines.every((each) => each !== undefined) ? [`${dash}say:`, ...lines.flat()] : undefined;
  };

  return (turn, number) => {
    const parts = turn.say === undefined ? readableParts(turn.text) : turn.say;
    const said = parts !== undefined && isSayable(parts) ? sayLines(parts) : undefined;
    return said ?? [`${dash}text: ${yamlText(turnText(turn, number), indent)}`];
  };
}

const PLAIN_NAME = /^[A-Za-z_][\w-]*$/;
const NOT_TEXT = /^(?:true|false|null)$/i;

const nameText = (name: string): string =>
  PLAIN_NAME.test(name) && !NOT_TEXT.test(name) ? name : doubleQuoted(name);

/**
 * The parts of a turn with native calls, if a script with them has exactly the same text. Undefined if there are no
 * calls, or no parts reproduce the text, such as with a truncated header. Pure.
 */
function readableParts(turn: string): readonly ScriptPart[] | undefined {
  if (!turn.includes(FRAME_MARK)) return undefined;
  const parts: ScriptPart[] = [];
  for (const part of readTurnParts(turn)) {
    if (part.type === 'text') parts.push(part.text);
    else if (part.type === 'broken') parts.push(cutCall(turn));
    else {
      const { id, name, input, meta } = part;
      parts.push({
        call: name,
        id,
        input: compactMap(input) ?? input,
        ...(meta === undefined ? {} : { meta }),
      });
    }
  }
  return textOfParts(parts, 1) === turn ? parts : undefined;
}

/** Whether a script may contain these parts. If `scriptParts` would refuse them, the turn is written as one text. */
function isSayable(parts: readonly ScriptPart[]): boolean {
  const calls = parts.filter((part) => typeof part !== 'string');
  const ids = calls.flatMap(({ id }) => (id === undefined ? [] : [id]));
  return (
    parts.length > 0 &&
    new Set(ids).size === ids.length &&
    calls.every(
      ({ call, id, meta, cut }) =>
        call !== '' && id !== '' && (meta === undefined || (isMap(meta) && cut !== true)),
    ) &&
    parts.slice(0, -1).every((part) => typeof part === 'string' || part.cut !== true)
  );
}

/**
 * The incomplete call at the end of a turn. If more than its input is missing, the result is wrong, and so does not
 * reproduce the text.
 */
function cutCall(turn: string): ScriptCall {
  const mark = turn.lastIndexOf(FRAME_MARK);
  const headEnd = turn.indexOf(FRAME_BREAK, mark);
  const { id, name } = readFrameHead(turn.slice(mark + 1, headEnd));
  return { call: name, id, input: turn.slice(headEnd + 1), cut: true };
}

/** An input that is an object, formatted like `JSON.stringify`. */
function compactMap(input: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(input);
    return isMap(value) && JSON.stringify(value) === input ? (value as JsonObject) : undefined;
  } catch {
    return undefined; // a model may write anything
  }
}

/** A map on one line is readable up to this size. Larger ones stay text. */
const MAX_VALUES = 200;
const MAX_DEPTH = 12;
/** YAML needs a key and its colon close together. */
const MAX_KEY = 128;

/** Keys that manifests refuse, because they access prototypes. */
const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);
const PLAIN_KEY = /^(?!(?:true|false|null)$)[a-z_][a-z0-9_]*$/i;

export interface Flow {
  readonly text: string;
  /** The number of lists, maps and scalars. */
  readonly values: number;
}

/**
 * An object as a YAML value on one line, which is read back unchanged: `{ query: "x", top: 3 }`. Undefined if manifests
 * would refuse it, or it is too large to be readable. Pure.
 */
function yamlFlow(object: JsonObject): Flow | undefined {
  let values = 0;
  const write = (value: Json, depth: number): string | undefined => {
    if (++values > MAX_VALUES || depth > MAX_DEPTH) return undefined;
    if (typeof value === 'string') return doubleQuoted(value);
    if (typeof value === 'number') return isPlainNumber(value) ? String(value) : undefined;
    if (value === null || typeof value === 'boolean') return String(value);
    if (!isMap(value))
      return joined(
        '[',
        (value as readonly Json[]).map((item) => write(item, depth + 1)),
        ']',
      );
    return joined(
      '{',
      Object.entries(value).map(([key, item]) => {
        const [name, written] = [keyOf(key), write(item, depth + 1)];
        return name === undefined || written === undefined ? undefined : `${name}: ${written}`;
      }),
      '}',
    );
  };
  const text = write(object, 1);
  return text === undefined ? undefined : { text, values };
}

/** Excludes values that JSON cannot represent, and whole numbers that may have lost digits. */
const isPlainNumber = (value: number): boolean =>
  Number.isFinite(value) &&
  !Object.is(value, -0) &&
  (!Number.isInteger(value) || Number.isSafeInteger(value));

const keyOf = (key: string): string | undefined => {
  if (key.length > MAX_KEY || FORBIDDEN_KEYS.has(key)) return undefined;
  return PLAIN_KEY.test(key) ? key : doubleQuoted(key);
};

function joined(open: string, items: readonly (string | undefined)[], close: string): string | undefined {
  if (items.includes(undefined)) return undefined;
  return items.length === 0 ? open + close : `${open} ${items.join(', ')} ${close}`;
}
