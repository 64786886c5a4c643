import { RuntimeError } from '../kernel/runtime-error.ts';

export const factUnknown = (id: string) =>
  new RuntimeError('fact_unknown', `No fact of this graph has the id "${id}".`, {
    hint: 'Take ids from an answer of the graph, as they stand there. Nothing was written.',
  });

export const factMalformed = (found: string) =>
  new RuntimeError('fact_malformed', `A fact ${found}.`, {
    hint: 'Say one thing in some sentences, and name the files or symbols that it is about. Nothing was written.',
  });

export const factsFull = (limit: number) =>
  new RuntimeError('facts_full', `The graph holds ${limit} facts, as many as it can.`, {
    hint: 'Supersede facts that no longer hold, and add those that future sessions need.',
  });

export const graphChangeTooLarge = (what: string, found: number, limit: number) =>
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
