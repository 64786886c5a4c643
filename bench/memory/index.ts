import { appendFileSync, cpSync, lstatSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createSystemClock } from '../../telltale/src/lib/clock.ts';
import type { Memory } from '../../telltale/src/memory/memory.ts';
import { openMemory } from '../../telltale/src/memory/open-memory.ts';
import { openStore } from '../../telltale/src/store/open-store.ts';
import { atLeast, atMost } from '../agents/verdict.ts';
import { median } from '../parsing/measure.ts';
import { table } from '../parsing/table.ts';
import type { Measurement } from './measurement.ts';

/** What indexing takes, in milliseconds; `cpuMs` over all threads of the process. */
interface IndexFigures {
  readonly files: number;
  readonly symbols: number;
  readonly coldMs: number;
  readonly coldCpuMs: number;
  /** All looked at, nothing changed. */
  readonly sameMs: number;
  /** The floor of that: list the folders and look at each file, in one loop. */
  readonly bareMs: number;
  /** One file changed, and it was said which; the whole folder looked at; with a thread that has to be started. */
  readonly onePathMs: number;
  readonly onePassMs: number;
  readonly oneStartedMs: number;
  readonly rssMb: number;
}

const SOURCES = fileURLToPath(new URL('../../telltale/src', import.meta.url));
const FILES = 5_000;

/** Indexes copies of this repository's own sources, `files` of them at least, into a store of SQLite. */
async function measureIndex(files: number, samples: number): Promise<IndexFigures> {
  const home = mkdtempSync(join(tmpdir(), 'telltale-bench-index-'));
  const folder = join(home, 'tree');
  const clock = createSystemClock();
  const timed = async (work: () => unknown): Promise<number> => {
    const began = performance.now();
    await work();
    return performance.now() - began;
  };
  try {
    for (let copied = 0, copy = 0; copied < files; copy++) {
      cpSync(SOURCES, join(folder, `copy${copy}`), { recursive: true });
      copied += look(join(folder, `copy${copy}`)).length;
    }
    const paths = look(folder);
    // Written a while ago, as most files are.
    const old = new Date(Date.now() - 3_600_000);
    for (const path of paths) utimesSync(path, old, old);
    const store = await openStore(`sqlite:${join(home, 'bench.db')}`, { clock });
    const open = (): Promise<Memory> =>
      openMemory({ store, folder, clock, tokenizer: async () => ({ count: (text) => text.length / 4 }) });
    let memory = await open();
    try {
      const cpu = process.cpuUsage();
      const coldMs = await timed(() => memory.index());
      const { user, system } = process.cpuUsage(cpu);
      const { files: found, symbols } = await memory.stats();
      const rounds = async (work: (path: string) => Promise<unknown>, changes: boolean) => {
        const times: number[] = [];
        for (let round = 0; round < samples; round++) {
          const path = paths[(round * 701) % paths.length] ?? '';
          if (changes) change(path);
          times.push(await timed(() => work(path)));
        }
        return median(times);
      };
      const sameMs = await rounds(() => memory.index(), false);
      const bareMs = await rounds(async () => look(folder), false);
      const onePathMs = await rounds((path) => memory.index({ paths: [path] }), true);
      const onePassMs = await rounds(() => memory.index(), true);
      await memory.close();
      memory = await open();
      const [path = ''] = paths;
      change(path);
      const oneStartedMs = await timed(() => memory.index({ paths: [path] }));
      return {
        files: found,
        symbols,
        coldMs,
        coldCpuMs: (user + system) / 1000,
        sameMs,
        bareMs,
        onePathMs,
        onePassMs,
        oneStartedMs,
        rssMb: process.memoryUsage().rss / 2 ** 20,
      };
    } finally {
      await memory.close();
      await store.close();
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function change(path: string): void {
  appendFileSync(path, `\nexport const changedAt${Math.trunc(performance.now())} = 1;\n`);
  const at = new Date(Date.now() - 60_000);
  utimesSync(path, at, at);
}

function look(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true }).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name);
    return entry.isFile() && lstatSync(path).isFile() ? [path] : [];
  });
}

/** All of it on whatever cores there are; what is ours to answer for is the ratio to a bare look at the same files. */
const MOST_OF_BARE = 8;

export const measureIndexing: Measurement = async ({ rounds, progress }) => {
  progress(`${FILES} files`);
  const figures = await measureIndex(FILES, rounds);
  const { files, symbols, coldMs, coldCpuMs, sameMs, bareMs, onePathMs, onePassMs, oneStartedMs, rssMb } =
    figures;
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  const perSecond = (value: number) => ((files * 1000) / value).toFixed(0);
  const rows = [
    ['cold, files/s', perSecond(coldMs)],
    ['cold, files/s of CPU', perSecond(coldCpuMs)],
    ['all looked at, nothing changed', ms(sameMs)],
    ['the same by a bare loop of readdir and lstat', ms(bareMs)],
    ['one changed, by its path', ms(onePathMs)],
    ['one changed, by a whole pass', ms(onePassMs)],
    ['one changed, by its path; thread and grammar to be loaded', ms(oneStartedMs)],
  ];
  const said = `${files.toLocaleString('en-US')} files of TypeScript (telltale/src, copied), ${symbols.toLocaleString('en-US')} symbols, into a store of SQLite; medians of ${rounds}; ${rssMb.toFixed(0)} MB resident at the end.`;
  return {
    text: `${said}\n\n${table(['', ''], rows)}`,
    figures,
    verdicts: [
      atLeast('cold, a second of CPU: at least 100 files', files / (coldCpuMs / 1000), 100, 'files'),
      atMost(`nothing changed: at most ${MOST_OF_BARE}x a bare look`, sameMs / bareMs, MOST_OF_BARE, 'x'),
      atMost('5,000 files, nothing changed: at most 1 s', sameMs, 1_000, 'ms', false),
      atMost('one changed file, by its path: at most 50 ms', onePathMs, 50, 'ms', false),
    ],
  };
};
