import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { LoadTokenizer } from '../../lib/tokens.ts';
import type { SessionState } from '../../log/state.ts';
import type { FieldMetrics } from '../../log/state-metrics.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { fileFailed } from '../../tools/builtin/filesystem/text-file.ts';
import type { AgentTargets } from '../../tools/create-targets.ts';
import { plainJson } from '../../tools/output/output.ts';
import type { TargetCall } from '../../tools/target.ts';
import { MAX_FEED_VALUE } from '../max-feed-value.ts';

type SourceUsed = Parameters<NonNullable<TargetCall['charge']>>;

/** What the sources of one session's feeds have of the world. */
export interface SourceDeps {
  readonly agent: Pick<AgentManifest, 'model' | 'models'>;
  /** The session as it is at the time of each load. */
  readonly state: SessionState;
  readonly targets: Pick<AgentTargets, 'find' | 'all' | 'deps'>;
  /** `${agent.*}`. */
  readonly agentView: () => JsonObject;
  readonly tokenizer: LoadTokenizer;
  /** Runs a workflow to its end; its output. */
  readonly runWorkflow: (
    name: string,
    params: JsonObject,
    signal: AbortSignal,
    feed: string,
  ) => Promise<Json>;
  /** The metadata of another agent as it last was, by `onlyCalled` for this session; undefined where it has never run. */
  readonly agentMetadata: (name: string, onlyCalled: boolean) => Promise<JsonObject | undefined>;
  /** What the session spent in each value of its enum fields; without it `metrics` gives the totals alone. */
  readonly stateMetrics?: () => Promise<readonly FieldMetrics[]>;
  /** Whether the model brought the feed in, or one that it is made of: it may then only make calls that change nothing. */
  readonly isModels?: (feed: string) => boolean;
  /** Takes one of the slots of a target that has a limit; what it gives, gives it back. */
  readonly takeSlot: (key: string, max: number, signal: AbortSignal) => (() => void) | Promise<() => void>;
  /** What a feed's call of a model used. */
  readonly charge?: (feed: string, ...used: SourceUsed) => void;
  /** Puts a note on the session's log, each text once. */
  readonly note?: (what: string) => void;
}

/** `what`: `feed "metrics"`. */
export const feedTooLarge = (what: string, cause?: unknown) =>
  new RuntimeError('feed_too_large', `The source of ${what} gave more than ${MAX_FEED_VALUE} bytes.`, {
    hint: 'Ask it for less: by its "params", or by another source.',
    cause,
  });

/** `found`: `The file "logo.png"`. */
export const notText = (found: string) =>
  new RuntimeError('not_text', `${clip(found, 300)} is no text.`, {
    hint: 'A model reads text: name a source that gives text or JSON.',
  });

/** `doing`: `call tool "deploy"`. */
export const needsApproval = (what: string, doing: string, because: string) =>
  new RuntimeError(
    'feed_needs_approval',
    `The ${what} would ${clip(doing, 300)}, which needs approval by a person, but a feed cannot ask for it.`,
    { hint: `It is asked for because of "${clip(because, 200)}". Have an action do it, or allow it there.` },
  );

/** `call`: `relic "journal" (append)`. */
export const mayChange = (what: string, call: string) =>
  new RuntimeError(
    'not_permitted',
    `The ${what} was added or changed by the model, and its call of ${call} may change something.`,
    {
      hint: 'Such a feed may only make calls that can be made again without harm: name an operation that reads.',
    },
  );

export const badParams = (what: string, message: string, hint: string) =>
  new RuntimeError('bad_parameters', `The parameters of ${what} are wrong: ${message}`, { hint });

/** What the system says of the file or folder of a source. Whoever wrote the feed has no operations to look with. */
export function sourceFailed(shown: string, thrown: unknown): RuntimeError {
  const failed = fileFailed(shown, thrown);
  if (failed === thrown || failed.code !== 'file_missing') return failed;
  return new RuntimeError(failed.code, failed.message, {
    hint: 'Correct "source.name" of the feed. Paths are relative to the folder of the agent.',
    cause: thrown,
  });
}

/** For a source that takes none, and does one thing only. */
export function noParams(what: string, params: JsonObject, action?: string): void {
  const [first] = Object.keys(params);
  if (first !== undefined)
    throw badParams(what, `there is no parameter "/${clip(first)}".`, 'It takes none.');
  if (action !== undefined)
    throw badParams(
      what,
      `there is no action "${clip(action)}".`,
      'Leave "action" out: it does one thing only.',
    );
}

/** What of a text is looked at to tell whether it is one. */
const LOOKED_AT = 8_192;
/** A text of which more than this share are characters that no text has is none. */
const MOSTLY = 0.3;
/** Room for the line that says how much is missing. */
const NOTE_ROOM = 100;

/** Sequences that color a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const TERMINAL = /\x1b\[[0-9;?]*[A-Za-z]/g;
/** Control characters but tab and line ends, and halves of characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const JUNK = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\p{Surrogate}/gu;

/**
 * What a source gave, as plain JSON of bounded size: a text that is too long is cut and says so, anything else that is
 * too large is `feed_too_large`, and a text that is none `not_text`. `what` names the feed.
 */
export function boundValue(value: unknown, what: string): Json {
  if (typeof value === 'string') return cutBytes(cleanText(value, what));
  try {
    return clean(plainJson(value, `the source of ${what}`, MAX_FEED_VALUE), what);
  } catch (thrown) {
    if (thrown instanceof RuntimeError && thrown.code === 'output_too_large') throw feedTooLarge(what);
    throw thrown;
  }
}

/** In place of what no text has stands U+FFFD, which is how models are shown what cannot be read. */
function cleanText(text: string, what: string): string {
  if (text.search(JUNK) === -1) return text;
  const plain = text.replace(TERMINAL, '');
  const start = plain.slice(0, LOOKED_AT);
  const junk = (start.match(JUNK)?.length ?? 0) + (start.match(/\ufffd/g)?.length ?? 0);
  if (junk > MOSTLY * start.length) throw notText(`What the source of ${what} gave`);
  return plain.replace(JUNK, '\ufffd');
}

function clean(value: Json, what: string): Json {
  if (typeof value === 'string') return cleanText(value, what);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => clean(item, what));
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([key, inner]) => [
      key.replace(JUNK, '\ufffd'),
      clean(inner, what),
    ]),
  );
}

function cutBytes(text: string): string {
  const bytes = text.length * 3 <= MAX_FEED_VALUE ? 0 : Buffer.byteLength(text);
  if (bytes <= MAX_FEED_VALUE) return text;
  const kept = Buffer.from(text).subarray(0, MAX_FEED_VALUE - NOTE_ROOM);
  const whole = new TextDecoder().decode(kept).replace(/\ufffd+$/, '');
  return `${whole}\n${cutNote(bytes - kept.length)}`;
}

/** The last line of a text that was cut. */
export const cutNote = (bytes: number): string => `… [cut: ${bytes} more bytes]`;
