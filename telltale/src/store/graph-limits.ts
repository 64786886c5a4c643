import { RuntimeError } from '../lib/errors.ts';
import type { FactSubject, GraphChange, NewFact, SessionNote } from './graph.ts';
import { checkName } from './store-errors.ts';

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

export const factUnknown = (id: string) =>
  new RuntimeError('fact_unknown', `No fact of this graph has the id "${id}".`, {
    hint: 'Take ids from an answer of the graph, as they stand there. Nothing was written.',
  });

const factMalformed = (found: string) =>
  new RuntimeError('fact_malformed', `A fact ${found}.`, {
    hint: 'Say one thing in some sentences, and name the files or symbols that it is about. Nothing was written.',
  });

export const factsFull = (limit: number) =>
  new RuntimeError('facts_full', `The graph holds ${limit} facts, as many as it can.`, {
    hint: 'Supersede facts that no longer hold, and add those that future sessions need.',
  });

const graphChangeTooLarge = (what: string, found: number, limit: number) =>
  new RuntimeError('graph_change_too_large', `A change has ${found} ${what}, ${limit} are allowed at once.`, {
    hint: 'Write fewer files at once. Nothing was written.',
  });

export const graphNewer = (location: string, found: number, known: number) =>
  new RuntimeError(
    'store_newer',
    `The knowledge graphs in ${location} are of version ${found}; this telltale knows ${known}.`,
    { hint: 'Update telltale, or use another store. Nothing was changed in this one.' },
  );

export const noWordIndex = () =>
  new RuntimeError(
    'graph_unsupported',
    "A knowledge graph needs SQLite's index of words (FTS5), which the one in this Node does not have.",
    { hint: 'Use Node 22.16 or later. Everything else works with this one.' },
  );
