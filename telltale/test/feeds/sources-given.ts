import { createTokenizer } from '../../src/agent/tokenizer.ts';
import type { Feed } from '../../src/feeds/feed.ts';
import { createLoadSource } from '../../src/feeds/sources/load-source.ts';
import { mayAdd } from '../../src/feeds/sources/may-add.ts';
import type { SourceDeps } from '../../src/feeds/sources/source.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { emptyState } from '../../src/log/state.ts';
import { feed as feedSchema } from '../../src/manifest/schema/feed.ts';
import { type AgentTargets, agentTargets, type Given } from '../tools/agent-targets.ts';

const tokenizer = createTokenizer();

interface Sources extends Omit<AgentTargets, 'failure'> {
  readonly deps: SourceDeps;
  load(source: JsonObject, more?: JsonObject, signal?: AbortSignal): Promise<Json>;
  failure(source: JsonObject, more?: JsonObject, signal?: AbortSignal): Promise<RuntimeError>;
  mayAdd(written: JsonObject): Promise<RuntimeError | undefined>;
}

/** A feed as a manifest writes it, read. */
const readFeed = (written: JsonObject): Feed => feedSchema.parse({ id: 'f', ...written }) as unknown as Feed;

/** The sources of an agent in a temporary folder, all of them real. */
export async function sources(given: Given, more: Partial<SourceDeps> = {}): Promise<Sources> {
  const agent = await agentTargets(given);
  const deps: SourceDeps = {
    agent: { models: { fast: 'scripted:./fast.yml' } },
    state: { ...emptyState(), id: 's1', agent: 'tester' },
    targets: agent.table,
    agentView: () => ({ session_id: 's1' }),
    tokenizer,
    runWorkflow: async (name, params) => ({ ran: name, params }),
    takeSlot: () => () => undefined,
    agentMetadata: async (name) => (name === 'other' ? { phase: 'done' } : undefined),
    ...more,
  };
  const loadSource = createLoadSource(deps);
  const load = (
    source: JsonObject,
    more: JsonObject = {},
    signal = new AbortController().signal,
  ): Promise<Json> => {
    const feed = readFeed({ source, ...more });
    return loadSource({ feed, params: feed.source.params as JsonObject, signal });
  };
  return {
    ...agent,
    deps,
    load,
    failure: (source: JsonObject, more?: JsonObject, signal?: AbortSignal) =>
      failed(load(source, more, signal)),
    mayAdd: (written: JsonObject) => mayAdd(readFeed(written), deps),
  };
}

export const failed = (work: Promise<unknown>): Promise<RuntimeError> =>
  work.then(
    (value) => {
      throw new Error(`should have failed, but gave ${JSON.stringify(value)?.slice(0, 300)}`);
    },
    (thrown: unknown) => {
      if (thrown instanceof RuntimeError) return thrown;
      throw thrown;
    },
  );
