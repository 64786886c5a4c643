import { resolve } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import { nearest } from '../../lib/nearest.ts';
import type { Memory, MemoryAnswer, MemoryNode, MemoryQuery } from '../../memory/memory.ts';
import type { GraphStore } from '../../store/graph.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import { usage, wholeNumber } from '../options.ts';
import { startProgress } from '../progress.ts';
import { harmlessLines } from '../view/harmless.ts';
import { jsonText } from '../view/json-text.ts';
import { type MemoryOptions, withIndexed } from './open-for-command.ts';

export interface QueryOptions extends MemoryOptions {
  readonly symbol?: string;
  readonly path?: string;
  readonly depth?: string;
  readonly limit?: string;
  readonly maxTokens?: string;
}

/** `telltale memory query [DIR] TEXT`. A single argument is the text, unless an option says what to look for. */
export function queryMemory(
  first: string | undefined,
  second: string | undefined,
  options: QueryOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  const isNamed = options.symbol !== undefined || options.path !== undefined;
  const text = isNamed ? second : (second ?? first);
  const folder = isNamed || second !== undefined ? (first ?? '.') : '.';
  const query = queryOf(text, options);
  return withIndexed(folder, options, context, async (memory, graphs) => {
    const stopProgress = startProgress(io, () => 'Looking…');
    let answer: MemoryAnswer;
    try {
      answer = await memory.query(query);
      await refuseUnknown(query, answer, memory, graphs);
    } finally {
      await stopProgress();
    }
    if (options.json === true) await io.stdout.write(jsonText(answer, 2));
    else {
      const { renderAnswer } = await import('../../memory/query/render-answer.ts');
      const text = answer.nodes.length > 0 ? renderAnswer(answer) : (answer.note ?? 'Nothing was found.');
      await io.stdout.write(`${harmlessLines(text.trimEnd()).join('\n')}\n`);
    }
    return EXIT.ok;
  });
}

function queryOf(text: string | undefined, options: QueryOptions): MemoryQuery {
  const { symbol, path, depth, limit, maxTokens } = options;
  const asked = [text, symbol, path].filter((each) => each !== undefined);
  if (asked.length > 1)
    throw usage('Only one search at a time is possible.', 'Use only one of: a text, --symbol, --path.');
  if (asked.length === 0 || asked[0]?.trim() === '')
    throw usage(
      'Nothing to search for was given.',
      'Write telltale memory query TEXT, --symbol NAME or --path FILE.',
    );
  return {
    ...(text === undefined ? {} : { query: text }),
    ...(symbol === undefined ? {} : { symbol }),
    ...(path === undefined ? {} : { path }),
    ...(depth === undefined ? {} : { depth: wholeNumber('--depth', depth, 0) }),
    ...(limit === undefined ? {} : { limit: wholeNumber('--limit', limit) }),
    ...(maxTokens === undefined ? {} : { maxTokens: wholeNumber('--max-tokens', maxTokens) }),
  };
}

/** An unknown name is probably a mistake. A search that finds nothing is an answer. */
async function refuseUnknown(
  { symbol, path }: MemoryQuery,
  { nodes }: MemoryAnswer,
  { graph, folder }: Memory,
  graphs: GraphStore,
): Promise<void> {
  const found = nodes.filter(({ distance }) => distance === 0);
  if (symbol !== undefined && !namesOf(found).some((name) => isNamed(name, symbol)))
    throw symbolUnknown(symbol, await nearSymbol(graphs, graph, symbol), namesOf(found));
  if (path === undefined) return;
  const asked = resolve(folder, path.replace(/(?::\d+){1,2}$/, ''));
  if (!found.some((node) => node.kind === 'file' && resolve(folder, node.at) === asked))
    throw pathUnknown(path, folder, await nearPaths(graphs, graph, path));
}

const namesOf = (nodes: readonly MemoryNode[]): readonly string[] =>
  nodes.flatMap((node) => (node.kind === 'symbol' ? [node.name] : []));

/** Whether `run` means `Session.run`. Case does not matter. */
const isNamed = (name: string, asked: string): boolean =>
  lastPart(name).toLowerCase() === lastPart(asked).toLowerCase();

const lastPart = (name: string): string => name.split(/[.#]|::/).at(-1) ?? name;

const symbolUnknown = (asked: string, near: string | undefined, like: readonly string[]) =>
  new RuntimeError('symbol_unknown', `No symbol is named "${asked}".`, {
    hint:
      near === undefined
        ? `${like.length === 0 ? '' : `Similar names: ${like.join(', ')}. `}Search for words: telltale memory query "${asked}"`
        : `Did you mean "${near}"?`,
  });

const pathUnknown = (asked: string, folder: string, like: readonly string[]) =>
  new RuntimeError('file_unknown', `"${asked}" is not in the graph of ${folder}.`, {
    hint:
      like.length === 0
        ? 'The graph contains only sources that .gitignore does not exclude. The path is relative to its folder.'
        : `Did you mean ${like.map((path) => `"${path}"`).join(' or ')}?`,
  });

/** How many files are searched for a similar symbol, so that a mistyped name costs a second or two at most. */
const MAX_FILES = 5_000;
const SYMBOLS_A_FILE = 500;
const AT_ONCE = 100;

/** The symbol in the graph that was most likely meant. */
async function nearSymbol(graphs: GraphStore, graph: string, asked: string): Promise<string | undefined> {
  const files = (await graphs.files(graph)).slice(0, MAX_FILES);
  const names = new Set<string>();
  const isQualified = /[.#:]/.test(asked);
  for (let at = 0; at < files.length; at += AT_ONCE) {
    const some = files.slice(at, at + AT_ONCE);
    const symbols = await Promise.all(some.map(({ path }) => graphs.symbolsOf(graph, path, SYMBOLS_A_FILE)));
    for (const { name, within, kind } of symbols.flat()) {
      if (kind === 'heading') continue;
      names.add(isQualified && within !== undefined ? `${within}.${name}` : name);
    }
  }
  return nearest(asked, names);
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
const MAX_PATHS = 5;

/** Files with this path, or with the most similar one. */
async function nearPaths(graphs: GraphStore, graph: string, asked: string): Promise<readonly string[]> {
  const paths = (await graphs.files(graph)).map(({ path }) => path);
  const name = nameOf(asked);
  const near = paths.some((path) => nameOf(path) === name) ? name : nearest(name, paths.map(nameOf));
  return near === undefined ? [] : paths.filter((path) => nameOf(path) === near).slice(0, MAX_PATHS);
}
