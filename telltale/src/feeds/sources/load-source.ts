import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { orStopped } from '../../targets/access/stopped.ts';
import type { LoadSource, SourceCall } from '../feed.ts';
import { boundValue } from './bound-value.ts';
import { mayChange } from './feed-errors.ts';
import { createFileSource } from './file-source.ts';
import { createHttpSource } from './http-source.ts';
import { createInternalSource } from './internal/internal-source.ts';
import { createMcpSource } from './mcp-source.ts';
import { noParams } from './no-params.ts';
import { createRepoSource } from './repo/repo-source.ts';
import type { SourceDeps } from './source-edges.ts';
import { createTargetSource } from './target-source.ts';

/** Asks sources of every type. What they give is bounded here, and a source that hangs is left when the signal says so. */
export function createLoadSource(deps: SourceDeps): LoadSource {
  const internal = createInternalSource(deps);
  const target = createTargetSource(deps);
  const file = createFileSource(deps);
  const repo = createRepoSource(deps);
  const http = createHttpSource(deps);
  const mcp = createMcpSource(deps);

  const load = async (call: SourceCall): Promise<Json> => {
    const { feed, params, signal } = call;
    const { source } = feed;
    const what = `feed "${feed.id}"`;
    switch (source.type) {
      case 'internal':
        return internal(source, params);
      case 'tool':
      case 'relic':
      case 'llm':
        return target(source, call);
      case 'workflow':
        if (deps.isModels?.(feed.id) === true) throw mayChange(what, `workflow "${clip(source.name)}"`);
        return deps.runWorkflow(source.name, params, signal, feed.id);
      case 'agent': {
        noParams(`the ${what}`, params, source.action);
        // What others had it do is not the model's to see.
        const onlyCalled = deps.isModels?.(feed.id) === true;
        const metadata = await deps.agentMetadata(source.name, onlyCalled);
        if (metadata === undefined) throw neverRan(source.name, onlyCalled);
        return metadata;
      }
      case 'metadata':
        noParams(`the ${what}`, params);
        return source.name === undefined
          ? deps.state.metadata
          : (own(deps.state.metadata, source.name) ?? null);
      case 'file':
        return file(source, call);
      case 'repo':
        return repo(source, call);
      case 'http':
        return http(source, call);
      case 'mcp':
        return mcp(source, call);
    }
  };

  return async (call) => {
    const what = `feed "${call.feed.id}"`;
    return boundValue(await orStopped(load(call), what, call.signal), what);
  };
}

const own = (values: Readonly<Record<string, Json>>, name: string): Json | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined;

const neverRan = (name: string, here: boolean) =>
  new RuntimeError(
    'agent_unknown',
    `The agent "${clip(name)}" has no metadata: it has not run yet${here ? ' in this session' : ''}.`,
    {
      hint: 'The value comes once it has.',
      retryable: true,
    },
  );
