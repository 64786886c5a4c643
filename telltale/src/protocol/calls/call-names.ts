import type { ActionKind } from '../../kernel/action-envelope.ts';

/** Something an action can call. */
export interface CallTarget {
  readonly kind: ActionKind;
  readonly name: string;
}

/** What the targets of an agent are called in native tool calls: one name each, over all kinds. */
export interface CallNames {
  /** In the order of the targets. */
  readonly natives: readonly string[];
  /** The target that a name means. */
  find(native: string): CallTarget | undefined;
}

/** What a model calls to speak, to declare its state and, in the dialect `step`, for everything. */
export const RESPOND = 'respond';
export const SET_METADATA = 'set_metadata';
export const STEP = 'step';

/** What every provider takes as the name of a tool. */
const MAX_NAME = 64;
const STRANGE = /[^a-zA-Z0-9_-]/g;

/**
 * Gives each target its native name. Tools and internal actions keep their own, all others are `agent_NAME`,
 * `relic_NAME` and so on; a character that may not stand there becomes `_`; where two would be the same, the one that
 * needs no change has it, else the first, and the other is told apart by its kind, then by a number. The same targets
 * in the same order always give the same names.
 */
export function createCallNames(targets: readonly CallTarget[]): CallNames {
  const byName = new Map<string, CallTarget | undefined>([
    [RESPOND, undefined],
    [SET_METADATA, undefined],
    [STEP, undefined],
  ]);
  const natives: string[] = Array.from({ length: targets.length }, () => '');
  const give = (index: number, target: CallTarget, native: string): boolean => {
    if (natives[index] !== '' || byName.has(native)) return false;
    byName.set(native, target);
    natives[index] = native;
    return true;
  };
  const keepsName = ({ kind }: CallTarget) => kind === 'tool' || kind === 'internal';
  for (const [index, target] of targets.entries())
    if (keepsName(target) && fit(target.name) === target.name) give(index, target, target.name);
  for (const [index, target] of targets.entries()) {
    const plain = keepsName(target) ? fit(target.name) : fit(`${target.kind}_${target.name}`);
    if (natives[index] !== '' || give(index, target, plain)) continue;
    const told = fit(`${target.kind}_${target.name}`);
    if (give(index, target, told)) continue;
    for (let n = 2; !give(index, target, numbered(told, n)); n++);
  }
  return { natives, find: (native) => byName.get(native) };
}

/** No targets that are known: each name is taken for a tool's. */
export const NO_CALL_NAMES: CallNames = createCallNames([]);

/** Google takes no name that begins with a digit or a hyphen. */
const fit = (name: string) =>
  name
    .replaceAll(STRANGE, '_')
    .replace(/^(?=[\d-])/, '_')
    .slice(0, MAX_NAME);

const numbered = (name: string, n: number) => `${name.slice(0, MAX_NAME - 1 - String(n).length)}_${n}`;
