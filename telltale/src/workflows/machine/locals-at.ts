import type { RunState, StepState } from '../../events/run-state.ts';
import type { Json } from '../../kernel/json.ts';
import type { Step } from '../../manifest/schema/steps/step.ts';
import type { Locals } from '../scope.ts';
import { itemsOnLog } from './items-of.ts';

type Known = RunState['steps'];

/** A step that an address passes through: `each~2!3[0]`, `guarded!2`. */
const PASSED = /^([^~!#@[\]]+)(~\d+)?(?:!\d+)?(?:\[(\d+)\])?$/;
const NAME = /^[^~!#@[\]/]*/;

/** What a step of this address saw: the items of the `foreach` steps around it, and in a `catch` the error, by the log. */
export function localsAt(known: Known, address: string, steps: ReadonlyMap<string, Step>): Locals {
  const locals: Record<string, Json> = {};
  let at = 0;
  for (let slash = address.indexOf('/'); slash !== -1; slash = address.indexOf('/', at)) {
    const [, name = '', visit = '', index] = PASSED.exec(address.slice(at, slash)) ?? [];
    const step = steps.get(name);
    const before = address.slice(0, at);
    at = slash + 1;
    if (step?.type === 'foreach') {
      const items = itemsOnLog(known.get(before + name + visit), step);
      locals[step.as] = items?.[Number(index)] ?? null;
    }
    if (step?.type === 'try' && isIn(step.catch, address.slice(at))) {
      const error = failureOf(known, step.body, address.slice(0, at))?.error;
      if (error !== undefined) locals.error = error as unknown as Json;
    }
  }
  return locals;
}

const isIn = (list: readonly Step[] | undefined, rest: string): boolean => {
  const [name] = NAME.exec(rest) ?? [];
  return list?.some((step) => step.name === name) === true;
};

/** The failure that a list failed with: the first of its order in a graph, else the first that came. */
function failureOf(known: Known, list: readonly Step[], prefix: string): StepState | undefined {
  const failed = list.flatMap(({ name }) => visitsOf(known, prefix + name));
  const isGraph = list.some(({ needs }) => needs !== undefined);
  return isGraph ? failed[0] : failed.sort((a, b) => (a.endedSeq ?? 0) - (b.endedSeq ?? 0))[0];
}

/** The times that a step was begun and failed, with nothing to handle it. */
function visitsOf(known: Known, address: string): readonly StepState[] {
  const failed: StepState[] = [];
  let visit = 1;
  for (let state = known.get(address); state !== undefined; state = known.get(`${address}~${++visit}`))
    if (state.status === 'failed' && state.policy === 'fail') failed.push(state);
  return failed;
}
