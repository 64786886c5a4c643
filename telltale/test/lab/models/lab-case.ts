import { createHash } from 'node:crypto';
import type { Dialect } from './move.ts';
import type { Nonce } from './task.ts';
import type { ProviderName } from './words.ts';

/** A mistake, and the first turn in which it is made if it can be. */
export interface Planned {
  readonly mistake: string;
  readonly turn: number;
}

/** One run of the laboratory: all that it depends on. */
export interface LabCase {
  readonly task: string;
  readonly dialect: Dialect;
  readonly provider: ProviderName;
  /** None: the model is faultless. */
  readonly mistakes: readonly Planned[];
  readonly seed: number;
}

const plannedText = (mistakes: readonly Planned[]): string =>
  mistakes.map(({ mistake, turn }) => `${mistake}@${turn}`).join(',');

/** How to run just this one again. */
export const repeatCommand = ({ task, dialect, provider, mistakes, seed }: LabCase): string =>
  `npm run lab -- models --seed ${seed} --task ${task} --dialect ${dialect} --provider ${provider} --mistake ${
    mistakes.length === 0 ? 'none' : plannedText(mistakes)
  }`;

/** Four hexadecimal digits and a letter, so that they are never taken for a number. */
export const nonceOf =
  (seed: number): Nonce =>
  (name) =>
    `${createHash('sha256').update(`${seed}:${name}`).digest('hex').slice(0, 5)}a`;
