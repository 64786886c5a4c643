import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import type { ApprovalState, RunState } from '../../log/run-state.ts';
import type { Palette } from '../../manifest/format-diagnostic.ts';
import type { Io } from '../io.ts';
import { shellWord } from '../options.ts';
import { harmlessLine, hiddenLines, spelledOutLine } from '../view/harmless.ts';

/** The questions that a run waits for, with the commands that answer them if the store still exists. */
export function waitingLines(
  run: string,
  state: Pick<RunState, 'reviews' | 'steps'>,
  storeFlag: string | undefined,
  { cyan, yellow }: Pick<Palette, 'cyan' | 'yellow'>,
  { program }: Pick<Io, 'program'>,
): readonly string[] {
  const asked = openReviews(state).flatMap(({ review, step, prompt, options }) =>
    askedLines({ review, who: step, what: prompt, options }, storeFlag, { cyan, yellow }, { program }),
  );
  if (storeFlag === undefined) return asked;
  const signals = wantedSignals(state).map(
    ({ event, data }) =>
      `  ${cyan('→')} ${program} workflow signal ${run} ${shellWord(harmlessLine(event))} ${shellWord(harmlessLine(JSON.stringify(data)))}${storeFlag}`,
  );
  return [...asked, ...signals];
}

interface OpenQuestion {
  readonly review: string;
  readonly who: string;
  readonly what: string;
  /** The possible answers. Yes or no if undefined. */
  readonly options?: readonly string[];
}

/** A question for a person, and the command that answers it. */
export function askedLines(
  { review, who, what, options }: OpenQuestion,
  storeFlag: string | undefined,
  { cyan, yellow }: Pick<Palette, 'cyan' | 'yellow'>,
  { program }: Pick<Io, 'program'>,
): readonly string[] {
  const choices = options === undefined ? '' : ` [${options.map(spelledOutLine).join(' / ')}]`;
  const answers = options ?? YES_OR_NO;
  return [
    `  ${spelledOutLine(who)} asks: ${spelledOutLine(what)}${choices}`,
    ...hiddenLines(yellow, who, what, ...(options ?? [])),
    ...(storeFlag === undefined
      ? []
      : [
          `  ${cyan('→')} ${program} reviews ${howTo(review, answers)}${storeFlag}   (${otherwise(answers)})`,
        ]),
  ];
}

const YES_OR_NO = ['approve', 'reject'];

/** If the answers are not yes and no, the command must name one. */
const howTo = (review: string, options: readonly string[]): string =>
  options.includes('approve')
    ? `approve ${review}`
    : `answer ${review} --choice ${shellWord(harmlessLine(options[0] ?? ''))}`;

const otherwise = ([, ...others]: readonly string[]): string =>
  others.length === 0 ? 'the only answer' : `or: ${others.map(harmlessLine).join(', ')}`;

const openReviews = ({ reviews }: Pick<RunState, 'reviews'>): readonly ApprovalState[] =>
  reviews.filter(({ choice }) => choice === undefined);

/** An event that a run waits for, as `telltale workflow signal` sends it. */
export interface WantedSignal {
  readonly event: string;
  readonly data: JsonObject;
}

/**
 * The events that the running `wait` steps would accept. For a wait on `custom`, the event is the `name` that its
 * `match` requires. Of the other fields, those that must have one particular value are included.
 */
const wantedSignals = ({ steps }: Pick<RunState, 'steps'>): readonly WantedSignal[] =>
  [...steps.values()].flatMap(({ status, input }) => {
    const event = input?.event;
    if (status !== 'running' || typeof event !== 'string') return [];
    const fields = Object.entries(isJsonObject(input?.match) ? input.match : {}).filter(([, want]) =>
      isPlain(want),
    );
    if (event !== 'custom') return [{ event, data: dataOf(fields) }];
    const name = fields.find(([path]) => path === 'name')?.[1];
    const inData = fields.flatMap(([path, want]): [string, Json][] =>
      path.startsWith('data.') ? [[path.slice('data.'.length), want]] : [],
    );
    return [{ event: typeof name === 'string' ? name : event, data: dataOf(inData) }];
  });

const dataOf = (fields: readonly (readonly [string, Json])[]): JsonObject =>
  Object.fromEntries(fields.filter(([path]) => !/[.[]/.test(path)));

const isPlain = (value: Json): boolean => value !== null && typeof value !== 'object';
