import type { Palette } from '../../manifest/palette.ts';
import type { CauseChain } from '../../session/log/cause-chain.ts';
import { isRunEvent, streamOf } from '../../session/log/stream-event.ts';
import { brief } from './brief.ts';
import { clip } from './columns.ts';
import { describeLogged } from './describe-event.ts';
import { describeRunEvent } from './describe-run-event.ts';

/** Steps to the right, at the most: a long chain stays on the screen. */
const MAX_INDENT = 12;

/** A chain of causes for people, the event that was asked for first. A stream is named where the chain enters it. */
export function causeLines(
  { events, lost }: CauseChain,
  { columns, paint }: { readonly columns: number; readonly paint: Palette },
): readonly string[] {
  const indent = (step: number) => ' '.repeat(Math.min(step, MAX_INDENT) * 2);
  const lines = events.map((event, step) => {
    const before = `${indent(step)}${step === 0 ? '' : '└ because '}`;
    const effect = events[step - 1];
    const isElsewhere = effect !== undefined && streamOf(effect) !== streamOf(event);
    const where = isElsewhere ? `${brief(streamOf(event), columns)} ` : '';
    const head = `${where}${event.seq} ${event.type}`;
    const room = Math.max(1, columns - before.length - head.length - 3);
    const text = isRunEvent(event)
      ? describeRunEvent(event, room)
      : describeLogged(event, room, () => undefined);
    return `${paint.dim(before)}${paint.bold(head)}  ${text}`.trimEnd();
  });
  const last = `${indent(events.length)}└ ${
    lost === undefined
      ? 'from outside: started by a person or a program'
      : `because of event ${lost.seq} of ${brief(lost.stream, columns)}, which is in this store no more`
  }`;
  return [...lines, paint.dim(clip(last, columns))];
}
