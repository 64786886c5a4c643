import { createHash } from 'node:crypto';
import type { PinnedStep } from '../../events/run-event.ts';
import type { AcceptedChange, RunState, StepState } from '../../events/run-state.ts';
import type { Json } from '../../kernel/json.ts';
import { canonicalJson } from '../../manifest/project/canonical-json.ts';
import type { Step } from '../../manifest/schema/steps/step.ts';
import type { Stepped } from '../all-steps.ts';
import { listsInside } from '../machine/composite.ts';

/** What a step does is not changed by these. `branches` and the like hold steps, which are pinned themselves. */
const NOT_HASHED: ReadonlySet<string> = new Set(
  `name description needs condition if on_error retry timeout compensate output_key
   branches body cases default catch finally`.split(/\s+/),
);
const HASH_CHARS = 12;

const known = new WeakMap<Stepped, readonly PinnedStep[]>();

/** The steps of a workflow in the order of its text, outer before inner. */
export function pinSteps(workflow: Stepped): readonly PinnedStep[] {
  const before = known.get(workflow);
  if (before !== undefined) return before;
  const pinned: PinnedStep[] = [];
  const add = (steps: readonly Step[], around: string) => {
    for (const step of steps) {
      const at = around + step.name;
      pinned.push({ at, type: typeOf(step), hash: hashOf(step) });
      for (const inner of listsInside(step)) add(inner, `${at}/`);
    }
  };
  add(workflow.steps ?? [], '');
  for (const [state, { steps }] of Object.entries(workflow.states ?? {})) add(steps, `${state}/`);
  known.set(workflow, pinned);
  return pinned;
}

const typeOf = (step: Step): string =>
  step.type === 'script' && 'command' in step && step.command !== undefined ? 'command' : step.type;

function hashOf(step: Step): string {
  const told = Object.entries(step).filter(([key]) => !NOT_HASHED.has(key));
  // Functions of a program have no text that could be compared.
  const plain = JSON.parse(JSON.stringify(Object.fromEntries(told))) as Json;
  return createHash('sha256').update(canonicalJson(plain)).digest('hex').slice(0, HASH_CHARS);
}

/** The path of the step that an address belongs to: `drafting@2/each[3]/build~2` is `drafting/each/build`. */
export const pathOf = (address: string): string =>
  address
    .split('/')
    .map((part) => part.replace(DECORATION, ''))
    .join('/');

const DECORATION = /[~!#@[].*$/;

export const containerOf = (path: string): string => path.slice(0, path.lastIndexOf('/') + 1);
export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/**
 * The step on the log whose place this one has taken in an accepted change: in the same round and the same visit, where
 * it is part of the same list.
 */
export function replacedBy(
  { steps }: Pick<RunState, 'steps'>,
  { replaced }: AcceptedChange,
  address: string,
): StepState | undefined {
  let candidate: string | undefined = address;
  // A step may have been renamed more than once.
  for (let renames = 0; renames <= replaced.size; renames++) {
    candidate = before(replaced, candidate);
    if (candidate === undefined) return undefined;
    const found = steps.get(candidate);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The address by the names of before the change; undefined where no name in it has changed. */
function before(replaced: AcceptedChange['replaced'], address: string): string | undefined {
  let path = '';
  let old = '';
  let isChanged = false;
  for (const part of address.split('/')) {
    const name = part.replace(DECORATION, '');
    path += path === '' ? name : `/${name}`;
    const was = replaced.get(path);
    const prefix = old === '' ? '' : `${old}/`;
    if (was === undefined) {
      old = prefix + part;
      continue;
    }
    isChanged = true;
    // A step that was moved to another list had an address of its own there.
    old = containerOf(was) === pathOf(prefix) ? prefix + nameOf(was) + part.slice(name.length) : was;
  }
  return isChanged ? old : undefined;
}
