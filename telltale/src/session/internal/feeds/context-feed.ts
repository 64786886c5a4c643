import type { JsonObject } from '../../../kernel/json.ts';
import type { AgentManifest } from '../../../manifest/schema/kinds.ts';
import type { DescribedOperation, DescribedTarget } from '../../../prompt/described-target.ts';
import { CONTEXT_FEED, type FeedOperation, feedOperationOf } from '../../../protocol/calls/feed-calls.ts';
import type { TargetKind } from '../../../targets/target.ts';

interface Callable {
  readonly kind: TargetKind;
}

/** The actions on feeds that this agent has, as the one target that its model is offered. */
export function contextFeedTarget(
  actions: readonly { readonly name: string }[],
  manifest: AgentManifest,
  targets: readonly Callable[],
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
  targets: readonly Callable[],
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
function aboutSources({ permissions }: AgentManifest, targets: readonly Callable[]): string {
  const has = (kind: TargetKind) => targets.some((target) => target.kind === kind);
  const types = [
    ...(['tool', 'relic', 'agent'] as const).filter(has),
    ...(permissions.paths.allow.length > 0 ? ['file', 'repo'] : []),
    ...(permissions.network.allow.length > 0 ? ['http'] : []),
  ].map((type) => JSON.stringify(type));
  const named = types.length === 0 ? '' : `{"type": ${types.join(' | ')}, "name": "…", "params": {}} or `;
  return `${named}{"type": "internal", "action": "system_clock" | "history" | "metrics" | "session_stats"}`;
}
