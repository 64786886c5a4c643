import { createReadStream } from 'node:fs';
import { type FileHandle, mkdtemp, open, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import type { Store } from '../../store/store.ts';
import { type ExportCounts, exportStore } from '../../store/upkeep/export-store.ts';
import { type ImportProgress, type ImportReport, importStore } from '../../store/upkeep/import-store.ts';
import { readLines } from '../../store/upkeep/read-record.ts';
import { type CommandContext, EXIT, type ExitCode } from '../command.ts';
import { type Io, paletteFor } from '../io.ts';
import { usage } from '../options.ts';
import { cannotRead } from '../parse/read-text.ts';
import { findStream } from '../session/find-session.ts';
import { shownLocation, storeExists, storeFlag } from '../session/store-options.ts';
import { countText } from '../view/figures.ts';
import { jsonText } from '../view/json-text.ts';
import { keptLocation, type UpkeepOptions, withProgress, withStore, withStoreAt } from './open-for-upkeep.ts';

export interface ExportCommandOptions extends UpkeepOptions {
  readonly session?: readonly string[];
  readonly snapshots?: boolean;
  readonly force?: true;
}

/** `telltale store export`. Standard output contains only the export. */
export function exportCommand(
  file: string | undefined,
  options: ExportCommandOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  return withStore(options, context, async (store) => {
    const streams = await chosen(store, options.session);
    const path = file === undefined || file === '-' ? undefined : resolve(io.cwd, file);
    if (path !== undefined) await refuseThere(path, file ?? path, options.force === true);
    let counts: ExportCounts = { streams: 0, events: 0, rows: 0, entries: 0, leftOut: 0 };
    const text = exportStore(store, {
      now: io.clock.now(),
      signal: io.signal,
      withoutSnapshots: options.snapshots === false,
      ...(streams === undefined ? {} : { streams }),
      onProgress(news) {
        counts = { ...news };
      },
    });
    const write = () => (path === undefined ? toOutput(text, io) : toFile(text, path));
    await withProgress(context, options, () => `Exporting: ${countsText(counts)}`, write);
    if (io.stdout.closed) return EXIT.ok;
    const to = file === undefined || file === '-' ? '' : ` to ${file}`;
    await io.stderr.write(`Exported ${countsText(counts)}${to}.\n`);
    if (counts.leftOut > 0)
      await io.stderr.write(
        `Left out ${countText(counts.leftOut, 'session or run', 'sessions and runs')} that a copy or import has not finished.\n`,
      );
    return EXIT.ok;
  });
}

async function chosen(
  store: Store,
  asked: readonly string[] | undefined,
): Promise<readonly string[] | undefined> {
  if (asked === undefined || asked.length === 0) return undefined;
  const found: string[] = [];
  for (const each of asked) found.push((await findStream(store, each)).stream);
  return found;
}

async function toOutput(text: AsyncIterable<string>, { stdout }: Pick<Io, 'stdout'>): Promise<void> {
  for await (const piece of text) {
    await stdout.write(piece);
    if (stdout.closed) return;
  }
}

/**
 * Writes to a temporary name until the file is complete. Only the owner may read it, because it contains everything
 * that sessions have seen.
 */
async function toFile(text: AsyncIterable<string>, path: string): Promise<void> {
  const part = `${path}.part`;
  try {
    const handle = await open(part, 'w', 0o600);
    try {
      for await (const piece of text) await handle.write(piece);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(part, path);
  } catch (thrown) {
    await rm(part, { force: true }).catch(() => undefined); // The first error is the one to report.
    throw isOfSystem(thrown) ? cannotWrite(path, thrown) : thrown;
  }
}

async function refuseThere(path: string, file: string, force: boolean): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) throw usage(`'${file}' is a folder.`, 'Name a file in it.');
  // The export replaces the file by a rename, which would replace a device too.
  if (found?.isFile() === false)
    throw usage(
      `'${file}' is not a file.`,
      `Write to standard output instead: telltale store export > ${file}`,
    );
  if (found !== undefined && !force)
    throw usage(`The file '${file}' already exists.`, 'Name another, or overwrite it with --force.');
}

const isOfSystem = (thrown: unknown): thrown is NodeJS.ErrnoException =>
  thrown instanceof Error && 'syscall' in thrown;

const cannotWrite = (path: string, cause: NodeJS.ErrnoException) =>
  new RuntimeError('cannot_write', `${path} cannot be written (${cause.code ?? cause.message}).`, {
    hint:
      cause.code === 'ENOSPC'
        ? 'Make room on that disk, or name a file elsewhere.'
        : 'Name a file that you may write to.',
    cause,
  });

const countsText = ({ streams, events, rows, entries }: ExportCounts): string =>
  [
    countText(streams, 'session or run', 'sessions and runs'),
    countText(events, 'event'),
    countText(rows, 'table row'),
    countText(entries, 'list entry', 'list entries'),
  ].join(', ');

export interface ImportCommandOptions extends UpkeepOptions {
  readonly dryRun?: true;
  /** The file is the user's own backup: rows that grant rights are imported, and unfinished work continues. */
  readonly trusted?: true;
}

/**
 * `telltale store import`. It reads the whole file before it writes anything, so a refused file leaves nothing behind.
 * After Ctrl-C no stream is incomplete, and the same command continues.
 */
export async function importCommand(
  file: string,
  options: ImportCommandOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  const named = keptLocation(options.store, io);
  const isThere = storeExists(named, io);
  const source = await openSource(file, io);
  const read = async (store: Store, dryRun: boolean): Promise<ImportReport> => {
    let progress: ImportProgress = { streams: 0, events: 0, rows: 0 };
    const work = () =>
      importStore(store, readLines(source.read()), {
        clock: io.clock,
        signal: io.signal,
        dryRun,
        isForeign: options.trusted !== true,
        onProgress(news) {
          progress = news;
        },
      });
    return withProgress(context, options, () => progressText(dryRun, progress), work);
  };
  const write = (store: Store) => read(store, false);
  const lookThenWrite = async (store: Store) => {
    const looked = await read(store, true);
    return options.dryRun === true ? looked : write(store);
  };
  try {
    let report: ImportReport;
    if (isThere) report = await withStoreAt(named, context, lookThenWrite);
    else {
      // A refused file must not create a store.
      report = await withStoreAt('memory', context, (store) => read(store, true));
      if (options.dryRun !== true) report = await withStoreAt(named, context, write);
    }
    await io.stdout.write(
      options.json === true
        ? jsonText({ store: shownLocation(named), dry_run: options.dryRun === true, ...report }, 2)
        : reportText(report, shownLocation(named), options, io),
    );
  } finally {
    await source.close();
  }
  return EXIT.ok;
}

const progressText = (dryRun: boolean, { streams, events, rows }: ImportProgress): string =>
  `${dryRun ? 'Checking' : 'Importing'}: ${countText(streams, 'session or run', 'sessions and runs')}, ${countText(events, 'event')}, ${countText(rows, 'table row')}`;

function reportText(
  { streams, same, events, rows, entries, quarantined = 0 }: ImportReport,
  location: string,
  { dryRun, store }: ImportCommandOptions,
  { stdout, program }: Pick<Io, 'stdout' | 'program'>,
): string {
  const parts = [
    countText(streams, 'session or run', 'sessions and runs'),
    countText(rows, 'table row'),
    countText(entries, 'list entry', 'list entries'),
  ];
  const lines = [
    `${dryRun ? 'Would import' : 'Imported'} ${parts.join(', ')}${dryRun ? '' : ` into ${location}`}; ${countText(events, 'event')} checked.`,
  ];
  if (same > 0)
    lines.push(`${countText(same, 'session or run is', 'sessions and runs are')} already there, unchanged.`);
  if (quarantined > 0) {
    const { yellow } = paletteFor(stdout);
    lines.push(
      yellow(
        `${countText(quarantined, 'session or run has', 'sessions and runs have')} not ended and ${quarantined === 1 ? 'is' : 'are'} quarantined, because the file is not trusted. Nothing resumes ${quarantined === 1 ? 'it' : 'them'} by itself. Read ${quarantined === 1 ? 'it' : 'one'} with ${program} show SESSION${storeFlag(store)}, then: ${program} resume SESSION${storeFlag(store)}`,
      ),
    );
  }
  return `${lines.join('\n')}\n`;
}

/** A file that can be read more than once. */
interface RereadableFile {
  read(): AsyncGenerator<Uint8Array>;
  close(): Promise<void>;
}

/** The file itself. For standard input or a pipe, a temporary copy that only its owner can read. */
async function openSource(file: string, io: Io): Promise<RereadableFile> {
  const fail = (thrown: unknown): unknown =>
    io.signal.aborted ? thrown : cannotRead(file, 'file that was exported', thrown as NodeJS.ErrnoException);
  if (file !== '-') {
    try {
      const handle = await open(resolve(io.cwd, file));
      const kind = await handle.stat();
      if (kind.isFile()) return { read: () => readHandle(handle, fail), close: () => handle.close() };
      await handle.close();
      if (kind.isDirectory()) throw Object.assign(new Error(`'${file}' is a folder`), { code: 'EISDIR' });
    } catch (thrown) {
      throw fail(thrown);
    }
  }
  const folder = await mkdtemp(join(tmpdir(), 'telltale-import-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const handle = await open(join(folder, 'copy.jsonl'), 'wx+', 0o600);
    try {
      for await (const piece of file === '-' ? io.stdin : createReadStream(resolve(io.cwd, file))) {
        io.signal.throwIfAborted();
        await handle.writeFile(piece as Uint8Array);
      }
    } catch (thrown) {
      await handle.close();
      throw fail(thrown);
    }
    return { read: () => readHandle(handle, fail), close: () => handle.close().then(remove) };
  } catch (thrown) {
    await remove();
    throw thrown;
  }
}

const PIECE_BYTES = 256 * 1024;

async function* readHandle(
  handle: FileHandle,
  fail: (thrown: unknown) => unknown,
): AsyncGenerator<Uint8Array> {
  for (let at = 0; ; ) {
    const piece = Buffer.alloc(PIECE_BYTES);
    const { bytesRead } = await handle.read(piece, 0, PIECE_BYTES, at).catch((thrown: unknown) => {
      throw fail(thrown);
    });
    if (bytesRead === 0) return;
    at += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}
