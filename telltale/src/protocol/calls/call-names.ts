import { type CallTarget, meantTarget, withoutPrefix } from './meant-target.ts';

/** What the targets of an agent are called in native tool calls: one name each, over all kinds. */
export interface CallNames {
  /** In the order of the targets. */
  readonly natives: readonly string[];
  /** The target with this native name. */
  find(native: string): CallTarget | undefined;
  /** The native name that a model means which puts `functions.` before it. */
  plain(name: string): string;
  /**
   * The target that a model means by a name: by a native one, or by the one that the target has in the manifest, of
   * whatever kind it is. A list of native names where several have that one, a tool's where none has.
   */
  meant(name: string): CallTarget | readonly string[];
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
  const plain = (name: string): string => (byName.has(withoutPrefix(name)) ? withoutPrefix(name) : name);
  const nativesOf = (name: string) =>
    natives.filter((_, index) => targets[index]?.name === name && targets[index]?.kind !== 'tool');
  return {
    natives,
    find: (native) => byName.get(native),
    plain: (name) => (byName.has(name) ? name : plain(name)),
    meant(name) {
      const known = byName.get(name) ?? byName.get(plain(name));
      if (known !== undefined) return known;
      const target = meantTarget({ kind: 'tool', name }, (kind, asked) =>
        targets.some((each) => each.kind === kind && each.name === asked),
      );
      return 'kinds' in target ? nativesOf(target.name) : target;
    },
  };
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
