import type { JsonObject } from '../lib/json.ts';
import { completesStep, idsOf, writtenId } from '../log/action.ts';
import type { SessionState } from '../log/state.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import {
  type CallNames,
  CONTEXT_FEED,
  createCallNames,
  type FeedOperation,
  feedOperationOf,
  STEP,
} from '../parser/calls/call-names.ts';
import type { CallStyle } from '../prompt/calls/answer-calls.ts';
import { callTools } from '../prompt/calls/call-tools.ts';
import { allTargets, type DescribedOperation, type DescribedTarget } from '../prompt/notation.ts';
import { type Opening, openingOf } from '../prompt/opening.ts';
import type { PartLimits } from '../prompt/part-limits.ts';
import { systemParts } from '../prompt/primer.ts';
import type { PromptTool } from '../prompt/prompt.ts';
import { isTaughtTarget } from '../prompt/taught.ts';
import type { AgentTargets } from '../tools/create-targets.ts';
import type { TargetKind } from '../tools/target.ts';
import type { InternalAction } from './internal/internal-actions.ts';

/** What a session's system prompt has of the session itself. */
type ModelInterfaceBeginning = Pick<SessionState, 'seal' | 'environment'>;

/** What a session shows its model: its tools, and what stands before all turns. */
export interface Face {
  readonly internal: readonly InternalAction[];
  /** Where the model calls tools natively: the dialects `tools` and `step`. */
  readonly calls: PreparedCalls | undefined;
  readonly opening: (session: ModelInterfaceBeginning) => Opening;
}

export function makeFace(
  manifest: AgentManifest,
  targets: AgentTargets['all'],
  internal: readonly InternalAction[],
  parts: PartLimits | undefined,
  led: boolean,
  contextWindow?: number,
): Face {
  // In `step` a field of the one tool completes a step.
  const callable =
    manifest.dialect === 'step'
      ? internal.filter((action) => !completesStep({ kind: 'internal', name: action.name }))
      : internal;
  const actions = callable.map((action) => ({
    ...action,
    parameters: action.shownParameters ?? action.parameters,
    isTaught: feedOperationOf(action.name) === undefined && action.isTaught(targets),
  }));
  const feedActions = callable.filter(({ name }) => feedOperationOf(name) !== undefined);
  const isTaughtFeeds = feedActions.some((action) => action.isTaught(targets));
  const offered = [
    ...actions,
    ...(feedActions.length === 0
      ? []
      : [{ ...contextFeedTarget(feedActions, manifest, targets), isTaught: isTaughtFeeds }]),
  ];
  const names = createCallNames([
    ...targets,
    ...offered.map(({ name }) => ({ kind: 'internal' as const, name })),
  ]);
  const nativeOf = (index: number) => (manifest.dialect === 'tags' ? undefined : names.natives[index]);
  const taught = targets
    .map((target, index) => ({ ...target, native: nativeOf(index) }))
    .filter((target) => isTaughtTarget(manifest, target));
  const taughtInternal = offered
    .map((action, index) => ({ ...action, native: nativeOf(targets.length + index) }))
    .filter(({ isTaught }) => isTaught);
  const calls = prepareCalls(manifest, allTargets(taught, taughtInternal), names, led);
  const make = ({ seal, environment }: ModelInterfaceBeginning) => {
    const told = systemParts(manifest, {
      targets: taught,
      internalActions: taughtInternal,
      sealKey: seal,
      environment,
      led,
    });
    return openingOf({
      system: told.map(({ text }) => text).join(''),
      systemParts: told,
      agent: manifest,
      seal,
      parts,
      contextWindow,
      calls: calls?.style,
      tools: calls?.request.tools,
      options: optionsOf(manifest, calls),
    });
  };
  // Sessions without a seal that begin on the same day share it.
  let shared: { readonly key: string; readonly opening: Opening } | undefined;
  const opening = (session: ModelInterfaceBeginning) => {
    if (session.seal !== undefined) return make(session);
    const key = JSON.stringify(session.environment ?? null);
    if (shared?.key !== key) shared = { key, opening: make(session) };
    return shared.opening;
  };
  return { internal, calls, opening };
}

/** What every request has beside messages and tools. */
function optionsOf({ model_options }: AgentManifest, calls: PreparedCalls | undefined): JsonObject {
  const toolChoice = calls?.request.toolChoice;
  return { ...(model_options as JsonObject), ...(toolChoice === undefined ? {} : { toolChoice }) };
}

interface ModelInterfaceCallable {
  readonly kind: TargetKind;
}

/** The actions on feeds that this agent has, as the one target that its model is offered. */
function contextFeedTarget(
  actions: readonly { readonly name: string }[],
  manifest: AgentManifest,
  targets: readonly ModelInterfaceCallable[],
): Omit<DescribedTarget, 'kind'> {
  const described = describedOperations(manifest, targets);
  const operations = Object.fromEntries(
    actions.flatMap(({ name }) => {
      const operation = feedOperationOf(name);
      return operation === undefined ? [] : [[operation, described[operation]] as const];
    }),
  );
  return {
    name: CONTEXT_FEED,
    description: 'Your feeds: values you see whenever they change.',
    parameters: nativeSchema(operations),
    operations,
  };
}

/** The fields that a model needs. The others can be given, too: what they are, the actions' own schemas say. */
function describedOperations(
  manifest: AgentManifest,
  targets: readonly ModelInterfaceCallable[],
): Readonly<Record<FeedOperation, DescribedOperation>> {
  const id: JsonObject = { type: 'string' };
  const definition: Readonly<Record<string, JsonObject>> = {
    source: { type: 'object', description: aboutSources(manifest, targets) },
    interval: { type: 'number', description: 'Seconds.' },
  };
  const refresh: JsonObject = { type: 'boolean' };
  return {
    add: { description: '', parameters: { id, ...definition }, required: ['id', 'source'] },
    update: { description: '', parameters: { id, ...definition }, required: ['id'] },
    remove: { description: '', parameters: { id }, required: ['id'] },
    list: { description: '', parameters: {} },
    read: { description: '', parameters: { id, refresh }, required: ['id'] },
  };
}

/** One flat schema: which operation takes what, the names of its parameters say well enough. */
function nativeSchema(operations: Readonly<Record<string, DescribedOperation>>): JsonObject {
  const properties = Object.values(operations).map(({ parameters }) => parameters);
  const names = Object.keys(operations);
  return {
    type: 'object',
    properties: {
      operation: {
        enum: names,
        ...(names.includes('add') ? { description: 'add needs id and source.' } : {}),
      },
      ...Object.assign({}, ...properties),
    },
    required: ['operation'],
  };
}

/** Only what this agent can use: a feed calls what the agent can call, and reads what it may read. */
function aboutSources({ permissions }: AgentManifest, targets: readonly ModelInterfaceCallable[]): string {
  const has = (kind: TargetKind) => targets.some((target) => target.kind === kind);
  const types = [
    ...(['tool', 'relic', 'agent'] as const).filter(has),
    ...(permissions.paths.allow.length > 0 ? ['file', 'repo'] : []),
    ...(permissions.network.allow.length > 0 ? ['http'] : []),
  ].map((type) => JSON.stringify(type));
  const named = types.length === 0 ? '' : `{"type": ${types.join(' | ')}, "name": "…", "params": {}} or `;
  return `${named}{"type": "internal", "action": "system_clock" | "history" | "metrics" | "session_stats"}`;
}

/** What an agent's model is given to call natively; the same in every turn of every session. */
export interface PreparedCalls {
  readonly style: CallStyle;
  /** The names of what the model is offered. */
  readonly offered: readonly string[];
  readonly request: { readonly tools: readonly PromptTool[]; readonly toolChoice?: string };
}

/**
 * `taught` is what the model is offered; `names` also has what it can call without being told. Undefined in the dialect
 * `tags`, in which nothing is called natively.
 */
function prepareCalls(
  manifest: AgentManifest,
  taught: readonly DescribedTarget[],
  names: CallNames,
  led: boolean,
): PreparedCalls | undefined {
  const { dialect, protocol } = manifest;
  if (dialect === 'tags') return undefined;
  const tools = callTools(manifest, taught, led);
  return {
    style: { dialect, names, maxBody: protocol.max_body.bytes, takenIds, led },
    offered: taught.flatMap(({ native }) => native ?? []),
    request: dialect === 'step' ? { tools, toolChoice: STEP } : { tools },
  };
}

/** Ids of actions, groups and loops of all turns before `beforeTurn`, as they were written. */
export function takenIds(state: SessionState, beforeTurn = Number.POSITIVE_INFINITY): Set<string> {
  const ids = new Set<string>();
  for (const { action, turn } of state.actions.values())
    if (turn < beforeTurn) for (const id of idsOf(action)) ids.add(writtenId(id));
  return ids;
}
