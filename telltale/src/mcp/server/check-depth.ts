import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';

/** As deep as what an agent sends may be: who walks or writes a value later may not take any depth. */
const MAX_DEPTH = 500;

/** What is wrong with the arguments of a call before anybody else looks at them: lists and objects without end in each other. */
export const checkDepth = (args: Json, what: string): RuntimeError | undefined =>
  isDeeperThan(args, MAX_DEPTH) ? tooDeep(what) : undefined;

function isDeeperThan(value: Json, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((child) => isDeeperThan(child, levels - 1));
}

const tooDeep = (what: string) =>
  new RuntimeError(
    'bad_parameters',
    `The parameters of ${what} are nested deeper than ${MAX_DEPTH} levels.`,
    {
      hint: 'Send flatter values, or put them into a file and say where it is.',
    },
  );
