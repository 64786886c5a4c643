import type { Contestant } from './contestant.ts';

/** What the loop itself costs: one character of each chunk is looked at, and nothing is returned. */
export const floor: Contestant = {
  name: 'floor: sync loop',
  readsBodies: false,
  run(turns) {
    let witness = 0;
    for (const chunks of turns) for (const chunk of chunks) witness = (witness + chunk.charCodeAt(0)) | 0;
    return { bodies: [], witness };
  },
};
