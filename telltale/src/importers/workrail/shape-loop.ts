import { z } from 'zod';
import { choice } from '../../manifest/schema/choice.ts';
import { closed } from '../../manifest/schema/closed.ts';
import { nonEmptyText, text } from '../../manifest/schema/names.ts';
import { count } from '../../manifest/schema/numbers.ts';
import { condition } from './shape-condition.ts';

const identifier = () => z.string().regex(/^[A-Za-z_]\w*$/);

const conditionSource = closed(
  { title: '"conditionSource"' },
  {
    kind: z.enum(['artifact_contract', 'context_variable']),
    contractRef: nonEmptyText('The contract.').optional(),
    loopId: nonEmptyText('The loop.').optional(),
    condition: condition.optional(),
  },
);

const name = text('A name.');
const howOften = z.number().min(0);

/** How often a loop goes round, and what by. */
export const loopConfig = closed(
  { title: '"loop"' },
  {
    type: z.enum(['while', 'until', 'for', 'forEach']),
    condition: condition.optional(),
    items: nonEmptyText('The variable that holds the list.').optional(),
    count: choice([howOften, name], (value) => (typeof value === 'string' ? name : howOften)).optional(),
    maxIterations: count('The most rounds.'),
    iterationVar: identifier().optional(),
    itemVar: identifier().optional(),
    indexVar: identifier().optional(),
    conditionSource: conditionSource.optional(),
  },
);
