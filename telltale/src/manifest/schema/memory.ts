import { closed } from './closed.ts';
import { nonEmptyText } from './names.ts';
import { countFromZero } from './numbers.ts';

export const memory = closed(
  {
    title: '"memory"',
    description: 'The knowledge graph.',
    demands: { inject: ['graph'] },
    slips: { path: 'Use "graph".', max_tokens: 'Use "inject".' },
  },
  {
    graph: nonEmptyText('The folder whose code and facts the graph holds.').optional(),
    inject: countFromZero('Tokens of the most relevant part shown at the start of a session.').optional(),
  },
);
