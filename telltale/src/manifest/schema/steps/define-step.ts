import type { z } from 'zod';
import { closed, type Place, type Slips } from '../closed.ts';
import { PARAMETER_SLIPS, STEP_SLIPS, stepKeys } from './step-common.ts';

interface StepPlace extends Omit<Place, 'title' | 'slips'> {
  readonly slips?: Slips;
}

/** A closed map with the keys of every step and those of this type. */
export function defineStep<Shape extends z.core.$ZodLooseShape>(
  type: string,
  place: StepPlace,
  shape: Shape,
) {
  const title = `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type} step`;
  const common = { ...STEP_SLIPS, ...(Object.hasOwn(shape, 'parameters') ? PARAMETER_SLIPS : {}) };
  const elsewhere = Object.fromEntries(Object.entries(common).filter(([key]) => !Object.hasOwn(shape, key)));
  return closed({ ...place, title, slips: { ...elsewhere, ...place.slips } }, { ...stepKeys(), ...shape });
}
