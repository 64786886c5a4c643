import { RuntimeError } from '../../kernel/runtime-error.ts';

const MIN_NOTES = 50;
const MAX_NOTES = 20_000;
/** Notes of fewer different words say nothing that could be read later; where words are not parted, characters count. */
const MIN_WORDS = 6;
const MIN_CHARACTERS = 16;
/** How much of the notes has to be said for the first time in them, in runs of RUN words. */
const MIN_FRESH = 0.5;
/** How much of the notes may stand in the prompt word for word, in runs of RUN words. */
const MAX_COPIED = 0.7;
const RUN = 4;
const PROMPT_READ = 100_000;

/** What is wrong with the notes of a step: missing, too short, too long, a placeholder, or the prompt over again. */
export function checkNotes(notes: unknown, prompt: string): RuntimeError | undefined {
  if (notes === undefined || notes === null) return refused('It has no notes.');
  if (typeof notes !== 'string') return refused('Its notes are no text.');
  const { length } = notes.trim();
  if (length > MAX_NOTES)
    return refused(
      `Its notes have ${length} characters; ${MAX_NOTES} are the most.`,
      'Say what was done and what came of it; long texts belong into a file, or into "artifacts".',
    );
  const said = readable(notes);
  if (said === '') return refused('Its notes are empty.');
  if (said.length < MIN_NOTES)
    return refused(`Its notes have ${said.length} characters; at least ${MIN_NOTES} are asked for.`);
  const words = wordsOf(said);
  if (!saysEnough(words) || fresh(words) < MIN_FRESH)
    return refused('Its notes are a placeholder: they repeat a few words.');
  if (copied(words, wordsOf(readable(prompt.slice(0, PROMPT_READ)))) > MAX_COPIED)
    return refused('Its notes are the text of the step over again.');
  return undefined;
}

/** What a reader sees of it: characters that show nothing and space upon space say nothing. */
const readable = (text: string): string =>
  text
    .normalize('NFKC')
    .replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, '')
    .replace(/[\s\p{Cc}\u2800]+/gu, ' ')
    .trim();

/** Scripts that part no words: each character of theirs counts as one. */
const UNPARTED =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}';
const WORDS = new RegExp(`[${UNPARTED}]|(?:(?![${UNPARTED}])[\\p{L}\\p{M}\\p{N}])+`, 'gu');
const IS_UNPARTED = new RegExp(`^[${UNPARTED}]$`, 'u');

const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(WORDS) ?? [];

/** Whether there are words and characters enough that differ, counted together. Numbers alone say nothing. */
function saysEnough(words: readonly string[]): boolean {
  let said = 0;
  for (const word of new Set(words))
    said += IS_UNPARTED.test(word) ? MIN_WORDS : /\p{L}/u.test(word) ? MIN_CHARACTERS : 0;
  return said >= MIN_WORDS * MIN_CHARACTERS;
}

/** The share of the runs of words that do not repeat one before. */
function fresh(words: readonly string[]): number {
  const runs = runsOf(words);
  return runs.length === 0 ? 1 : new Set(runs).size / runs.length;
}

/** The share of the runs of words in `words` that stand in `prompt`, too. */
function copied(words: readonly string[], prompt: readonly string[]): number {
  const known = new Set(runsOf(prompt));
  const runs = runsOf(words);
  return runs.length === 0 ? 0 : runs.filter((run) => known.has(run)).length / runs.length;
}

const runsOf = (words: readonly string[]): readonly string[] =>
  words.slice(0, Math.max(0, words.length - RUN + 1)).map((_, at) => words.slice(at, at + RUN).join(' '));

const refused = (
  message: string,
  hint = `Complete the step again with notes of at least ${MIN_NOTES} characters that say what you did and what came of it, in your own words.`,
) => new RuntimeError('notes_refused', `The step is not completed. ${message}`, { hint });
