import { createTagParser } from '../../telltale/src/parser/create-tag-parser.ts';
import type { ActionIntent, ParserEvent } from '../../telltale/src/parser/intents.ts';
import type { Contestant } from './contestant.ts';

/**
 * Ours; `ids` is the session's, so it lasts over the turns. `handicap` is how often each turn is read, the last reading
 * counts: 2 is twice the work, and shows that a slower parser misses the targets.
 */
export const createTelltale = (handicap = 1): Contestant => ({
  name: handicap === 1 ? 'telltale' : `telltale, ${handicap} times over`,
  run(turns) {
    const ids = new Set<string>();
    const bodies: ActionIntent[] = [];
    let witness = 0;
    const take = (events: readonly ParserEvent[]) => {
      for (const event of events) {
        switch (event.type) {
          case 'text':
          case 'delta':
            witness += event.text.length;
            break;
          case 'action':
            bodies.push(event);
        }
      }
    };
    for (const chunks of turns) {
      for (let extra = 1; extra < handicap; extra += 1) {
        const other = createTagParser();
        for (const chunk of chunks) witness += other.push(chunk).length;
      }
      const parser = createTagParser({ ids });
      for (const chunk of chunks) take(parser.push(chunk));
      take(parser.end());
    }
    return { bodies, witness };
  },
});
