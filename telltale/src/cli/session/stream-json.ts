import type { StreamInfo } from '../../store/store.ts';
import { timeText } from '../view/figures.ts';
import { shownStatus } from '../view/status.ts';

/** A session or a run as `--json` lists it. */
export const streamJson = (info: StreamInfo) => ({
  ...(info.kind === 'run'
    ? { run: info.stream, workflow: info.name }
    : { session: info.stream, agent: info.name }),
  status: shownStatus(info),
  title: info.title,
  events: info.head,
  started: timeText(info.createdAt),
  updated: timeText(info.updatedAt),
  parent: info.parent ?? null,
  pid: info.owner?.pid ?? null,
});
