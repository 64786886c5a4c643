import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { isTooDeep, MAX_DEPTH } from '../is-too-deep.ts';

/** What is wrong with the arguments of a call before anybody else looks at them: values without end in each other. */
export const checkDepth = (args: Json, what: string): RuntimeError | undefined =>
  isTooDeep(args) ? tooDeep(what) : undefined;

const tooDeep = (what: string) =>
  new RuntimeError(
    'bad_parameters',
    `The parameters of ${what} are nested deeper than ${MAX_DEPTH} levels.`,
    {
      hint: 'Send flatter values, or put them into a file and say where it is.',
    },
  );
