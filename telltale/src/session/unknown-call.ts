import { RuntimeError } from '../kernel/runtime-error.ts';
import type { CallNames } from '../protocol/calls/call-names.ts';
import { unknownTarget } from '../targets/unknown-target.ts';

/**
 * What is wrong with a native call of a name that no tool has. A model that calls natively knows everything by its native
 * name, and no types: `book`, which a manifest calls a relic, is `relic_book` to it.
 */
export function unknownCall(name: string, { natives, find }: CallNames): RuntimeError {
  const meant = natives.find((native) => find(native)?.name === name);
  if (meant === undefined)
    return unknownTarget('tool', name, { all: natives.map((native) => ({ kind: 'tool', name: native })) });
  return new RuntimeError('target_unknown', `There is no tool "${name}".`, {
    hint: `Did you mean "${meant}"?`,
  });
}
