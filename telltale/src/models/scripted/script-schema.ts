import { z } from 'zod';
import { closed } from '../../manifest/schema/closed.ts';
import { nonEmptyText, text } from '../../manifest/schema/names.ts';
import { count, countFromZero, flag } from '../../manifest/schema/numbers.ts';
import { duration } from '../../manifest/schema/quantities.ts';
import { MODEL_FAILURES } from '../model-errors.ts';
import { scriptParts } from './script-parts.ts';
import { textOrMap } from './text-or-map.ts';

const tokensPerSecond = () =>
  z.number().positive().meta({
    description: 'How fast it speaks; a token is four characters. Without it everything comes at once.',
    expects: 'a number above zero',
  });
const chunk = () => count('Characters that come at a time: 4 by default.');

const expectation = textOrMap(
  'An expectation',
  nonEmptyText('What must stand in what the model was told since it last spoke.'),
  closed(
    {
      title: 'an expectation',
      exactlyOne: [['contains', 'not_contains']],
      slips: {
        matches: 'Patterns are not supported here. Use "contains" or "not_contains".',
        regex: 'Patterns are not supported here. Use "contains" or "not_contains".',
      },
    },
    {
      contains: nonEmptyText('What must stand there.').optional(),
      not_contains: nonEmptyText('What must not stand there.').optional(),
    },
  ),
);

const turnMap = closed(
  {
    title: 'a turn',
    exactlyOne: [['text', 'say']],
    demands: { fail_with: ['fail_after'] },
    slips: {
      turns: 'Put it at the top of the file.',
      loop: 'Put it at the top of the file.',
      call: 'Put a call into "say": say: [{ call: … }].',
    },
  },
  {
    text: text('What the model says.').optional(),
    say: scriptParts().optional(),
    reasoning: text("The provider's own reasoning, before the text.").optional(),
    tokens_per_second: tokensPerSecond().optional(),
    chunk: chunk().optional(),
    delay: duration('Before the first character.').optional(),
    expect: z.array(expectation).meta({ expects: 'a list' }).optional(),
    fail_after: countFromZero('The stream breaks off after so many characters.').optional(),
    fail_with: z.enum(MODEL_FAILURES).describe('What it breaks off with.').optional(),
    finish: z.enum(['stop', 'length']).describe('Why it ends.').optional(),
    usage: closed(
      { title: '"usage"' },
      {
        input: countFromZero('Tokens of the prompt.'),
        output: countFromZero('Tokens of the answer.'),
        cached: countFromZero('Tokens of the prompt that came from a cache.').optional(),
        written: countFromZero('Tokens of the prompt that were written to a cache.').optional(),
      },
    ).optional(),
  },
);

/** A `scripted:` file. */
export const scriptSchema = closed(
  {
    title: 'a script',
    slips: {
      text: 'Put it into a turn: turns: [{ text: … }].',
      expect: 'Put it into a turn.',
      fail_after: 'Put it into a turn.',
      delay: 'Put it into a turn.',
      usage: 'Put it into a turn.',
    },
  },
  {
    turns: z
      .array(textOrMap('A turn', text('What the model says.'), turnMap))
      .min(1)
      .meta({ description: 'What the model says, turn by turn.', expects: 'a list of one turn or more' }),
    first_turn: count('The turn of the session that the list begins with: 1 by default.').optional(),
    tokens_per_second: tokensPerSecond().optional(),
    chunk: chunk().optional(),
    loop: flag('Whether it begins again after the last turn.').optional(),
    context_window: count('Tokens the model says it can read.').optional(),
  },
);
