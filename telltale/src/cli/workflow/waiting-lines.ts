import type { ApprovalState, RunState } from '../../events/run-state.ts';
import type { Palette } from '../../manifest/palette.ts';
import type { Io } from '../io.ts';
import { shellWord } from '../usage.ts';
import { harmlessLine, hiddenLines, spelledOutLine } from '../view/harmless.ts';
import { wantedSignals } from './wanted-signals.ts';

/** The questions that a run waits for, and the commands that answer it; without those where its store is gone. */
export function waitingLines(
  run: string,
  state: Pick<RunState, 'reviews' | 'steps'>,
  storeFlag: string | undefined,
  { cyan, yellow }: Pick<Palette, 'cyan' | 'yellow'>,
  { program }: Pick<Io, 'program'>,
): readonly string[] {
  const commands = (lines: readonly string[]) =>
    storeFlag === undefined ? [] : lines.map((line) => `  ${cyan('→')} ${program} ${line}`);
  return [
    ...openReviews(state).flatMap(({ review, step, prompt, options }) => [
      `  ${spelledOutLine(step)} asks: ${spelledOutLine(prompt)} [${options.map(spelledOutLine).join(' / ')}]`,
      ...hiddenLines(yellow, step, prompt, ...options),
      ...commands([`reviews ${howTo(review, options)}${storeFlag}   (${otherwise(options)})`]),
    ]),
    ...commands(
      wantedSignals(state).map(
        ({ event, data }) =>
          `workflow signal ${run} ${shellWord(harmlessLine(event))} ${shellWord(harmlessLine(JSON.stringify(data)))}${storeFlag}`,
      ),
    ),
  ];
}

/** Where the answers are others than yes and no, one of them has to be said. */
const howTo = (review: string, options: readonly string[]): string =>
  options.includes('approve')
    ? `approve ${review}`
    : `answer ${review} --choice ${shellWord(harmlessLine(options[0] ?? ''))}`;

const otherwise = ([, ...others]: readonly string[]): string =>
  others.length === 0 ? 'the only answer' : `or: ${others.map(harmlessLine).join(', ')}`;

const openReviews = ({ reviews }: Pick<RunState, 'reviews'>): readonly ApprovalState[] =>
  reviews.filter(({ choice }) => choice === undefined);
