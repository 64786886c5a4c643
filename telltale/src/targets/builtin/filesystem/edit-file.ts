import type { Json } from '../../../kernel/json.ts';
import { RuntimeError } from '../../../kernel/runtime-error.ts';
import type { PermittedPath } from '../../access/permitted-paths.ts';
import { readTextFile } from './text-file.ts';

const MAX_SHOWN_LINES = 10;

export interface Edit {
  readonly old_text: string;
  readonly new_text: string;
  readonly replace_all?: boolean;
}

/** What an edit makes of a file. */
export interface EditedFile {
  readonly before: string;
  readonly after: string;
  readonly result: Json;
}

/** Replaces a text that stands in the file exactly once, or everywhere if asked to. Nothing is written. */
export async function editedFile(path: PermittedPath, edit: Edit): Promise<EditedFile> {
  const { old_text: before, new_text: after, replace_all: everywhere = false } = edit;
  if (before === '') throw nothingToReplace();
  const text = await readTextFile(path);
  const places = placesOf(before, text);
  if (places.length === 0) throw notFound(path.shown, before, text);
  if (!everywhere) {
    // One that begins inside the first counts, too: which of them is meant nobody knows.
    const second = text.indexOf(before, (places[0] ?? 0) + 1);
    if (second !== -1) throw notUnique(path.shown, places.length > 1 ? places : [...places, second], text);
  }
  if (before === after) throw nothingChanges(path.shown);
  return {
    before: text,
    after: text.split(before).join(after),
    result: { path: path.shown, replaced: places.length, line: lineOf(places[0] ?? 0, text) },
  };
}

function placesOf(part: string, text: string): readonly number[] {
  const places: number[] = [];
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) places.push(at);
  return places;
}

function lineOf(offset: number, text: string): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

const nothingToReplace = () =>
  new RuntimeError('bad_parameters', '"/old_text" is empty.', {
    hint: 'Give the text to replace; a new file is made with the operation "write".',
  });

const nothingChanges = (shown: string) =>
  new RuntimeError('bad_parameters', `The edit of "${shown}" would change nothing: both texts are the same.`);

/** White space and line breaks are what most often differs: if that is all, the message says so. */
function notFound(shown: string, before: string, text: string): RuntimeError {
  const squeeze = (part: string) => part.replace(/\s+/g, ' ').trim();
  const first = squeeze(before.trim().split('\n')[0] ?? '');
  const lines = text.split('\n');
  const near = first === '' ? -1 : lines.findIndex((line) => squeeze(line).includes(first));
  const hint = squeeze(text).includes(squeeze(before))
    ? 'It is there with other white space or line breaks: read the file and copy the text exactly.'
    : near === -1
      ? 'Read the file again: it may have changed.'
      : `Its first line stands at line ${near + 1}, but what follows differs: read the file again.`;
  return new RuntimeError('edit_failed', `The text to replace is not in "${shown}".`, { hint });
}

function notUnique(shown: string, places: readonly number[], text: string): RuntimeError {
  const lines = places.slice(0, MAX_SHOWN_LINES).map((place) => lineOf(place, text));
  const more = places.length > MAX_SHOWN_LINES ? ', …' : '';
  return new RuntimeError(
    'edit_failed',
    `The text to replace stands ${places.length} times in "${shown}": at lines ${lines.join(', ')}${more}.`,
    { hint: 'Give more of the text around it, or "replace_all": true.' },
  );
}
