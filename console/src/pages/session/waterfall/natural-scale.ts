import type { TurnRow } from '../model/waterfall-rows.ts';

/** A turn narrower than this says nothing any more. */
const LEAST_TURN_PX = 90;
/** What a typical turn is given then, as a part of the view. */
const TURN_SHARE = 0.6;
/** Turns that are looked at. */
const SAMPLE = 40;

/** The scale at which turns can be read; 0 where all of the session fits so that they can. */
export function naturalScale(turns: readonly TurnRow[], fitted: number, width: number): number {
  const step = Math.max(1, Math.floor(turns.length / SAMPLE));
  const spans: number[] = [];
  for (let at = 0; at < turns.length; at += step) {
    const turn = turns[at];
    if (turn?.end !== undefined) spans.push(turn.end.at - turn.at);
  }
  const typical = spans.sort((a, b) => a - b)[spans.length >> 1];
  if (typical === undefined || typical <= 0 || typical * fitted >= LEAST_TURN_PX) return 0;
  return (width * TURN_SHARE) / typical;
}
