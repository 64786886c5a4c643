import type { FactSubject, GraphChange, NewFact, SessionNote } from './graph.ts';
import { factMalformed, graphChangeTooLarge } from './graph-errors.ts';
import { checkName } from './limits.ts';

/** Symbols, imports and calls of one write, over all of its files. */
const MAX_ROWS_A_WRITE = 500_000;
const MAX_PATHS_A_WRITE = 50_000;
const MAX_FACTS_A_CALL = 1000;
const MAX_FACT_CHARS = 8000;
const MAX_SUBJECTS = 64;
const MAX_SUBJECT_CHARS = 1024;
/** What a session may have read and changed, each. */
const MAX_PATHS_A_SESSION = 10_000;
const MAX_TITLE_CHARS = 500;
/** Facts of one graph, superseded ones aside. */
export const MAX_FACTS = 100_000;
/** What one question may be answered with. */
const MAX_FOUND = 10_000;

export const boundLimit = (limit: number): number =>
  Number.isFinite(limit) ? Math.min(MAX_FOUND, Math.max(0, Math.floor(limit))) : MAX_FOUND;

/** Throws what makes a change impossible in every home. */
export function checkChange({ records = [], removed = [], touched = [] }: GraphChange): void {
  let rows = 0;
  for (const { path, symbols, imports, calls } of records) {
    checkName('A path', path);
    rows += symbols.length + imports.length + calls.length;
  }
  if (rows > MAX_ROWS_A_WRITE)
    throw graphChangeTooLarge('symbols, imports and calls', rows, MAX_ROWS_A_WRITE);
  const paths = records.length + removed.length + touched.length;
  if (paths > MAX_PATHS_A_WRITE) throw graphChangeTooLarge('files', paths, MAX_PATHS_A_WRITE);
}

export function checkFacts(facts: readonly NewFact[]): void {
  if (facts.length > MAX_FACTS_A_CALL) throw graphChangeTooLarge('facts', facts.length, MAX_FACTS_A_CALL);
  for (const { text, about, supersedes = [] } of facts) {
    if (text.trim() === '') throw factMalformed('says nothing');
    if (text.length > MAX_FACT_CHARS)
      throw factMalformed(`has ${text.length} characters, ${MAX_FACT_CHARS} are allowed`);
    const subjects = about.length + supersedes.length;
    if (subjects > MAX_SUBJECTS)
      throw factMalformed(`names ${subjects} files, symbols and facts, ${MAX_SUBJECTS} are allowed`);
    for (const subject of about) checkSubject(subject);
  }
}

function checkSubject({ path, symbol }: FactSubject): void {
  const name = path ?? symbol;
  if (name === undefined || name === '')
    throw factMalformed('is about something that has no path and no name');
  const chars = Math.max(path?.length ?? 0, symbol?.length ?? 0);
  if (chars > MAX_SUBJECT_CHARS)
    throw factMalformed(`is about a name of ${chars} characters, ${MAX_SUBJECT_CHARS} are allowed`);
}

/** The note as it is kept: its title is cut. */
export function checkNote(note: SessionNote): SessionNote {
  checkName('A session', note.session);
  const paths = Math.max(note.read.length, note.changed.length);
  if (paths > MAX_PATHS_A_SESSION)
    throw graphChangeTooLarge('paths of a session', paths, MAX_PATHS_A_SESSION);
  return { ...note, title: note.title.slice(0, MAX_TITLE_CHARS) };
}
