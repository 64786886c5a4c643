import type { ActionIntent, ParserEvent } from '../../telltale/src/protocol/intents.ts';
import { createTagParser } from '../../telltale/src/protocol/tags/tag-parser.ts';
import type { Contestant } from './contestant.ts';

/**
 * Ours. `handicap` is how many parsers read the transcript side by side, with the events of the last one counted: 2 is
 * twice the work, and shows that a slower parser misses the targets.
 */
export const createTelltale = (handicap = 1): Contestant => ({
  name: handicap === 1 ? 'telltale' : `telltale, ${handicap} times over`,
  readsBodies: true,
  run(chunks) {
    const parser = createTagParser();
    const others = Array.from({ length: handicap - 1 }, () => createTagParser());
    const bodies: ActionIntent[] = [];
    let characters = 0;
    const take = (events: readonly ParserEvent[]) => {
      for (const event of events) {
        if (event.type === 'delta' || event.type === 'text') characters += event.text.length;
        else if (event.type === 'action') bodies.push(event);
      }
    };
    for (const chunk of chunks) {
      for (const other of others) other.push(chunk);
      take(parser.push(chunk));
    }
    take(parser.end());
    return { bodies, witness: characters };
  },
});
