import type { SessionState } from '../../events/state.ts';
import type { Palette } from '../../manifest/palette.ts';
import { briefFields } from './brief.ts';
import { clip } from './columns.ts';

/** Where a replay stands, and what the session was there. */
export function positionLine(state: SessionState, head: number, columns: number, paint: Palette): string {
  const where = `event ${state.seq} of ${head}`;
  const what = `turn ${state.turn} · ${state.status} · ${briefFields(state.metadata, columns)}`;
  return `${paint.bold(where)} ${paint.dim(clip(what.replace(/ · $/, ''), Math.max(1, columns - where.length - 2)))}`;
}
