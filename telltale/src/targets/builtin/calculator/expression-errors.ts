import { nearest } from '../../../kernel/nearest.ts';
import { RuntimeError } from '../../../kernel/runtime-error.ts';
import { FUNCTIONS, NAMES } from './known-names.ts';

export const wrong = (source: string, at: number, why: string) =>
  new RuntimeError('bad_expression', `The expression ${shown(source)} ${why} (at character ${at + 1}).`, {
    hint: `Write it like (2 + 3) * sqrt(2) ^ 2. Functions: ${Object.keys(FUNCTIONS).join(', ')}.`,
  });

export const unexpected = (
  { source, at }: { readonly source: string; readonly at: number },
  wanted?: string,
) =>
  wrong(
    source,
    at,
    wanted === undefined
      ? at >= source.length
        ? 'ends where a number should stand'
        : `has "${source[at]}" where it cannot be read`
      : `lacks ${wanted}`,
  );

export const unknownName = (source: string, at: number, name: string) => {
  const near = nearest(name, NAMES);
  return new RuntimeError(
    'bad_expression',
    `The expression ${shown(source)} names "${name}", which is not known (at character ${at + 1}).`,
    {
      hint: near === undefined ? `Known: ${NAMES.join(', ')}.` : `Did you mean "${near}"?`,
    },
  );
};

export const byZero = (source: string) =>
  new RuntimeError('bad_expression', `The expression ${shown(source)} divides by zero.`);

export const notFinite = (source: string, value: number) =>
  new RuntimeError(
    'bad_expression',
    `The expression ${shown(source)} has no finite value: it is ${Number.isNaN(value) ? 'not defined' : 'too large'}.`,
  );

const shown = (source: string) => JSON.stringify(source.length > 100 ? `${source.slice(0, 100)}…` : source);
