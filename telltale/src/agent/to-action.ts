import type { ActionKind } from '../lib/calls.ts';
import { err, ok, type Result, RuntimeError } from '../lib/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import { suggest } from '../lib/nearest.ts';
import { withLists } from '../lib/with-lists.ts';
import { type DeclaredAction, isForEach } from '../log/action.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import { showValue } from '../manifest/schema/show-value.ts';
import {
  type Ambiguous,
  type CallTarget,
  CONTEXT_FEED,
  type FeedOperation,
  feedActionOf,
  feedOperationOf,
  meantTarget,
} from '../parser/calls/call-names.ts';
import type { ActionIntent } from '../parser/intents.ts';
import { KIND_LABELS } from '../tools/target-deps.ts';

/**
 * What the model asked for, with the defaults of its template: ready for the log. `groups` are the `<parallel>`s that it
 * stands in, innermost last.
 */
export type ToAction = (intent: ActionIntent, groups: readonly string[]) => Result<DeclaredAction>;

/** What an agent can call, as far as an action has to know it. */
export interface CallableTarget {
  readonly kind: ActionKind;
  readonly name: string;
  readonly parameters: JsonObject;
}

type ToActionMeaning = Pick<DeclaredAction, 'kind' | 'name' | 'parameters'>;
type ToActionTemplate = AgentManifest['action_templates'][string];
type ToActionDefaults = Partial<Omit<DeclaredAction, 'id' | 'parameters'>> & {
  readonly parameters?: JsonObject;
};

export function createToAction(
  templates: AgentManifest['action_templates'],
  targets: readonly CallableTarget[] = [],
): ToAction {
  const known = new Map(targets.map((target) => [keyOf(target.kind, target.name), target]));
  const feedOperations = targets.flatMap(({ kind, name }) =>
    kind === 'internal' ? (feedOperationOf(name) ?? []) : [],
  );
  const has = (kind: ActionKind, name: string) =>
    known.has(keyOf(kind, name)) ||
    (kind === 'internal' && name === CONTEXT_FEED && feedOperations.length > 0);
  /** What a call means: a target, what that is called with, and lists where it wants them. */
  const meaningOf = (id: string, asked: CallTarget, given: JsonObject): Result<ToActionMeaning> => {
    const target = meantTarget(asked, has);
    if ('kinds' in target) return err(ambiguous(id, target));
    const { kind, name } = target;
    const isFeedCall = kind === 'internal' && name === CONTEXT_FEED;
    const call = isFeedCall ? feedActionOf(given) : { name, parameters: given };
    if (call === undefined) return err(feedOperationUnknown(id, given.operation, feedOperations));
    const schema = known.get(keyOf(kind, call.name))?.parameters;
    const parameters = schema === undefined ? call.parameters : withLists(schema, call.parameters);
    return ok({ kind, name: call.name, parameters });
  };
  /** The action with what it means. */
  const settled = (action: DeclaredAction): Result<DeclaredAction> => {
    if (isForEach(action) || undoesByLoop(action)) return err(loopByHand(action.id));
    const meant = meaningOf(action.id, action, action.parameters);
    if (!meant.ok) return meant;
    const undo = action.compensate === undefined ? undefined : settledUndo(action.id, action.compensate);
    if (undo?.ok === false) return undo;
    const { kind, name, parameters } = meant.value;
    const isSame = kind === action.kind && name === action.name && parameters === action.parameters;
    if (isSame && undo?.value === action.compensate) return ok(action);
    return ok({
      ...action,
      kind,
      name,
      parameters,
      ...(undo === undefined ? {} : { compensate: undo.value }),
    });
  };
  const settledUndo = (id: string, undo: JsonObject): Result<JsonObject> => {
    const { name, type, parameters, compensate } = undo;
    if (typeof name !== 'string') return ok(undo);
    const asked = type === 'context_feed' ? 'internal' : ((type ?? 'tool') as ActionKind);
    const meant = meaningOf(id, { kind: asked, name }, isJsonObject(parameters) ? parameters : {});
    if (!meant.ok) return meant;
    const inner = isJsonObject(compensate) ? settledUndo(id, compensate) : undefined;
    if (inner?.ok === false) return inner;
    const { kind, ...target } = meant.value;
    const given = isJsonObject(parameters) ? target.parameters : parameters;
    if (kind === asked && target.name === name && given === parameters && inner?.value === compensate)
      return ok(undo);
    return ok({
      ...undo,
      name: target.name,
      ...(kind === asked ? {} : { type: kind }),
      ...(given === undefined ? {} : { parameters: given }),
      ...(inner === undefined ? {} : { compensate: inner.value }),
    });
  };
  const defaults = new Map<string, ToActionDefaults>();
  const names = Object.keys(templates);
  for (const name of names) defaults.set(name, templateDefaults(templates, name));
  /** What undoes the action, with the defaults of the template that it names in turn. */
  const undoOf = (
    intent: ActionIntent,
    byDefault: JsonObject | undefined,
  ): Result<JsonObject> | undefined => {
    const undo = intent.compensate ?? byDefault;
    const template = undo?.template;
    if (undo === undefined || typeof template !== 'string') return undo && ok(undo);
    const base = defaults.get(template);
    if (base === undefined) return err(templateUnknown(intent.id, template, names));
    const full = undoBy(base, undo);
    return full.name === undefined ? err(nameMissing(intent.id, template)) : ok(full);
  };

  return (intent, groups) => {
    const { template } = intent;
    if (template === undefined && groups.length === 0 && intent.compensate === undefined)
      return intent.name === undefined
        ? err(nameMissing(intent.id, ''))
        : settled(plainAction(intent, intent.name));
    const group = groups.at(-1);
    const base = template === undefined ? undefined : defaults.get(template);
    if (template !== undefined && base === undefined) return err(templateUnknown(intent.id, template, names));
    const name = intent.name ?? base?.name;
    if (name === undefined) return err(nameMissing(intent.id, template ?? ''));
    const { type: _, repaired: _repaired, ...given } = intent;
    const mode = intent.mode ?? base?.mode ?? 'async';
    const compensate = undoOf(intent, base?.compensate);
    if (compensate?.ok === false) return compensate;
    const action: DeclaredAction = {
      ...base,
      ...given,
      ...(compensate === undefined ? {} : { compensate: compensate.value }),
      kind: intent.kind ?? base?.kind ?? 'tool',
      // In <parallel> every action is async, whatever its template says: its close waits for all of them.
      mode: group === undefined ? mode : 'async',
      name,
      parameters:
        base?.parameters === undefined ? intent.parameters : { ...base.parameters, ...intent.parameters },
      ...(group === undefined ? {} : { group }),
      ...(groups.length > 1 ? { within: groups.slice(0, -1) } : {}),
    };
    return settled(action);
  };
}

const keyOf = (kind: ActionKind, name: string): string => `${kind} ${name}`;

/** What the general way would make of one that names no template and stands in no group: field by field, in a quarter of the time of a spread. */
function plainAction(intent: ActionIntent, name: string): DeclaredAction {
  const { id, kind = 'tool', mode = 'async', parameters } = intent;
  const { literal, output_key, depends_on, timeout, retry, on_error, if: test, in: place } = intent;
  const action: { -readonly [Field in keyof DeclaredAction]: DeclaredAction[Field] } = {
    id,
    kind,
    mode,
    name,
    parameters,
  };
  if (literal !== undefined) action.literal = literal;
  if (output_key !== undefined) action.output_key = output_key;
  if (depends_on !== undefined) action.depends_on = depends_on;
  if (timeout !== undefined) action.timeout = timeout;
  if (retry !== undefined) action.retry = retry;
  if (on_error !== undefined) action.on_error = on_error;
  if (test !== undefined) action.if = test;
  if (place !== undefined) action.in = place;
  return action;
}

/** On the log a `<foreach>` is an action of its own; one that a model writes as such was never checked. */
const undoesByLoop = ({ compensate }: DeclaredAction): boolean =>
  compensate !== undefined &&
  compensate.name === 'foreach' &&
  (compensate.type === 'internal' || compensate.type === 'context_feed');

/** A template's own fields over those of the template it names; validation has refused cycles. */
export function templateDefaults(
  templates: AgentManifest['action_templates'],
  name: string,
): ToActionDefaults {
  const chain: ToActionTemplate[] = [];
  for (
    let at: string | undefined = name;
    at !== undefined && chain.length <= Object.keys(templates).length;
  ) {
    const template: ToActionTemplate | undefined = Object.hasOwn(templates, at) ? templates[at] : undefined;
    if (template === undefined) break;
    chain.unshift(template);
    at = template.template;
  }
  let fields: ToActionDefaults = {};
  for (const template of chain) fields = { ...fields, ...fieldsOf(template, fields) };
  return fields;
}

function fieldsOf(template: ToActionTemplate, below: ToActionDefaults): ToActionDefaults {
  const { type, timeout, parameters, template: _, compensate, ...rest } = template;
  return {
    ...present(rest),
    ...(type === undefined ? {} : { kind: type === 'context_feed' ? 'internal' : type }),
    ...(timeout === undefined ? {} : { timeout: timeout.ms / 1000 }),
    ...(parameters === undefined ? {} : { parameters: { ...below.parameters, ...parameters } }),
    ...(compensate === undefined ? {} : { compensate: envelopeOf(compensate) }),
  };
}

/** As a model writes it. */
function envelopeOf({ timeout, ...rest }: NonNullable<ToActionTemplate['compensate']>): JsonObject {
  return { ...present(rest), ...(timeout === undefined ? {} : { timeout: timeout.ms / 1000 }) } as JsonObject;
}

function undoBy(base: ToActionDefaults, undo: JsonObject): JsonObject {
  const { kind, parameters, mode: _mode, compensate: _compensate, ...fields } = base;
  const { template: _, ...given } = present(undo);
  const own = isJsonObject(given.parameters) ? given.parameters : {};
  return {
    ...(fields as JsonObject),
    ...(kind === undefined ? {} : { type: kind }),
    ...given,
    parameters: { ...parameters, ...own },
  };
}

/** `null` is absent. */
const present = (fields: object) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));

const templateUnknown = (id: string, asked: string, known: readonly string[]) =>
  new RuntimeError('bad_action', `The action "${id}" names the template "${asked}", which does not exist.`, {
    hint: suggest(asked, known, 'Templates'),
  });

const loopByHand = (id: string) =>
  new RuntimeError('bad_action', `The action "${id}" calls "foreach", which is no action.`, {
    hint: 'Write <foreach in="$list" as="item">…</foreach> around actions.',
  });

const ambiguous = (id: string, { name, kinds }: Ambiguous) =>
  new RuntimeError(
    'bad_action',
    `The action "${id}" did not run: no tool is called "${name}", and it may be ${kinds.map((kind) => `the ${KIND_LABELS[kind]}`).join(' or ')} of that name.`,
    { hint: `Write ${kinds.map((kind) => `type="${kind}"`).join(' or ')}.` },
  );

const feedOperationUnknown = (id: string, operation: Json | undefined, known: readonly FeedOperation[]) =>
  new RuntimeError(
    'bad_action',
    operation === undefined || operation === null
      ? `The action "${id}" did not run: "${CONTEXT_FEED}" needs an "operation".`
      : `The action "${id}" did not run: "${CONTEXT_FEED}" has no operation ${showValue(operation)}.`,
    { hint: suggest(typeof operation === 'string' ? operation : '', known, 'Operations') },
  );

const nameMissing = (id: string, template: string) =>
  new RuntimeError(
    'bad_action',
    `The action "${id}" has no "name", and its template "${template}" has none.`,
    {
      hint: 'Write "name" into the body: what the action calls.',
    },
  );
