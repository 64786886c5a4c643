import type { JsonObject } from '../../kernel/json.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import type { Target } from '../../targets/target.ts';
import { badParams } from './feed-errors.ts';

/** Operations by which something is looked at that by default would be written to, in the order of preference. */
const LOOKING = ['tail', 'peek'];
/** Defaults that look and change nothing. */
const READING: ReadonlySet<string> = new Set(['get', 'query', 'read', 'list', 'now']);

/**
 * What a target is called with: the params, and `action` as the operation. `format` may name the operation, too
 * (`format: tree`), where the target has no such parameter; a relic whose default is to write is read.
 */
export function targetInput(target: Target, action: string | undefined, params: JsonObject): JsonObject {
  const known = isMap(target.parameters.properties) ? target.parameters.properties : {};
  const what = `${target.kind} "${target.name}"`;
  if (target.kind === 'llm') {
    if (action !== undefined) throw noAction(what, action);
    return params;
  }
  if (Object.hasOwn(known, 'operation') && params.operation === undefined) {
    const operations = operationsOf(known.operation);
    if (action !== undefined) return { operation: action, ...params };
    const { format, ...rest } = params;
    if (typeof format === 'string' && !Object.hasOwn(known, 'format') && operations.names.includes(format))
      return { operation: format, ...rest };
    if (target.kind !== 'relic') return params;
    return { operation: readingOperation(what, operations), ...params };
  }
  if (action === undefined || params.operation === action) return params;
  if (Object.hasOwn(known, 'action') && params.action === undefined) return { action, ...params };
  throw noAction(what, action);
}

interface Operations {
  readonly names: readonly string[];
  readonly byDefault: string | undefined;
}

function operationsOf(schema: unknown): Operations {
  const { enum: names, default: byDefault } = isMap(schema) ? schema : {};
  return {
    names: Array.isArray(names) ? names.map(String) : [],
    byDefault: typeof byDefault === 'string' ? byDefault : undefined,
  };
}

function readingOperation(what: string, { names, byDefault }: Operations): string {
  const looking = LOOKING.find((name) => names.includes(name));
  if (looking !== undefined) return looking;
  if (byDefault !== undefined && READING.has(byDefault)) return byDefault;
  throw badParams(
    what,
    'the feed does not say which operation it is for, and none is sure to change nothing.',
    `Name one by "action": ${names.join(', ')}.`,
  );
}

const noAction = (what: string, action: string) =>
  badParams(
    what,
    `there is no action "${action.slice(0, 60)}": it does one thing only.`,
    'Leave "action" out.',
  );
