import { flatten } from './chunks.ts';
import type { Contestant } from './contestant.ts';
import type { Transcript } from './transcript.ts';

/**
 * What the bodies' values cost whoever hands them out, however he reads: one JSON.parse of each, with its text at hand in
 * one piece, and nothing else. The chunks are not looked at, so it takes as long whatever their size.
 */
export function createJsonFloor({ bodies }: Pick<Transcript, 'bodies'>): Contestant {
  const texts = flatten(bodies);
  return {
    name: 'floor: JSON.parse',
    readsBodies: false,
    run() {
      const values: unknown[] = [];
      for (const text of texts) values.push(JSON.parse(text));
      return { bodies: [], witness: values.length };
    },
  };
}
