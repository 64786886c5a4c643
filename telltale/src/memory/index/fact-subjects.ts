import type { FactSubject } from '../../store/graph.ts';
import type { LearnedFact } from '../memory.ts';

/**
 * What a fact is about, by paths of the graph. One that is about a file elsewhere is kept all the same: its text says
 * what it is about, since no file of the graph can.
 */
export function placeFact(
  { text, about = [] }: Pick<LearnedFact, 'text' | 'about'>,
  pathOf: (path: string) => string | undefined,
): { readonly text: string; readonly about: readonly FactSubject[] } {
  const outside: string[] = [];
  const placed = about.flatMap(({ path, symbol }): readonly FactSubject[] => {
    const own = path === undefined ? undefined : pathOf(path);
    if (path !== undefined && own === undefined) outside.push(path);
    const subject = {
      ...(own === undefined || own === '' ? {} : { path: own }),
      ...(symbol === undefined ? {} : { symbol }),
    };
    return Object.keys(subject).length === 0 ? [] : [subject];
  });
  const where = outside.length === 0 ? '' : ` (about ${outside.join(', ')}, outside of the folder)`;
  return { text: `${text}${where}`, about: placed };
}
