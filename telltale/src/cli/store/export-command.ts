import { open, rename, rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Store } from '../../store/store.ts';
import { type ExportCounts, exportStore } from '../../store/upkeep/export-store.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { findStream } from '../session/find-session.ts';
import { usage } from '../usage.ts';
import { countText } from '../view/figures.ts';
import { showing, type UpkeepOptions, withStore } from './open-for-upkeep.ts';

export interface ExportCommandOptions extends UpkeepOptions {
  readonly session?: readonly string[];
  readonly snapshots?: boolean;
  readonly force?: true;
}

/** `telltale store export`. What is written on standard output is the export and nothing else. */
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
    await showing(context, options, () => `Exporting: ${countsText(counts)}`, write);
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

/** Under another name until it is whole, and for its owner only: it holds all that sessions have seen. */
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
    await rm(part, { force: true }).catch(() => undefined); // what stopped it is what there is to tell
    throw isOfSystem(thrown) ? cannotWrite(path, thrown) : thrown;
  }
}

async function refuseThere(path: string, file: string, force: boolean): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) throw usage(`'${file}' is a folder.`, 'Name a file in it.');
  // The export is put in its place by its name: a device would be gone.
  if (found?.isFile() === false)
    throw usage(
      `'${file}' is not a file.`,
      `Write to standard output instead: telltale store export > ${file}`,
    );
  if (found !== undefined && !force)
    throw usage(`There is a file '${file}' already.`, 'Name another, or overwrite it with --force.');
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
