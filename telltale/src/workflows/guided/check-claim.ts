import { RuntimeError } from '../../lib/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import { compileViolation } from '../../tools/check-parameters.ts';
import type { Task } from './task.ts';

/** An unchecked claim. */
export interface SentClaim {
  readonly notes?: unknown;
  readonly context_updates?: unknown;
  readonly artifacts?: unknown;
}

/** WorkRail's names for the parts of a claim. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  notesMarkdown: 'notes',
  contextUpdates: 'context_updates',
};

/** A claim with our names. An error if a part is given under two names with different values. */
export function claimWithOurNames(sent: JsonObject): JsonObject | RuntimeError {
  const claim: Record<string, Json> = {};
  for (const [key, value] of Object.entries(sent)) {
    const own = OTHER_NAMES[key] ?? key;
    const before = claim[own];
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(value))
      return refused(`"${own}" is given under two names, with different values.`, `Give "${own}" only.`);
    claim[own] = value;
  }
  return claim;
}

const MAX_ARTIFACTS = 100;
/** The maximum number of reported mistakes in "context_updates". */
const MAX_PROBLEMS = 20;
/** Characters of JSON. */
const MAX_VALUES = 100_000;

/** All reasons why a claim cannot be accepted. Evidence is checked elsewhere, with the log. */
export function claimProblems(
  task: Pick<Task, 'prompt' | 'requires' | 'accepts'>,
  sent: SentClaim,
): readonly RuntimeError[] {
  const notes = checkNotes(sent.notes, task.prompt);
  return [
    ...(notes === undefined ? [] : [notes]),
    ...updateProblems(task, sent),
    ...artifactProblems(sent.artifacts),
  ];
}

/** The same as one error. Undefined if the claim can be accepted. */
export const checkClaim = (...claim: Parameters<typeof claimProblems>): RuntimeError | undefined =>
  allOf(claimProblems(...claim));

const PREFIX = 'The step is not completed. ';

/** All mistakes of a claim as one error, so that they can be fixed in one attempt. */
export function allOf(problems: readonly RuntimeError[]): RuntimeError | undefined {
  const [first] = problems;
  if (first === undefined || problems.length === 1) return first;
  const lines = problems.map(({ message, hint }) =>
    `- ${message.replace(PREFIX, '')} ${hint ?? ''}`.trimEnd(),
  );
  return new RuntimeError(
    first.code,
    `The step is not completed, for ${problems.length} reasons:\n${lines.join('\n')}`,
  );
}

function updateProblems(
  { requires, accepts }: Pick<Task, 'requires' | 'accepts'>,
  { context_updates: updates = {} }: SentClaim,
): readonly RuntimeError[] {
  if (!isJsonObject(updates)) return [refused('"context_updates" is no object.', SHAPE)];
  const problems: RuntimeError[] = [];
  const known = [...Object.keys(requires), ...Object.keys(accepts)];
  for (const key of Object.keys(updates))
    if (!known.includes(key))
      problems.push(
        refused(
          `"context_updates" has the key "${key}", which nobody asks for.`,
          known.length === 0
            ? 'Leave "context_updates" out: this step takes none.'
            : suggest(key, known, 'Keys it takes'),
        ),
      );
  const missing = Object.keys(requires).filter((key) => !Object.hasOwn(updates, key));
  if (missing.length > 0)
    problems.push(
      refused(
        `"context_updates" lacks ${missing.map((key) => `"${key}"`).join(', ')}.`,
        missing.map((key) => `"${key}": ${JSON.stringify(requires[key])}`).join('; '),
      ),
    );
  for (const [key, value] of Object.entries(updates)) {
    if (!known.includes(key)) continue;
    const schema = requires[key] ?? accepts[key] ?? {};
    const found = compileViolation(wrapped(key, schema), `The schema of "${key}"`)({ [key]: value });
    if (found !== undefined)
      problems.push(
        refused(
          `"context_updates" is wrong: ${found.message}`,
          found.hint ?? `"${key}" must satisfy ${JSON.stringify(schema)}.`,
        ),
      );
  }
  if (JSON.stringify(updates).length > MAX_VALUES)
    problems.push(refused(`"context_updates" has more than ${MAX_VALUES} characters.`, TOO_LARGE));
  return problems.slice(0, MAX_PROBLEMS);
}

function artifactProblems(artifacts: unknown): readonly RuntimeError[] {
  if (artifacts === undefined) return [];
  if (!Array.isArray(artifacts)) return [refused('"artifacts" is no list.', SHAPE)];
  if (artifacts.length > MAX_ARTIFACTS)
    return [refused(`"artifacts" has more than ${MAX_ARTIFACTS} entries.`, TOO_LARGE)];
  return JSON.stringify(artifacts).length > MAX_VALUES
    ? [refused(`"artifacts" has more than ${MAX_VALUES} characters.`, TOO_LARGE)]
    : [];
}

const wrapped = (key: string, schema: JsonObject): JsonObject => ({
  type: 'object',
  properties: { [key]: schema },
});

const SHAPE = 'complete_step takes {"notes": "…", "context_updates": {…}, "artifacts": […]}.';
const TOO_LARGE = 'Put large results into files, and say where they are.';

const refused = (message: string, hint: string) =>
  new RuntimeError('claim_refused', `${PREFIX}${message}`, { hint });

const MIN_NOTES = 50;
const MAX_NOTES = 20_000;
/** The minimum number of different words, or of characters in scripts without word boundaries. */
const MIN_WORDS = 6;
const MIN_CHARACTERS = 16;
/** The minimum share of word sequences that do not repeat within the notes. */
const MIN_FRESH = 0.5;
/** The maximum share of word sequences that are copied from the prompt. */
const MAX_COPIED = 0.7;
const RUN = 4;
const PROMPT_READ = 100_000;

/** Checks the notes of a step: missing, too short, too long, a placeholder, or copied from the prompt. */
export function checkNotes(notes: unknown, prompt: string): RuntimeError | undefined {
  if (notes === undefined || notes === null) return notesRefused('It has no notes.');
  if (typeof notes !== 'string') return notesRefused('Its notes are no text.');
  const { length } = notes.trim();
  if (length > MAX_NOTES)
    return notesRefused(
      `Its notes have ${length} characters; ${MAX_NOTES} are the most.`,
      'Say what was done and what came of it; long texts belong into a file, or into "artifacts".',
    );
  const said = readable(notes);
  if (said === '') return notesRefused('Its notes are empty.');
  if (said.length < MIN_NOTES)
    return notesRefused(`Its notes have ${said.length} characters; at least ${MIN_NOTES} are asked for.`);
  const words = wordsOf(said);
  if (!saysEnough(words) || fresh(words) < MIN_FRESH)
    return notesRefused('Its notes are a placeholder: they repeat a few words.');
  if (copied(words, wordsOf(readable(prompt.slice(0, PROMPT_READ)))) > MAX_COPIED)
    return notesRefused('Its notes are the text of the step over again.');
  return undefined;
}

/** The visible text, without invisible characters and repeated white space. */
const readable = (text: string): string =>
  text
    .normalize('NFKC')
    .replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, '')
    .replace(/[\s\p{Cc}\u2800]+/gu, ' ')
    .trim();

/** Scripts without word boundaries. Each of their characters counts as a word. */
const UNPARTED =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}';
const WORDS = new RegExp(`[${UNPARTED}]|(?:(?![${UNPARTED}])[\\p{L}\\p{M}\\p{N}])+`, 'gu');
const IS_UNPARTED = new RegExp(`^[${UNPARTED}]$`, 'u');

const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(WORDS) ?? [];

/** Whether there are enough different words and characters. Numbers do not count. */
function saysEnough(words: readonly string[]): boolean {
  let said = 0;
  for (const word of new Set(words))
    said += IS_UNPARTED.test(word) ? MIN_WORDS : /\p{L}/u.test(word) ? MIN_CHARACTERS : 0;
  return said >= MIN_WORDS * MIN_CHARACTERS;
}

/** The share of word sequences that are not repeated. */
function fresh(words: readonly string[]): number {
  const runs = runsOf(words);
  return runs.length === 0 ? 1 : new Set(runs).size / runs.length;
}

/** The share of word sequences in `words` that also occur in `prompt`. */
function copied(words: readonly string[], prompt: readonly string[]): number {
  const known = new Set(runsOf(prompt));
  const runs = runsOf(words);
  return runs.length === 0 ? 0 : runs.filter((run) => known.has(run)).length / runs.length;
}

const runsOf = (words: readonly string[]): readonly string[] =>
  words.slice(0, Math.max(0, words.length - RUN + 1)).map((_, at) => words.slice(at, at + RUN).join(' '));

const notesRefused = (
  message: string,
  hint = `Complete the step again with notes of at least ${MIN_NOTES} characters that say what you did and what came of it, in your own words.`,
) => new RuntimeError('notes_refused', `The step is not completed. ${message}`, { hint });
