import type { JsonObject } from '../../kernel/json.ts';
import type { Place } from '../report.ts';
import { LOOP_CONTROL } from './contracts.ts';
import type { Around, Conversion } from './conversion.ts';
import type { BodyStep, LoopStep } from './shape-step.ts';

/** A step of a body, and where it stands. */
export interface PlacedBody {
  readonly step: BodyStep;
  readonly path: Around['path'];
}

/** What converts the steps of a body. */
export type Convert = (step: BodyStep, around: Around) => readonly JsonObject[];

/** Whether a loop goes by `wr.loop_control`, as WorkRail decides it. */
export const isArtifactLoop = ({ loop }: LoopStep, body: readonly BodyStep[]): boolean => {
  if (loop.type !== 'while' && loop.type !== 'until') return false;
  if (loop.conditionSource !== undefined) return loop.conditionSource.kind === 'artifact_contract';
  return body.some(setsDecision);
};

export const setsDecision = (step: BodyStep): boolean =>
  step.type === undefined && step.outputContract?.contractRef === LOOP_CONTROL;

/** A loop in hand: as it is in WorkRail, and what of it is known already. */
export interface LoopInHand {
  readonly step: LoopStep;
  readonly name: string;
  /** Keys that every kind has. */
  readonly common: JsonObject;
  readonly body: readonly PlacedBody[];
  readonly around: Around;
  readonly place: Place;
  readonly convert: Convert;
}

/** Counts a round. */
export const countStep = (c: Conversion, name: string, counter: string): JsonObject => ({
  name: c.stepNames.take(`${name}-count`),
  type: 'script',
  script: `vars.${counter} + 1`,
  output_key: counter,
});
