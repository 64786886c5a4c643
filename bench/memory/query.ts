import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSystemClock } from '../../telltale/src/lib/clock.ts';
import { estimateTokens } from '../../telltale/src/lib/tokens.ts';
import type { MemoryQuery } from '../../telltale/src/memory/memory.ts';
import { queryGraph } from '../../telltale/src/memory/query/query-graph.ts';
import type { GraphStore } from '../../telltale/src/store/graph.ts';
import { openSqliteStore } from '../../telltale/src/store/sqlite/open-sqlite-store.ts';
import { quantile } from '../agents/quantile.ts';
import { atMost } from '../agents/verdict.ts';
import { figure, table } from '../parsing/table.ts';
import type { Measurement } from './measurement.ts';
import { createDice, syntheticRepository } from './synthetic-repository.ts';

const SYMBOLS = 100_000;
const ASKED_A_ROUND = 20;
const MOST_MS = 20;
const SYMBOLS_A_FILE = 30;
const CALLS_A_FILE = 60;
const FILES_A_WRITE = 20;
const WARM_UP = 10;

interface QueryFigures {
  readonly files: number;
  readonly symbols: number;
  /** What filling the store took, and each of its commits. */
  readonly writeMs: number;
  readonly commitMs: { readonly p50: number; readonly p95: number; readonly max: number };
  readonly queries: readonly ({ readonly name: string } & QueryTimes)[];
  /** Over all queries. */
  readonly all: QueryTimes;
  /** An append to the log while files are being written without a pause, and when nothing else is. */
  readonly appendMs: { readonly p50: number; readonly p95: number; readonly quietP95: number };
}

/** In ms, on the clock and of CPU time of all threads, which says more where the machine has other work. */
interface QueryTimes {
  readonly p50: number;
  readonly p95: number;
  readonly cpuP50: number;
  readonly cpuP95: number;
}

export const measureQueries: Measurement = async ({ rounds, progress }) => {
  progress(`${SYMBOLS} symbols`);
  const figures = await askQuestions(SYMBOLS, rounds * ASKED_A_ROUND);
  const target = `a question to ${SYMBOLS.toLocaleString('en-US')} symbols: p95 of at most ${MOST_MS} ms`;
  return {
    text: queryTable(figures),
    figures,
    verdicts: [atMost(target, figures.all.p95, MOST_MS, 'ms', false)],
  };
};

/** Fills a store file with synthetic files and asks it questions through the port, thread included. */
async function askQuestions(symbols: number, rounds: number): Promise<QueryFigures> {
  const folder = mkdtempSync(join(tmpdir(), 'telltale-bench-graph-'));
  const store = await openSqliteStore({ path: join(folder, 'store.db'), clock: createSystemClock() });
  try {
    const graphs = await store.graphs();
    const files = Math.ceil(symbols / SYMBOLS_A_FILE);
    const repository = syntheticRepository(files, SYMBOLS_A_FILE, CALLS_A_FILE);
    const append = await createAppender(store);
    const quiet = await append(async () => {
      for (let n = 0; n < 50; n++) await new Promise((resolve) => setTimeout(resolve, 2));
    });
    const commits: number[] = [];
    const started = performance.now();
    const busy = await append(async () => {
      for (let n = 0; n < files; n += FILES_A_WRITE) {
        const count = Math.min(FILES_A_WRITE, files - n);
        const records = Array.from({ length: count }, (_, at) => repository.record(n + at));
        const from = performance.now();
        await graphs.write('bench', { records });
        commits.push(performance.now() - from);
      }
    });
    const writeMs = performance.now() - started;
    const queries = [];
    const all: Taken[] = [];
    for (const [name, make] of questions(repository)) {
      const taken: Taken[] = [];
      for (let round = 0; round < WARM_UP; round++) await time(graphs, make());
      for (let round = 0; round < rounds; round++) taken.push(await time(graphs, make()));
      all.push(...taken);
      queries.push({ name, ...timesOf(taken) });
    }
    return {
      files,
      symbols: files * SYMBOLS_A_FILE,
      writeMs,
      commitMs: { p50: quantile(commits, 0.5), p95: quantile(commits, 0.95), max: Math.max(...commits) },
      queries,
      all: timesOf(all),
      appendMs: { p50: quantile(busy, 0.5), p95: quantile(busy, 0.95), quietP95: quantile(quiet, 0.95) },
    };
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Taken {
  readonly ms: number;
  readonly cpuMs: number;
}

function timesOf(taken: readonly Taken[]): QueryTimes {
  const [ms, cpuMs] = [taken.map((one) => one.ms), taken.map((one) => one.cpuMs)];
  return {
    p50: quantile(ms, 0.5),
    p95: quantile(ms, 0.95),
    cpuP50: quantile(cpuMs, 0.5),
    cpuP95: quantile(cpuMs, 0.95),
  };
}

async function time(graphs: GraphStore, query: MemoryQuery): Promise<Taken> {
  const edges = { tokenizer: async () => ({ count: estimateTokens }), readLines: async () => undefined };
  const cpu = process.cpuUsage();
  const started = performance.now();
  const { nodes } = await queryGraph(graphs, 'bench', '/', query, edges);
  const ms = performance.now() - started;
  const { user, system } = process.cpuUsage(cpu);
  if (nodes.length === 0) throw new Error(`Nothing was found for ${JSON.stringify(query)}.`);
  return { ms, cpuMs: (user + system) / 1000 };
}

/** What sessions ask: names, beginnings of names, words of one symbol, words of a question, files. */
function questions({ defined, paths }: ReturnType<typeof syntheticRepository>) {
  const dice = createDice(99);
  const any = <T>(of: readonly T[]): T => of[Math.floor(dice() * of.length)] as T;
  const name = () => any(any(defined));
  const words = (of: string) => of.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return [
    ['a symbol, who calls it', () => ({ symbol: name() })],
    ['a symbol, two steps', () => ({ symbol: name(), depth: 2 })],
    ['words of a name', () => ({ query: words(name()) })],
    ['the beginning of a name', () => ({ query: name().slice(0, 9) })],
    ['a question', () => ({ query: `where do we ${words(name())} when the ${words(name())} is missing?` })],
    ['a file', () => ({ path: any(paths) })],
  ] as const satisfies readonly (readonly [string, () => MemoryQuery])[];
}

/** Appends an event every few milliseconds for as long as something else goes on; gives how long each took. */
async function createAppender(store: Awaited<ReturnType<typeof openSqliteStore>>) {
  const head = { kind: 'session', name: 'bench', status: 'running', title: 'bench' } as const;
  const writer = await store.create('log', head);
  let seq = 0;
  return async (meanwhile: () => Promise<void>): Promise<readonly number[]> => {
    const taken: number[] = [];
    let isOver = false;
    const other = meanwhile().finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const started = performance.now();
      await new Promise<void>((resolve, reject) =>
        writer.append({ expectedSeq: seq, events: ['{}'] }, (error) =>
          error === undefined ? resolve() : reject(error),
        ),
      );
      seq++;
      taken.push(performance.now() - started);
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
    await other;
    return taken;
  };
}

function queryTable({ files, symbols, writeMs, commitMs, queries, all, appendMs }: QueryFigures): string {
  const cells = ({ p50, p95, cpuP50, cpuP95 }: QueryTimes) => [p50, p95, cpuP50, cpuP95].map(figure);
  return [
    `${figure(symbols)} symbols of ${figure(files)} files in a SQLite file, asked through the port, in ms`,
    table(
      ['query', 'p50', 'p95', 'CPU p50', 'CPU p95'],
      [...queries.map((one) => [one.name, ...cells(one)]), ['all', ...cells(all)]],
    ),
    `Written in ${figure(writeMs / 1000)} s; a commit of ${FILES_A_WRITE} files p50 ${figure(commitMs.p50)}, p95 ${figure(commitMs.p95)} ms.`,
    `An append to the log meanwhile p50 ${figure(appendMs.p50)}, p95 ${figure(appendMs.p95)} ms; without it p95 ${figure(appendMs.quietP95)} ms.`,
  ].join('\n');
}
