import type { Clock } from '../../lib/clock.ts';
import type { Json } from '../../lib/json.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { unwrapAnswer } from './artifact-module.ts';
import type { ArtifactAnswer, Artifacts, DecisionContext } from './artifacts.ts';
import { GENESIS } from './artifacts.ts';
import { createCallArtifact } from './call-artifact.ts';

export interface ArtifactTest {
  readonly source: string;
  readonly method: string;
  /** The methods that may be called. By default, whatever the source defines. */
  readonly methods?: readonly string[];
  readonly args?: readonly Json[];
  /** Overrides parts of the default context. */
  readonly context?: Partial<DecisionContext>;
  /** The name by which other artifacts call it. */
  readonly name?: string;
  /** The same seed gives the same answer. */
  readonly seed?: string;
  /** Other artifacts it may call, besides the genesis artifacts. */
  readonly others?: Pick<Artifacts, 'read'>;
  readonly signal?: AbortSignal;
}

export interface ArtifactTested {
  readonly answer: ArtifactAnswer;
  /** The unwrapped answer (`{decision: false}` is false). Absent if it is a failure. */
  readonly meant?: Json;
  readonly context: DecisionContext;
}

/** The default context of a test, with every key that a run's context has. */
export const TEST_CONTEXT: DecisionContext = {
  agent_id: 'test',
  current_state: null,
  step_name: null,
  balance: null,
  success_rate: 1,
  recent_actions: [],
  last_result: null,
  metadata: {},
  variables: {},
};

/** Calls a source that is in no store, as a run would. */
export async function testArtifact(
  test: ArtifactTest,
  deps: { readonly sandbox: Sandbox; readonly clock: Clock },
): Promise<ArtifactTested> {
  const { source, method, methods = [method], args = [], name = 'artifact', seed = 'test', others } = test;
  const own = { name, version: 1, language: 'js', source, methods, author: 'user', at: 0 } as const;
  const call = createCallArtifact({
    ...deps,
    artifacts: {
      read: async (asked) => (asked === name ? own : (GENESIS.get(asked) ?? others?.read(asked))),
    },
  });
  const context = { ...TEST_CONTEXT, ...test.context } as DecisionContext;
  const signal = test.signal ?? new AbortController().signal;
  const answer = await call({ artifact: name, method, args, context, seed, signal });
  const meant = answer.ok ? unwrapAnswer(answer.value) : undefined;
  return { answer, context, ...(meant?.ok === true ? { meant: meant.value } : {}) };
}
