import { type CheckProgress, type CheckReport, checkStore } from '../../store/upkeep/check-store.ts';
import type { Fault } from '../../store/upkeep/upkeep.ts';
import { paletteFor } from '../colour.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { asTyped } from '../session/naming-store.ts';
import { storeFlag } from '../session/store-location.ts';
import { countText } from '../view/figures.ts';
import { harmlessLine } from '../view/harmless.ts';
import { jsonText } from '../view/json-line.ts';
import { showing, type UpkeepOptions, withStore } from './open-for-upkeep.ts';

/** `telltale store check`. */
export function checkCommand(options: UpkeepOptions, context: CommandContext): Promise<ExitCode> {
  const { io } = context;
  return withStore(options, context, async (store) => {
    let progress: CheckProgress = { streams: 0, events: 0 };
    const work = () =>
      checkStore(store, {
        signal: io.signal,
        onProgress(news) {
          progress = news;
        },
      });
    const report = await showing(context, options, () => progressText(progress), work);
    const isSound = report.more === 0 && report.faults.every(({ grade }) => grade === 'note');
    await io.stdout.write(
      options.json === true
        ? jsonText({ ok: isSound, store: store.location, ...report }, 2)
        : asTyped(reportText(report, isSound, store.location, io), io, storeFlag(options.store)),
    );
    return isSound ? EXIT.ok : EXIT.failed;
  });
}

const progressText = ({ streams, events }: CheckProgress): string =>
  `Checking: ${countText(streams, 'session or run', 'sessions and runs')}, ${countText(events, 'event')}`;

const uncoveredText = (uncovered: number): string =>
  `${countText(uncovered, 'event')} of an older version ${uncovered === 1 ? 'has' : 'have'} no checksum: a changed byte there may go unnoticed.`;

function reportText(
  report: CheckReport,
  isSound: boolean,
  location: string,
  { stdout }: Pick<Io, 'stdout'>,
): string {
  const { green, red, yellow, cyan, bold } = paletteFor(stdout);
  const { streams, events, snapshots, messages, rows, entries, uncovered = 0, faults, more } = report;
  const shown = ({ grade, stream, seq, found, hint }: Fault): readonly string[] => {
    const place = [stream, seq === undefined ? undefined : `event ${seq}`].filter(
      (part) => part !== undefined,
    );
    const mark = grade === 'damage' ? red('✗') : yellow('!');
    const at = place.length === 0 ? '' : `${bold(harmlessLine(place.join(', ')))}: `;
    return [`${mark} ${at}${harmlessLine(found)}`, `  ${cyan('→')} ${harmlessLine(hint)}`];
  };
  const counts = [
    countText(streams, 'session or run', 'sessions and runs'),
    countText(events, 'event'),
    countText(snapshots, 'snapshot'),
    countText(messages, 'message'),
    countText(rows, 'table row'),
    countText(entries, 'list entry', 'list entries'),
  ].join(', ');
  const wrong = faults.filter(({ grade }) => grade === 'damage').length + more;
  const lines = [
    ...faults.flatMap(shown),
    ...(uncovered > 0 ? [uncoveredText(uncovered)] : []),
    ...(more > 0 ? [`… and ${more.toLocaleString('en')} more`] : []),
    isSound
      ? `${green('✓')} ${location} is in order: ${counts}.`
      : `${red('✗')} ${location}: ${countText(wrong, 'thing is', 'things are')} wrong in ${counts}.`,
  ];
  return `${lines.join('\n')}\n`;
}
