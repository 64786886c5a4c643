import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { type ImportProgress, importStore } from '../../store/upkeep/import-store.ts';
import { readLines } from '../../store/upkeep/read-lines.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { cannotRead } from '../parse/read-text.ts';
import { shownLocation, storeExists } from '../session/store-location.ts';
import { countText } from '../view/figures.ts';
import { jsonText } from '../view/json-line.ts';
import { keptLocation, showing, type UpkeepOptions, withStoreAt } from './open-for-upkeep.ts';

export interface ImportCommandOptions extends UpkeepOptions {
  readonly dryRun?: true;
}

/** `telltale store import`. Ctrl-C leaves no stream half-way; the same command goes on from there. */
export async function importCommand(
  file: string,
  options: ImportCommandOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  const bytes = await begun(readBytes(file, io));
  const dryRun = options.dryRun === true;
  const named = keptLocation(options.store, io);
  // A look must not make a file.
  const location = dryRun && !storeExists(named, io) ? 'memory' : named;
  return withStoreAt(location, context, async (store) => {
    let progress: ImportProgress = { streams: 0, events: 0, rows: 0 };
    const work = () =>
      importStore(store, readLines(bytes), {
        ...{ clock: io.clock, signal: io.signal, dryRun },
        onProgress(news) {
          progress = news;
        },
      });
    const report = await showing(context, options, () => progressText(progress), work);
    const { streams, same, events, rows, entries } = report;
    const parts = [
      countText(streams, 'session or run', 'sessions and runs'),
      countText(rows, 'table row'),
      countText(entries, 'list entry', 'list entries'),
    ];
    const lines = [
      `${dryRun ? 'Would import' : 'Imported'} ${parts.join(', ')}${dryRun ? '' : ` into ${store.location}`}; ${countText(events, 'event')} looked at.`,
      ...(same > 0
        ? [`${countText(same, 'session or run is', 'sessions and runs are')} there already, the same.`]
        : []),
    ];
    await io.stdout.write(
      options.json === true
        ? jsonText({ store: shownLocation(named), dry_run: dryRun, ...report }, 2)
        : `${lines.join('\n')}\n`,
    );
    return EXIT.ok;
  });
}

const progressText = ({ streams, events, rows }: ImportProgress): string =>
  `Importing: ${countText(streams, 'session or run', 'sessions and runs')}, ${countText(events, 'event')}, ${countText(rows, 'table row')}`;

async function* readBytes(file: string, io: Io): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of file === '-' ? io.stdin : createReadStream(resolve(io.cwd, file)))
      yield piece as Uint8Array;
  } catch (thrown) {
    throw io.signal.aborted
      ? thrown
      : cannotRead(file, 'file that was exported', thrown as NodeJS.ErrnoException);
  }
}

/** With the first piece in hand: a file that cannot be read is to make no store. */
async function begun(pieces: AsyncGenerator<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  const first = await pieces.next();
  return (async function* () {
    if (first.done === true) return;
    yield first.value;
    yield* pieces;
  })();
}
