import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Memory, MemoryAnswer, MemoryQuery } from '../../memory/memory.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { startProgress } from '../progress.ts';
import { usage } from '../usage.ts';
import { harmlessLines } from '../view/harmless.ts';
import { jsonText } from '../view/json-line.ts';
import { wholeNumber } from '../whole-number.ts';
import { type MemoryOptions, withIndexed } from './open-for-command.ts';

export interface QueryOptions extends MemoryOptions {
  readonly symbol?: string;
  readonly path?: string;
  readonly depth?: string;
  readonly limit?: string;
  readonly maxTokens?: string;
}

/** `telltale memory query [DIR] TEXT`: with one argument it is the text, unless an option says what to look for. */
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
  return withIndexed(folder, options, context, async (memory) => {
    const stopProgress = startProgress(io, () => 'Looking…');
    let answer: MemoryAnswer;
    try {
      answer = await memory.query(query);
      if (answer.nodes.length === 0) await refuseUnknown(query, memory);
    } finally {
      await stopProgress();
    }
    if (options.json === true) await io.stdout.write(jsonText(answer, 2));
    else {
      const { renderAnswer } = await import('../../memory/query/render-answer.ts');
      const found = answer.nodes.length > 0 ? renderAnswer(answer) : 'Nothing was found.';
      await io.stdout.write(`${harmlessLines(found.trimEnd()).join('\n')}\n`);
    }
    return EXIT.ok;
  });
}

function queryOf(text: string | undefined, options: QueryOptions): MemoryQuery {
  const { symbol, path, depth, limit, maxTokens } = options;
  const asked = [text, symbol, path].filter((each) => each !== undefined);
  if (asked.length > 1)
    throw usage('Several things are asked for at once.', 'Give a text, --symbol or --path: one of them.');
  if (asked.length === 0 || asked[0]?.trim() === '')
    throw usage(
      'It is not said what to look for.',
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

/** A name that nothing has is a mistake more often than not; words that nothing has are an answer. */
async function refuseUnknown({ symbol, path }: MemoryQuery, memory: Memory): Promise<void> {
  if (symbol !== undefined) throw symbolUnknown(symbol, await namesLike(symbol, memory));
  if (path !== undefined) throw pathUnknown(path, memory.folder);
}

const MAX_LIKE = 50;

/** Names of symbols that share a word with one, or the beginning of one. */
async function namesLike(symbol: string, memory: Memory): Promise<readonly string[]> {
  const words = symbol.split(/[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})/u).filter((word) => word !== '');
  const { nodes } = await memory.query({ query: [symbol, ...words].join(' '), depth: 0, limit: MAX_LIKE });
  return [...new Set(nodes.flatMap((node) => (node.kind === 'symbol' ? [node.name] : [])))];
}

const symbolUnknown = (asked: string, like: readonly string[]) =>
  new RuntimeError('symbol_unknown', `No symbol is named "${asked}".`, {
    hint:
      like.length === 0
        ? `Look for it by words: telltale memory query "${asked}"`
        : suggest(asked, like.slice(0, MAX_SUGGESTED), 'Some that are like it'),
  });

const MAX_SUGGESTED = 10;

const pathUnknown = (asked: string, folder: string) =>
  new RuntimeError('file_unknown', `Nothing is known of "${asked}" in ${folder}.`, {
    hint: 'Only sources that .gitignore does not exclude are in the graph; the path is relative to its folder.',
  });
