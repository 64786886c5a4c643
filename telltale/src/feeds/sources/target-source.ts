import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { isModelRef } from '../../manifest/schema/model-ref.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { withTimeout } from '../../tools/abort.ts';
import { requestedModel, withoutModel } from '../../tools/llm/llm-targets.ts';
import type { Target } from '../../tools/target.ts';
import { unknownTarget } from '../../tools/target-deps.ts';
import type { FeedSource, SourceCall } from '../feed.ts';
import { badParams, mayChange, needsApproval, type SourceDeps } from './source.ts';

export type TargetSource = Extract<FeedSource, { readonly type: 'tool' | 'relic' | 'llm' }>;

/** A target's call, as a feed makes it. */
export interface TargetSourceFeedCall {
  readonly target: Target;
  readonly input: JsonObject;
  readonly model?: string;
}

/** What tools, relics and prompts answer. */
export function createTargetSource(deps: SourceDeps) {
  const { clock } = deps.targets.deps;
  let calls = 0;
  return async (source: TargetSource, { feed, params, signal }: SourceCall): Promise<Json> => {
    const isModels = deps.isModels?.(feed.id) === true;
    const { target, input, model } = feedCall(source, params, deps, isModels);
    const what = `feed "${feed.id}"`;
    const wrong = target.check(input);
    if (wrong !== undefined) throw wrong;
    if (isModels) mustOnlyRead(what, target, input);
    await mustNotAsk(what, target, input, deps);
    const session = deps.state.id;
    const id = `feed:${feed.id}`;
    const { charge, note, agentView: agent } = deps;
    const seconds = target.timeoutMs === undefined ? undefined : target.timeoutMs / 1000;
    const { slots } = target;
    // The target's time counts from its start; the load's goes on.
    const free = slots && (await deps.takeSlot(slots.key, slots.max, signal));
    try {
      return await withTimeout(signal, seconds, `${target.kind} "${target.name}"`, clock, (limited) =>
        target.run({
          session,
          id,
          input,
          attempt: 1,
          signal: limited,
          // Each load is a call of its own: a server that knows the key would give the old answer again.
          idempotencyKey: `${session}:${id}:${clock.now()}:${++calls}`,
          agent,
          progress: () => undefined,
          model,
          ...(charge === undefined ? {} : { charge: (...used) => charge(feed.id, ...used) }),
          ...(note === undefined ? {} : { note }),
        }),
      );
    } finally {
      free?.();
    }
  };
}

/**
 * Finds the target and says what it is to be called with. Throws where the agent has none. A feed that the model brought
 * in (`isModels`) may choose among the models of the agent alone: others cost what nobody agreed to.
 */
export function feedCall(
  source: TargetSource,
  params: JsonObject,
  { targets, agent }: SourceDeps,
  isModels: boolean,
): TargetSourceFeedCall {
  const { type, name, action } = source;
  const target = targets.find(type, name);
  if (target === undefined) throw unknownTarget(type, name, targets);
  const { input, model } = withoutModel(target, params);
  if (model === undefined) return { target, input: targetInput(target, action, input) };
  const isAuthors = !isModels && typeof model === 'string' && isModelRef(model);
  const asked = isAuthors ? model : requestedModel(model, agent, `prompt "${name}"`);
  if (asked instanceof RuntimeError) throw asked;
  return { target, input: targetInput(target, action, input), model: asked };
}

export function mustOnlyRead(what: string, target: Target, input: JsonObject): void {
  const { kind, name, idempotent } = target;
  if (target.idempotentFor?.(input) ?? idempotent) return;
  const operation = typeof input.operation === 'string' ? ` (${clip(input.operation)})` : '';
  throw mayChange(what, `${kind} "${name}"${operation}`);
}

export async function mustNotAsk(
  what: string,
  target: Target,
  input: JsonObject,
  { agentView: agent }: Pick<SourceDeps, 'agentView'>,
): Promise<void> {
  const need = await target.needs?.(input, { agent });
  if (need !== undefined) throw needsApproval(what, need.what, need.because);
}

/** Operations by which something is looked at that by default would be written to, in the order of preference. */
const LOOKING = ['tail', 'peek'];
/** Defaults that look and change nothing. */
const READING: ReadonlySet<string> = new Set(['get', 'query', 'read', 'list', 'now']);

/**
 * What a target is called with: the params, and `action` as the operation. `format` may name the operation, too
 * (`format: tree`), where the target has no such parameter; a relic whose default is to write is read.
 */
function targetInput(target: Target, action: string | undefined, params: JsonObject): JsonObject {
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
