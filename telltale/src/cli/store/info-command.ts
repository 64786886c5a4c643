import type { WorkerRow } from '../../store/shared-store.ts';
import type { DescribedOwner, StoreDescription } from '../../store/upkeep/upkeep.ts';
import { paletteFor } from '../colour.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { asTyped } from '../session/naming-store.ts';
import { storeFlag } from '../session/store-location.ts';
import { countText, sizeText } from '../view/figures.ts';
import { harmlessLine } from '../view/harmless.ts';
import { jsonText } from '../view/json-line.ts';
import { type UpkeepOptions, withStore } from './open-for-upkeep.ts';

/** `telltale store info`. */
export function infoCommand(options: UpkeepOptions, context: CommandContext): Promise<ExitCode> {
  const { io } = context;
  return withStore(options, context, async (store) => {
    const description = await store.upkeep.describe();
    const workers = (await store.shared?.workers()) ?? [];
    await io.stdout.write(
      options.json === true
        ? jsonText({ store: store.location, ...description, workers }, 2)
        : asTyped(infoText(store.location, description, workers, io), io, storeFlag(options.store)),
    );
    return EXIT.ok;
  });
}

const KINDS = { memory: 'in memory', sqlite: 'SQLite', postgres: 'PostgreSQL' } as const;

function infoText(
  location: string,
  description: StoreDescription,
  workers: readonly WorkerRow[],
  { stdout }: Pick<Io, 'stdout'>,
): string {
  const { bold, dim } = paletteFor(stdout);
  const { kind, version, bytes, freeBytes, sessions, runs, events, messages } = description;
  const row = (name: string, value: string) => `  ${dim(name.padEnd(10))} ${value}`;
  const free = freeBytes > 0 ? `, ${sizeText(freeBytes)} of it free for what comes` : '';
  const count = (amount: number) => amount.toLocaleString('en');
  const lines = [
    bold(location),
    row('kind', `${KINDS[kind]}, version ${version}`),
    row('size', `${sizeText(bytes)}${free}`),
    row('sessions', count(sessions)),
    row('runs', count(runs)),
    row('events', count(events)),
    ...(messages > 0 ? [row('messages', `${count(messages)} waiting`)] : []),
    row('tables', `${countText(description.tables, 'table')} with ${countText(description.rows, 'row')}`),
    row(
      'lists',
      `${countText(description.lists, 'list')} with ${countText(description.entries, 'entry', 'entries')}`,
    ),
    ...(description.graphs ? [row('graphs', 'telltale memory stats says more of them')] : []),
    row('open by', openBy(description.owners, workers)),
  ];
  return `${lines.join('\n')}\n`;
}

function openBy(owners: readonly DescribedOwner[], workers: readonly WorkerRow[]): string {
  const shown =
    workers.length > 0
      ? workers.map(({ pid, host, role, holds, alive }) =>
          harmlessLine(`${role} on ${host}, process ${pid} (${alive ? '' : 'dead, '}works on ${holds})`),
        )
      : owners.map(
          ({ pid, streams, alive }) => `process ${pid} (${alive ? '' : 'dead, '}works on ${streams})`,
        );
  return shown.length === 0 ? 'nobody who works on a session' : shown.join('; ');
}
